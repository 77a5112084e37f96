/** Reads a configuration as a whole: its members, and what concerns several of them. */
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { shown, WeirError } from '../../../ground/core/errors.js'
import { nearestNames } from '../../../ground/core/nearest.js'
import { withoutPauses } from '../../../ground/core/slices.js'
import {
  checkTrafficPolicies,
  type PolicyKind,
  placeOfList,
} from '../../../words/resource/fields/traffic-policy-check.js'
import {
  type Configuration,
  canonicalCidr,
  canonicalHostport,
  edgeIdOf,
  faultsOf,
  listIdOf,
  type NamesPolicies,
  policyIdsOf,
  readMembers,
  routeIdOf,
} from './configuration.js'
import { addFault, entriesBetweenPauses } from './reading.js'

/** What a configuration is added to: it may refer to that, and must not take its names. */
export interface Surroundings {
  readonly policyIds: readonly string[]
  readonly lists: readonly Pick<Configuration['ip_lists'][number], 'id' | 'name' | 'category'>[]
  readonly hostports: readonly string[]
  readonly restrictionTypes: readonly string[]
}

/** Throws an error that names every place that is wrong; `tests` are read elsewhere. */
export function readConfiguration(value: unknown): Configuration {
  const faults = new EntryFaults()
  const found = readMembers(value, '', faults)
  faults.throwIfAny()
  withoutPauses(checkRelations(found!, undefined, faults))
  faults.throwIfAny()
  return found!
}

const nothing: Surroundings = { policyIds: [], lists: [], hostports: [], restrictionTypes: [] }

/** Checks that concern several resources: names that must be unique, and policies that must exist. May pause at each `yield`. */
export function* checkRelations(
  configuration: Configuration,
  surroundings: Surroundings | undefined,
  faults: EntryFaults,
): Generator<void, void> {
  const { tcp_edges, https_edges, ip_policies, ip_restrictions } = configuration
  const around = surroundings ?? nothing
  const known = new Set([...ip_policies.map(({ id }) => id), ...around.policyIds])
  const ip_lists = [...configuration.ip_lists, ...around.lists]
  const ids = new Unique(faults, 'id')
  const hostports = new Unique(faults, 'hostport')
  for (const hostport of around.hostports) hostports.reserve(hostport, 'one of an edge that stays')
  const checkEdge = (
    kind: PolicyKind,
    place: string,
    given: Configuration['tcp_edges'][number] | HttpsEdge,
  ) => {
    ids.add(edgeIdOf(given, place), `${place}.id`)
    for (const [index, hostport] of given.hostports.entries())
      hostports.add(canonicalHostport(hostport), `${place}.hostports[${index}]`)
    checkPolicies(kind, given.policies, place, ip_lists, faults)
  }
  for (const [index, given] of tcp_edges.entries()) {
    checkEdge('tcp_edge', `tcp_edges[${index}]`, given)
    checkNamed(given.ip_restriction, `tcp_edges[${index}].ip_restriction`, known, faults)
  }
  for (const [index, given] of https_edges.entries()) {
    const place = `https_edges[${index}]`
    checkEdge('https_edge', place, given)
    for (const [number, entry] of given.routes.entries()) {
      const at = `${place}.routes[${number}]`
      ids.add(routeIdOf(entry, edgeIdOf(given, place)), `${at}.id`)
      checkPolicies('https_edge_route', entry.policies, at, ip_lists, faults)
      checkNamed(entry.ip_restriction, `${at}.ip_restriction`, known, faults)
    }
  }
  checkLists(configuration.ip_lists, around.lists, faults)
  // An account has the entries; a file has not.
  if (surroundings === undefined) checkCountedLists(configuration, faults)
  yield* checkRules(ip_policies, new Set(ip_lists.map(({ id, name }) => id ?? name)), faults)
  const types = new Unique(faults, 'type of restriction')
  for (const type of around.restrictionTypes) types.reserve(type, 'that of a restriction that stays')
  for (const [index, given] of ip_restrictions.entries()) {
    types.add(given.type, `ip_restrictions[${index}].type`)
    checkNamed(given, `ip_restrictions[${index}]`, known, faults)
  }
}

type HttpsEdge = Configuration['https_edges'][number]

function checkLists(
  lists: Configuration['ip_lists'],
  others: Surroundings['lists'],
  faults: EntryFaults,
): void {
  const ids = new Unique(faults, 'id')
  const names = new Unique(faults, 'name of a list')
  for (const { name } of others) names.reserve(name, 'that of a list that stays')
  for (const [index, { id, name }] of lists.entries()) {
    ids.add(id ?? name, `ip_lists[${index}].id`)
    names.add(name, `ip_lists[${index}].name`)
  }
}

