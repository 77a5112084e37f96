/** The introduction of the OpenAPI document, in Markdown. */
import { type ErrorCode, errorCodes, statusOf } from '../../../ground/core/errors.js'
import {
  answerAgeMaxMs,
  idempotencyKeyCharsMax,
  ipPoliciesPerModuleMax,
  pageEntriesMax,
  requestBodyBytesMax,
  resourceBytesMax,
  rulesBodyBytesMax,
  rulesPerIpPolicyMax,
} from '../../../ground/core/limits.js'
import { fieldReference } from '../../../words/event/field-reference.js'
import { functionTable, nameTable } from '../../../words/event/field-tables.js'

const reference = fieldReference()

const meanings: Record<ErrorCode, string> = {
  ERR_INVALID_REQUEST: 'A field, parameter or header is wrong or missing.',
  ERR_INVALID_JSON: 'The body is not valid JSON, or parsing it would lose something.',
  ERR_VERSION: 'The version header is missing or names another version.',
  ERR_INVALID_EXPRESSION: 'An expression or filter is wrong.',
  ERR_CONFLICT: 'The change would contradict another resource.',
  ERR_LOCKOUT: "The change would lock the caller's own address out of the API.",
  ERR_POLICY_TEST: 'A policy test would fail after the change; `details` say which and why.',
  ERR_DESTINATION_REFUSED: 'An event destination did not accept a test event.',
  ERR_LOG_OFF: 'This deployment keeps no decision log.',
  ERR_UNAUTHENTICATED: 'The token is missing or unknown, or its key has expired.',
  ERR_FORBIDDEN: "A restriction refuses the caller's address, or the key or the account lacks the right.",
  ERR_NOT_FOUND: 'There is no such resource, path or method.',
  ERR_METHOD: 'This page only supports GET and HEAD.',
  ERR_REQUEST_TIMEOUT: 'The request took too long to arrive.',
  ERR_DRAFT_OUTDATED: 'What a challenger was drafted from has changed since; the message names it.',
  ERR_NAME_RESERVED: 'A name overlaps with the wildcards, domains or names of another account.',
  ERR_BODY_TOO_LARGE: 'The body is too large.',
  ERR_CONTENT_TYPE: 'The content type or encoding of the body is not supported.',
  ERR_RATE_LIMIT: 'Too many requests; `Retry-After` says when to retry.',
  ERR_HEADERS_TOO_LARGE: 'The headers are too large.',
  ERR_INTERNAL: 'Internal error; search the log for the operation id.',
  ERR_UNAVAILABLE: 'The store or NATS is unavailable or busy; `Retry-After` says when to retry.',
  ERR_TIME_LIMIT:
    'Reading the logs took longer than one request may: ask for a shorter time with `since` and `until`, or again later.',
}

const errorTable = [
  '| `error_code` | Status | Meaning |',
  '|---|---|---|',
  ...errorCodes.map((code) => `| \`${code}\` | ${statusOf(code)} | ${meanings[code]} |`),
].join('\n')

const mebibytes = (bytes: number): string => `${bytes / 1024 ** 2} MiB`

const hours = answerAgeMaxMs / 3_600_000

export const introduction = `Edges, IP policies, restrictions, event subscriptions and destinations.

Every request carries \`Authorization: Bearer <token of an API key>\` and the version header. Bodies are JSON in UTF-8,
unless the operation says otherwise.

## Keys
A key has rights: \`read\`, \`write\` (which includes \`read\`), \`decide\`, \`publish\`, or \`all\`. Each operation names the one that it
needs. Creating, changing and deleting keys needs \`all\`. A key may expire; then it is refused like an unknown one.

## Paging
Lists are sorted by id, newest first. \`limit\` (1 to ${pageEntriesMax}) is the size of a page; \`before_id\` starts after
that entry. Follow \`next_page_uri\`, which keeps all parameters, until it is null. No entry is repeated or
skipped while others write.

## Filters
\`filter\` on a list takes an expression over the fields of an entry, in the same language as traffic policies:
\`GET /ip_policies?filter=description.startsWith('office')\`. \`description\` finds entries with exactly this description.
\`limit\` counts matching entries.

## Fields
\`GET /fields\` lists the fields of records and events, and the names and functions of expressions; \`GET /schemas/<name>.json\`
is the JSON Schema of a record type or event kind, such as \`tcp_connection\` or \`log.v0\`. Neither needs a key.

Expressions of traffic policies may use these names:

${nameTable(reference)}

Functions can be written as \`lower(x)\`, \`x|lower\` or \`x.lower()\`:

${functionTable(reference)}

## Errors
An error is a \`Problem\`: \`msg\` is a sentence that names the field, the value and what is allowed.
\`details.operation_id\` is also in the header \`Operation-Id\` and in the log.

${errorTable}

## Limits
A body has at most ${mebibytes(requestBodyBytesMax)} (all rules of an IP policy at once: ${mebibytes(rulesBodyBytesMax)}), a stored resource ${resourceBytesMax / 1024} KiB, an IP policy
${rulesPerIpPolicyMax} rules, a module or restriction ${ipPoliciesPerModuleMax} IP policies. Bounds in bytes count UTF-8; schemas
show them as \`x-max-bytes\`. The deployment's settings limit requests per account and minute.

## Repeating a request
A POST with an \`Idempotency-Key\` (1 to ${idempotencyKeyCharsMax} printable ASCII characters) is done once: for ${hours} hours, the same request
with the same key gets the first answer again, with one-time tokens null. Another request with that key is refused.

## Trying a change
A write with \`validate_only=true\` is checked and answered as if it were done, and changes nothing. Generated ids,
addresses and keys will differ in the real write; tokens are null.

## Values
Ids have a prefix that says their kind; treat the rest as opaque. A PATCH changes the fields that it names; \`null\` or
\`""\` clears an optional field. Modules of edges are replaced as a whole and removed by their own DELETE.

Geography: [IP Geolocation by DB-IP](https://db-ip.com), CC BY 4.0. Autonomous systems:
[RouteViews](https://www.routeviews.org), [NRO](https://www.nro.net) and [DB-IP](https://db-ip.com), CC BY 4.0.
`
