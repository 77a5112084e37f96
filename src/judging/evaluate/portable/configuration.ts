/**
 * A configuration as a plain object: edges, IP policies with their rules, restrictions, in the shape in which the API shows
 * them. What the API adds and no decision depends on (`uri`, `created_at`, `metadata`, `backend`) may be there, and ids may
 * be any texts, or missing: then an edge is called by its first hostport, a rule by its range.
 */
import { formatCidr, parseCidr } from '../../../ground/core/address/cidr.js'
import { parseServed } from '../../../ground/core/address/hostport.js'
import { commentCharsMax } from '../../../ground/core/address/list-entry.js'
import { complaintOf, valueOr, WeirError } from '../../../ground/core/errors.js'
import {
  actionsPerPolicyMax,
  expressionsPerPolicyMax,
  hostportCharsMax,
  hostportsPerEdgeMax,
  ipListEntriesMax,
  ipListsPerAccountMax,
  ipPoliciesPerModuleMax,
  policiesPerDirectionMax,
  rulesPerIpPolicyMax,
} from '../../../ground/core/limits.js'

import { isTimestamp } from '../../../ground/core/text/timestamp.js'
import {
  anyMap,
  flag,
  ignored,
  isMap,
  listOf,
  numberOr,
  objectOf,
  oneOf,
  optional,
  type Read,
  text,
} from './reading.js'

/** The resources of each kind in one configuration: a program wrote a file of this size, and it is compiled in seconds. */
export const resourcesMax = 10_000
const idCharsMax = 300
const nameCharsMax = 255
const pathCharsMax = 1024
/** A longer one is refused as an expression. */
const expressionCharsMax = 64 * 1024

const id = optional(
  text(idCharsMax, (given) =>
    /^[\x21-\x7e]+$/.test(given) ? undefined : 'printable ASCII without spaces is needed',
  ),
  null,
)

/** Members that every resource is shown with. */
export const shownOnly = { uri: ignored, created_at: ignored, metadata: ignored, account_id: ignored }
const description = optional(text(nameCharsMax), '')
const enabled = optional(flag, true)

const action = objectOf({ type: oneOf('deny', 'log'), config: optional(anyMap, null) })

const policy = objectOf({
  name: optional(text(nameCharsMax), null),
  expressions: optional(listOf(text(expressionCharsMax), expressionsPerPolicyMax), []),
  actions: listOf(action, actionsPerPolicyMax, 1),
  enforced: optional(flag, true),
})

const direction = optional(listOf(policy, policiesPerDirectionMax), [])
const policies = optional(objectOf({ enabled, inbound: direction, outbound: direction }), null)

/** A policy or a list by its id, or as responses show it. */
const nameOrShown: Read<string> = (value, place, faults) =>
  isMap(value) ? text(idCharsMax)(value['id'], `${place}.id`, faults) : text(idCharsMax)(value, place, faults)

/** Ids of policies under either name: as they are sent, or as they are shown. */
const policyIds = listOf(nameOrShown, ipPoliciesPerModuleMax, 1)
const named = { ip_policy_ids: optional(policyIds, null), ip_policies: optional(policyIds, null) }
const ipRestriction = optional(objectOf({ enabled, ...named }), null)

/** In files of a whole account, the address of a reservation, which Weir draws: nobody knows it without the account. */
const isDrawn = (hostport: string): boolean => /^\$\{addr:[^{}]+\}$/.test(hostport)

const writtenHostports = listOf(
  text(hostportCharsMax, (given) => (isDrawn(given) ? undefined : complaintOf(parseServed(given)))),
  hostportsPerEdgeMax,
)
const servedHostports: Read<string[]> = (value, place, faults) =>
  writtenHostports(value, place, faults)?.filter((each) => !isDrawn(each))

const edge = {
  ...shownOnly,
  id,
  description,
  hostports: optional(servedHostports, []),
  policies,
}

