/** Sources of IP lists: where entries come from, how often, and how the last fetches went. */

import {
  brokenHeaders,
  headersMax,
  headerText,
  headerTextRule,
} from '../../../delivery/deliver/http/request-headers.js'
import {
  optional,
  secretsIn,
  secretText,
  targetOptions,
  withoutSecrets,
  withSecrets,
} from '../../../delivery/deliver/kind/target-options.js'
import { listFormats } from '../../../ground/core/address/list-formats.js'
import { badRequest } from '../../../ground/core/errors.js'
import { hash128 } from '../../../ground/core/ids.js'
import {
  documented,
  mapOf,
  objectOf,
  oneOf,
  orNull,
  ruled,
  type Static,
  Type,
} from '../../../ground/core/schema.js'
import type { DeriveTools } from '../kind/define.js'
import { givenSecrets, type SealedSecret, sealedOf } from './kept-secrets.js'

const minuteSeconds = 60
const daySeconds = 24 * 60 * minuteSeconds
const refreshSecondsDefault = 60 * minuteSeconds
const shrinkGuardDefault = 0.5
/** Also of lists that were saved before there was one. */
export const growGuardDefault = 10
const growGuardMax = 1_000_000_000
/** A list that could not be fetched for so many of its periods is stale. */
const staleAfterPeriods = 3

const segment = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}'
const fileForm = new RegExp(`^${segment}(/${segment}){0,3}$`)

const url = ruled(
  Type.String({
    maxLength: 2_048,
    description:
      'Fetched with GET; redirections are followed. Only `http` and `https`, without user and password.',
    ...documented({ pattern: '^https?://[!-~]+$' }),
  }),
  brokenUrl,
)

function brokenUrl(text: string): string | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || !URL.canParse(text))
    return 'the URL of a list is allowed, such as "https://lists.example.com/drop.txt"'
  const { username, password, hash } = new URL(text)
  if (username + password !== '') return 'no user and no password are allowed in it'
  return hash === '' ? undefined : 'no server is sent what follows "#"'
}

const file = ruled(
  Type.String({
    maxLength: 404,
    description:
      "A file in the account's directory below `WEIR_LIST_DIRECTORY`, if the operator has set that; up to three directories may precede its name.",
    ...documented({ pattern: fileForm.source }),
  }),
  (text) =>
    fileForm.test(text)
      ? undefined
      : 'the name of a file is allowed, such as "office.txt" or "feeds/office.txt": letters, digits, "_", "-" and ".", none beginning with "-" or "."',
)

/** Headers of requests for `url`. The server that it names gets them, and no other one that it redirects to. */
const headers = targetOptions({
  headers: optional(
    mapOf(headerText(1_024), {
      maxProperties: headersMax,
      description:
        'Headers of each request, by their names. They are shown: put secrets into secret_headers.',
    }),
  ),
  secret_headers: optional(
    mapOf(secretText({ charsMax: 1_024, broken: headerTextRule }), {
      maxProperties: headersMax,
      description: 'Headers whose values are secrets, such as the key for a list that is not public.',
    }),
  ),
})

const sourceMembers = {
  url: optional(url),
  file: optional(file),
  ...headers.schema.properties,
  format: oneOf(listFormats, 'How it is written, as in the table of formats of `PUT …/entries`.'),
  refresh_seconds: optional(
    Type.Integer({
      minimum: minuteSeconds,
      maximum: 30 * daySeconds,
      description: `How often it is fetched. Default: ${refreshSecondsDefault}.`,
    }),
  ),
  shrink_guard: optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: `A fetch that would leave less than this share of the present entries is not taken; neither is one without entries, unless it is 0. Default: ${shrinkGuardDefault}.`,
    }),
  ),
  grow_guard: optional(
    ruled(
      Type.Number({
        minimum: 0,
        maximum: growGuardMax,
        description: `A fetch that would cover more than so many times as many addresses as the present entries, of IPv4 or of IPv6, is not taken; neither is one that covers all of them. At least 1, or 0 to take any. Default: ${growGuardDefault}.`,
      }),
      (times) => (times === 0 || times >= 1 ? undefined : '0 or at least 1 is allowed'),
    ),
  ),
}

type GivenSource = Static<ReturnType<typeof sourceOf>>

const sourceOf = () => objectOf(sourceMembers, { title: 'IpListSource' })

const onePlace = ({ url, file }: { readonly url?: unknown; readonly file?: unknown }): string | undefined =>
  Number(typeof url === 'string') + Number(typeof file === 'string') === 1
    ? undefined
    : 'exactly one of "url" and "file" is needed'

export const sourceSchema = ruled(sourceOf(), onePlace)

/** A source that is looked at before it is stored. */
export const previewedSourceSchema = ruled(
  objectOf(
    {
      url: sourceMembers.url,
      file: sourceMembers.file,
      ...headers.schema.properties,
      format: optional(oneOf(listFormats, 'How it is written. Default: as the text looks.')),
    },
    { title: 'PreviewedIpListSource' },
  ),
  onePlace,
)

export type PreviewedSource = Static<typeof previewedSourceSchema>

/** As it is stored and shown. */
export interface IpListSource {
  readonly url: string | null
  readonly file: string | null
  readonly headers: Readonly<Record<string, string>> | null
  /** In a row, null stands for each secret. */
  readonly secret_headers: Readonly<Record<string, string | null | undefined>> | null
  readonly format: GivenSource['format']
  readonly refresh_seconds: number
  readonly shrink_guard: number
  /** Missing in lists that were saved before there was one. */
  readonly grow_guard?: number
}