/** A list as the API shows it has the number of its entries: that is enough unless a decision depends on them. */
function checkCountedLists({ ip_lists, ip_policies, ...edges }: Configuration, faults: EntryFaults): void {
  for (const [index, list] of ip_lists.entries()) {
    const { id, name, category, entries } = list
    if (typeof entries !== 'number' || entries === 0) continue
    const hasRule = ip_policies.some(({ rules }) => rules.some((rule) => listIdOf(rule) === (id ?? name)))
    if (!hasRule && !isAskedFor(edges, name, category)) continue
    const place = `ip_lists[${index}].entries`
    const path = `GET /ip_lists/${id ?? '{id}'}/entries`
    addFault(
      faults,
      place,
      `"${place}" is ${entries}, the number of entries, but decisions depend on them: give the list that ${path} shows.`,
    )
  }
}

/** May an expression ask for the list, by its name or its category? */
function isAskedFor(
  { tcp_edges, https_edges }: Pick<Configuration, 'tcp_edges' | 'https_edges'>,
  name: string,
  category: string | null,
): boolean {
  const modules = [
    ...tcp_edges.map(({ policies }) => ['tcp_edge', policies] as const),
    ...https_edges.map(({ policies }) => ['https_edge', policies] as const),
    ...https_edges.flatMap(({ routes }) =>
      routes.map(({ policies }) => ['https_edge_route', policies] as const),
    ),
  ]
  return modules.some(
    ([kind, module]) =>
      placeOfList(kind, module, name) !== undefined ||
      (category !== null && JSON.stringify(module).includes('categories')),
  )
}

function* checkRules(
  ipPolicies: Configuration['ip_policies'],
  lists: ReadonlySet<string>,
  faults: EntryFaults,
): Generator<void, void> {
  const ids = new Unique(faults, 'id')
  for (const [index, { id, rules }] of ipPolicies.entries()) {
    ids.add(id, `ip_policies[${index}].id`)
    const subjects = new Unique(faults, 'range or list')
    for (const [number, rule] of rules.entries()) {
      if (number % entriesBetweenPauses === 0) yield
      const place = `ip_policies[${index}].rules[${number}]`
      const list = listIdOf(rule)
      if ((rule.cidr === null) === (list === null))
        addFault(faults, place, `"${place}" needs either "cidr" or "list_id".`)
      else if (rule.cidr !== null) subjects.add(canonicalCidr(rule.cidr), `${place}.cidr`)
      else if (list !== null && lists.has(list)) subjects.add(list, `${place}.list_id`)
      else
        addFault(faults, `${place}.list_id`, unknownId(`${place}.list_id`, list!, 'ip_lists', 'list', lists))
    }
  }
}

/** Finds what is there twice. */
class Unique {
  readonly #faults: EntryFaults
  readonly #what: string
  /** Where each is, in words. */
  readonly #places = new Map<string, string>()

  constructor(faults: EntryFaults, what: string) {
    this.#faults = faults
    this.#what = what
  }

  reserve(name: string, place: string): void {
    this.#places.set(name, place)
  }

  add(name: string, place: string): void {
    const other = this.#places.get(name)
    if (other === undefined) this.#places.set(name, `"${place}"`)
    else
      addFault(
        this.#faults,
        place,
        `"${place}" is ${shown(name)}, as is ${other}: each ${this.#what} may be there only once.`,
      )
  }
}

function checkNamed(
  module: NamesPolicies | null,
  place: string,
  known: ReadonlySet<string>,
  faults: EntryFaults,
): void {
  if (module === null) return
  const name = module.ip_policy_ids === null ? 'ip_policies' : 'ip_policy_ids'
  const ids = policyIdsOf(module)
  if (ids.length === 0)
    addFault(
      faults,
      `${place}.ip_policy_ids`,
      `"${place}.ip_policy_ids" is missing; it must be a list of IP policies.`,
    )
  for (const [index, id] of ids.entries()) {
    if (known.has(id)) continue
    const at = `${place}.${name}[${index}]`
    addFault(faults, at, unknownId(at, id, 'ip_policies', 'policy', known))
  }
}

function unknownId(
  place: string,
  id: string,
  member: string,
  what: string,
  known: ReadonlySet<string>,
): string {
  const [nearest] = nearestNames(id, known, 1)
  const hint = nearest === undefined ? '' : ` Did you mean ${shown(nearest)}?`
  return `"${place}" is ${shown(id)}, but "${member}" has no ${what} with this id.${hint}`
}

function checkPolicies(
  kind: PolicyKind,
  module: Configuration['tcp_edges'][number]['policies'],
  place: string,
  lists: Surroundings['lists'],
  faults: EntryFaults,
): void {
  try {
    checkTrafficPolicies(kind, module, { nameInBody: (name) => `${place}.${name}`, all: () => lists })
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    for (const fault of faultsOf(error)) faults.add(fault.place, fault.error)
  }
}
