/** The table of bounds in `docs/scale.md`, of the values in `core/limits.ts`. */

import * as otlp from '../../src/delivery/ingest/otlp/otlp-bounds.js'
import * as limits from '../../src/ground/core/limits.js'
import { table } from '../../src/words/event/markdown.js'

const bounds = { ...limits, ...otlp }

export type Bound = keyof typeof bounds

interface Row {
  readonly what: string
  readonly bytes: readonly Bound[]
  /** How many of what: a bound on bytes has one on items beside it. */
  readonly items: readonly (readonly [Bound, string])[]
}

export const boundRows: readonly Row[] = [
  {
    what: 'a message of records, inflated',
    bytes: ['inflatedBytesMax'],
    items: [['recordLinesMax', 'lines']],
  },
  { what: 'a record', bytes: ['recordBytesMax'], items: [['recordIdCharsMax', 'characters of its id']] },
  {
    what: '`POST /records`, as sent and inflated',
    bytes: ['publishedBodyBytesMax', 'inflatedBytesMax'],
    items: [['recordLinesMax', 'lines']],
  },
  {
    what: '`POST /v1/logs`, as sent, inflated protobuf, inflated JSON',
    bytes: ['publishedBodyBytesMax', 'otlpProtobufBytesMax', 'otlpJsonBytesMax'],
    items: [
      ['recordLinesMax', 'log records'],
      ['otlpJsonValuesMax', 'objects and lists in JSON'],
    ],
  },
  {
    what: 'resources and scopes of `POST /v1/logs`',
    bytes: ['otlpOuterBytesMax'],
    items: [['recordLinesMax', 'resources, and scopes of each']],
  },
  {
    what: 'a log record of `POST /v1/logs`',
    bytes: ['otlpLogBytesMax'],
    items: [['otlpValuesMax', 'attributes and values']],
  },
  {
    what: 'any other request',
    bytes: ['requestBodyBytesMax'],
    items: [
      ['requestValuesMax', 'members and elements'],
      ['jsonNestingMax', 'levels of nesting'],
    ],
  },
  {
    what: 'rules of an IP policy in one request',
    bytes: ['rulesBodyBytesMax'],
    items: [['rulesPerIpPolicyMax', 'rules']],
  },
  {
    what: 'entries of an IP list in one request, inflated',
    bytes: ['ipListBodyBytesMax'],
    items: [
      ['ipListEntriesMax', 'entries'],
      ['ipListLinesMax', 'lines'],
    ],
  },
  {
    what: 'IP lists of an account, stored',
    bytes: ['ipListBytesPerAccountMax'],
    items: [
      ['ipListsPerAccountMax', 'lists'],
      ['ipListEntriesPerAccountMax', 'entries'],
    ],
  },
  {
    what: 'bouncers of an account',
    bytes: [],
    items: [
      ['bouncersPerAccountMax', 'bouncers'],
      ['bansPerBouncerMax', 'bans each'],
      ['ipListsPerBouncerMax', 'lists each'],
    ],
  },
  {
    what: 'an expression, and traffic policies of an edge',
    bytes: ['exprBytesMax'],
    items: [
      ['policiesPerDirectionMax', 'policies per direction'],
      ['expressionsPerPolicyMax', 'expressions each'],
      ['actionsPerPolicyMax', 'actions each'],
    ],
  },
  {
    what: 'metadata of an action of the type `log`',
    bytes: ['logMetadataBytesMax'],
    items: [['actionsPerPolicyMax', 'actions per policy']],
  },
  {
    what: 'metadata of a resource, and its labels',
    bytes: ['metadataBytesMax'],
    items: [['labelsMax', 'labels']],
  },
  {
    what: 'policy tests, challengers',
    bytes: ['resourceBytesMax'],
    items: [
      ['policyTestsPerAccountMax', 'tests of an account'],
      ['challengersPerAccountMax', 'challengers of an account'],
      ['challengersEvaluatedPerAccountMax', 'of an account evaluated at a time'],
      ['challengersEvaluatedMax', 'of all accounts'],
    ],
  },
  {
    what: 'a stored resource, and its lists',
    bytes: ['resourceBytesMax'],
    items: [
      ['ipPoliciesPerModuleMax', 'IP policies of a module'],
      ['hostportsPerEdgeMax', 'hostports of an edge'],
      ['sourcesPerSubscriptionMax', 'sources of a subscription'],
      ['destinationsPerSubscriptionMax', 'destinations of one'],
      ['aclRulesMax', 'rules of an acl'],
      ['principalsPerCertificateMax', 'principals of an SSH certificate'],
      ['sshOptionsMax', 'options of one'],
      ['urlsPerReportMax', 'URLs of an abuse report'],
    ],
  },
  {
    what: 'the name of an account; other names',
    bytes: ['accountNameBytesMax'],
    items: [
      ['hostportCharsMax', 'characters of a hostport'],
      ['idempotencyKeyCharsMax', 'characters of an idempotency key'],
    ],
  },
  {
    what: 'a page of a list',
    bytes: [],
    items: [
      ['pageEntriesMax', 'entries'],
      ['changesSearchedMax', 'changes searched for a page of the history'],
    ],
  },
]

const kibibyte = 1024
const grouped = (count: number): string => count.toLocaleString('en-US')

function sizeOf(bytes: number): string {
  if (bytes % kibibyte ** 2 === 0) return `${grouped(bytes / kibibyte ** 2)} MiB`
  return bytes % kibibyte === 0 ? `${grouped(bytes / kibibyte)} KiB` : `${grouped(bytes)} bytes`
}

export const boundsTables = {
  bounds: () =>
    table(
      ['Of', 'Bytes', 'Items'],
      boundRows.map(({ what, bytes, items }) => [
        what,
        bytes.map((name) => sizeOf(bounds[name])).join(', '),
        items.map(([name, of]) => `${grouped(bounds[name])} ${of}`).join('; '),
      ]),
    ),
}