export const completeSource = (given: GivenSource): IpListSource => ({
  url: given.url ?? null,
  file: given.file ?? null,
  headers: given.headers ?? null,
  secret_headers: given.secret_headers ?? null,
  format: given.format,
  refresh_seconds: given.refresh_seconds ?? refreshSecondsDefault,
  shrink_guard: given.shrink_guard ?? shrinkGuardDefault,
  grow_guard: given.grow_guard ?? growGuardDefault,
})

/** Names what is fetched and how it is read: what was learned from another source says nothing about this one. */
export const sourceIdentity = ({ url, file, format, headers, secret_headers }: IpListSource): string =>
  hash128(url ?? '', file ?? '', format, JSON.stringify([headers, Object.keys(secret_headers ?? {})]))

// --- its secrets ---

interface SourceRow extends Partial<SealedSecret> {
  readonly account_id: string
  readonly id: string
  readonly source: IpListSource | null
}

/** The context that the sealed headers of a list are bound to. */
export const headersBelongTo = ({ account_id, id }: Pick<SourceRow, 'account_id' | 'id'>): string =>
  `${account_id}/${id}/secret_headers`

/** The fields of the source: its secret headers are sealed, and are not among its members. */
export function sealedSource(row: SourceRow, previous: SourceRow | undefined, tools: DeriveTools) {
  const { source } = row
  if (source) checkHeaders(source)
  const before = previous?.source
  const given = source
    ? givenSecrets(
        'source',
        secretsOf(source),
        before ? { areKept: () => areKept(source, before) } : undefined,
      )
    : undefined
  const sealed = sealedOf(given, headersBelongTo(row), previous?.secret_digest, tools)
  return { source: source ? { ...source, ...withoutSecrets(headers, membersOf(source)) } : null, ...sealed }
}

export const hasSecrets = (source: IpListSource): boolean => Object.keys(secretsOf(source)).length > 0

/** The headers of requests, and which of their values are secret. `secret`: the unsealed text, if there is one. */
export function headersOf(source: IpListSource, secret: string | undefined) {
  const secrets = secret === undefined ? {} : (JSON.parse(secret) as Readonly<Record<string, string>>)
  const { secret_headers } = withSecrets(headers, membersOf(source), secrets)
  return {
    headers: { ...source.headers, ...(secret_headers as Readonly<Record<string, string>> | null) },
    secrets: Object.values(secrets),
  }
}

function checkHeaders(source: IpListSource): void {
  const broken = brokenHeaders(source, false)
  if (broken !== undefined) throw badRequest(`"source" ${broken}.`)
  if (source.url === null && (source.headers ?? source.secret_headers) !== null)
    throw badRequest('"source" has headers, which only a "url" has.')
}

const membersOf = ({ headers, secret_headers }: IpListSource) => ({ headers, secret_headers })

const secretsOf = (source: IpListSource) => secretsIn(headers, membersOf(source))

/** Whoever may change a list must not be able to have its secrets sent to a server of their own. */
function areKept(source: IpListSource, before: IpListSource): boolean {
  const names = (one: IpListSource): string => Object.keys(secretsOf(one)).sort().join()
  return recipientOf(source) === recipientOf(before) && names(source) === names(before)
}

/** With another path, a server of many tenants may hand the secrets to another one of them. */
function recipientOf({ url }: IpListSource): string {
  if (url === null) return ''
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

export const isStale = ({ refresh_seconds }: IpListSource, lastGoodMs: number, nowMs: number): boolean =>
  nowMs - lastGoodMs > staleAfterPeriods * refresh_seconds * 1000

// --- how it went ---

export const feedErrorCodes = [
  'unreachable',
  'timeout',
  'private_network',
  'redirect',
  'http_status',
  'too_large',
  'files_not_allowed',
  'file_unreadable',
  'invalid',
  'shrunk',
  'grown',
  'policy_test',
  'lockout',
  'refused',
  'unavailable',
  'internal',
] as const

export type FeedErrorCode = (typeof feedErrorCodes)[number]

export const feedStates = ['waiting', 'current', 'failing', 'stale'] as const

const instant = (description: string) => Type.String({ description, ...documented({ format: 'date-time' }) })

export const feedErrorSchema = objectOf(
  {
    code: oneOf(
      feedErrorCodes,
      'invalid: some of it is not in the format. shrunk: too few entries are left, see `shrink_guard`. grown: too many addresses are covered, see `grow_guard`. refused: more entries than are allowed. unavailable, internal: the fault is with Weir.',
    ),
    message: Type.String({ description: 'One sentence. If a line is wrong, it names the line.' }),
    since: instant('Since when each fetch fails in this way.'),
  },
  { title: 'IpListFetchError', description: 'Why the last fetch failed. The entries stay as they were.' },
)

export const statusSchema = objectOf(
  {
    state: oneOf(
      feedStates,
      `waiting: it was not fetched yet. failing: the last fetch failed. stale: no fetch succeeded for ${staleAfterPeriods} times \`refresh_seconds\`.`,
    ),
    fetched_at: orNull(instant('When it was last fetched without a fault, changed or not.')),
    changed_at: orNull(instant('When a fetch last changed the entries.')),
    etag: orNull(Type.String(), { description: 'That of the entries, if the server names one.' }),
    next_at: instant('When it is fetched next.'),
    error: orNull(feedErrorSchema),
  },
  { title: 'IpListSourceStatus', description: 'How the last fetches went.' },
)

export type FeedStatus = Static<typeof statusSchema>