const path = text(pathCharsMax, (given) => {
  if (!given.startsWith('/')) return 'a path that begins with "/" is needed'
  return /[?#\s]/.test(given) ? 'a path must not contain "?", "#" or white space' : undefined
})

const route = objectOf({
  ...shownOnly,
  id,
  description,
  edge_id: ignored,
  match_type: oneOf('exact_path', 'path_prefix'),
  match: path,
  backend: ignored,
  ip_restriction: ipRestriction,
  policies,
})

const timestampFault = (given: string): string | undefined =>
  isTimestamp(given) ? undefined : 'an RFC 3339 time is needed'

const cidr = text(64, (given) => complaintOf(parseCidr(given, { hostBits: 'refuse' })))

/** Lists come from many programs: bits after the prefix are cleared. */
const listedRange = text(64, (given) => complaintOf(parseCidr(given, { hostBits: 'allow' })))

export const rule = objectOf({
  ...shownOnly,
  id,
  description,
  ip_policy: ignored,
  cidr: optional(cidr, null),
  list_id: optional(text(idCharsMax), null),
  /** As rules are shown. */
  list: optional(nameOrShown, null),
  counts: ignored,
  action: oneOf('allow', 'deny'),
  expires_at: optional(text(64, timestampFault), null),
  enforced: optional(flag, true),
})

const entryMembers = objectOf({
  cidr: listedRange,
  comment: optional(text(commentCharsMax), null),
  expires_at: optional(text(64, timestampFault), null),
})

/** A range, or a range with a comment and the time at which it ends. */
export const listEntry: Read<NonNullable<ReturnType<typeof entryMembers>>> = (value, place, faults) => {
  if (isMap(value)) return entryMembers(value, place, faults)
  const found = listedRange(value, place, faults)
  return found === undefined ? undefined : { cidr: found, comment: null, expires_at: null }
}

const listWord = /^[a-z0-9][a-z0-9._-]*$/
const listName = (charsMax: number) =>
  text(charsMax, (given) =>
    listWord.test(given) ? undefined : 'lower-case letters, digits, "-", "_" and dots are needed',
  )

const ipList = objectOf({
  ...shownOnly,
  id,
  description,
  name: listName(64),
  category: optional(listName(100), null),
  /** As lists are shown, their number: allowed if nothing asks for them. */
  entries: optional(numberOr(listOf(listEntry, ipListEntriesMax)), []),
  source: ignored,
  source_status: ignored,
  updated_at: ignored,
})

/** Other members are not allowed. */
export const configurationMembers = {
  tcp_edges: optional(
    listOf(objectOf({ ...edge, backend: ignored, ip_restriction: ipRestriction }), resourcesMax),
    [],
  ),
  https_edges: optional(
    listOf(
      objectOf({
        ...edge,
        ambiguous_targets: optional(oneOf('judge', 'refuse'), null),
        routes: optional(listOf(route, resourcesMax), []),
      }),
      resourcesMax,
    ),
    [],
  ),
  ip_policies: optional(
    listOf(
      objectOf({
        ...shownOnly,
        id: text(idCharsMax),
        description,
        rules: optional(listOf(rule, rulesPerIpPolicyMax), []),
      }),
      resourcesMax,
    ),
    [],
  ),
  ip_lists: optional(listOf(ipList, ipListsPerAccountMax), []),
  ip_restrictions: optional(
    listOf(
      objectOf({
        ...shownOnly,
        id,
        description,
        type: oneOf('dashboard', 'api', 'agent', 'endpoints'),
        enforced: optional(flag, false),
        ...named,
      }),
      resourcesMax,
    ),
    [],
  ),
}

/** As the answer of a list is shown; tests, under either name, are read elsewhere. */
const otherMembers = { uri: ignored, next_page_uri: ignored, tests: ignored, policy_tests: ignored }

/** Other members are not allowed. */
export const readMembers = objectOf({ ...configurationMembers, ...otherMembers })

export type Configuration = Omit<NonNullable<ReturnType<typeof readMembers>>, keyof typeof otherMembers>

/** Ids of policies that a module or a restriction names. */
export const policyIdsOf = ({ ip_policy_ids, ip_policies }: NamesPolicies): readonly string[] =>
  ip_policy_ids ?? ip_policies ?? []

export interface NamesPolicies {
  readonly ip_policy_ids: readonly string[] | null
  readonly ip_policies: readonly string[] | null
}

/** The canonical spelling of what was checked. */
export const canonicalHostport = (given: string): string => valueOr(parseServed(given), given)

export function canonicalCidr(given: string): string {
  const parsed = parseCidr(given, { hostBits: 'refuse' })
  return parsed.ok ? formatCidr(parsed.value) : given
}

/** The names of what has no id. */
export const edgeIdOf = (
  { id, hostports }: { readonly id: string | null; readonly hostports: readonly string[] },
  place: string,
): string => id ?? (hostports[0] === undefined ? place : canonicalHostport(hostports[0]))

/** The id of the list that a rule is about; null if it has a range. */
export const listIdOf = ({
  list_id,
  list,
}: Pick<Configuration['ip_policies'][number]['rules'][number], 'list_id' | 'list'>): string | null =>
  list_id ?? list

export const routeIdOf = (
  { id, match_type, match }: Configuration['https_edges'][number]['routes'][number],
  edgeId: string,
): string => id ?? `${edgeId}${match}${match_type === 'path_prefix' ? '*' : ''}`

/** An error of a configuration, place by place. */
interface PlacedFault {
  readonly place: string
  readonly error: WeirError
}

/** The single faults of an error of `EntryFaults`. */
export function faultsOf(error: WeirError): PlacedFault[] {
  const { code, details, places } = error
  const sentences = Object.entries(details)
  if (sentences.length === 0) {
    const [, place = ''] = /^"([^"]+)"/.exec(error.message) ?? []
    return [{ place: places[0]?.place ?? place, error }]
  }
  return sentences.map(([place, sentence]) => ({
    place,
    error: new WeirError(code, sentence, { places: places.filter((each) => each.place === place) }),
  }))
}
