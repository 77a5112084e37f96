/** Reads a configuration as a whole: its members, and what concerns several of them. */
import { EntryFaults } from '../../core/entry-faults.js'
import { shown, WeirError } from '../../core/errors.js'
import { nearestNames } from '../../core/text/nearest.js'
import { checkTrafficPolicies, type PolicyKind } from '../../resource/fields/traffic-policy-check.js'
import {
  type Configuration,
  canonicalCidr,
  canonicalHostport,
  edgeIdOf,
  faultsOf,
  type NamesPolicies,
  policyIdsOf,
  readMembers,
  routeIdOf,
} from './configuration.js'
import { addFault } from './reading.js'

/** Throws an error that names every place that is wrong; `tests` are read elsewhere. */
export function readConfiguration(value: unknown): Configuration {
  const faults = new EntryFaults()
  const found = readMembers(value, '', faults)
  faults.throwIfAny()
  checkRelations(found!, faults)
  faults.throwIfAny()
  return found!
}

/** What concerns several resources: names that must be unique, and policies that must exist. */
function checkRelations(configuration: Configuration, faults: EntryFaults): void {
  const { tcp_edges, https_edges, ip_policies, ip_restrictions } = configuration
  const known = new Set(ip_policies.map(({ id }) => id))
  const ids = new Unique(faults, 'id')
  const hostports = new Unique(faults, 'hostport')
  const checkEdge = (
    kind: PolicyKind,
    place: string,
    given: Configuration['tcp_edges'][number] | HttpsEdge,
  ) => {
    ids.add(edgeIdOf(given, place), `${place}.id`)
    for (const [index, hostport] of given.hostports.entries())
      hostports.add(canonicalHostport(hostport), `${place}.hostports[${index}]`)
    checkPolicies(kind, given.policies, place, faults)
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
      checkPolicies('https_edge_route', entry.policies, at, faults)
      checkNamed(entry.ip_restriction, `${at}.ip_restriction`, known, faults)
    }
  }
  checkRules(ip_policies, faults)
  const types = new Unique(faults, 'type of restriction')
  for (const [index, given] of ip_restrictions.entries()) {
    types.add(given.type, `ip_restrictions[${index}].type`)
    checkNamed(given, `ip_restrictions[${index}]`, known, faults)
  }
}

type HttpsEdge = Configuration['https_edges'][number]

function checkRules(ipPolicies: Configuration['ip_policies'], faults: EntryFaults): void {
  const ids = new Unique(faults, 'id')
  for (const [index, { id, rules }] of ipPolicies.entries()) {
    ids.add(id, `ip_policies[${index}].id`)
    const ranges = new Unique(faults, 'range')
    for (const [number, { cidr }] of rules.entries())
      ranges.add(canonicalCidr(cidr), `ip_policies[${index}].rules[${number}].cidr`)
  }
}

/** Finds what is there twice. */
class Unique {
  readonly #faults: EntryFaults
  readonly #what: string
  readonly #places = new Map<string, string>()

  constructor(faults: EntryFaults, what: string) {
    this.#faults = faults
    this.#what = what
  }

  add(name: string, place: string): void {
    const other = this.#places.get(name)
    if (other === undefined) this.#places.set(name, place)
    else
      addFault(
        this.#faults,
        place,
        `"${place}" is ${shown(name)}, as is "${other}": each ${this.#what} may be there only once.`,
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
    const [nearest] = nearestNames(id, known, 1)
    const hint = nearest === undefined ? '' : ` Did you mean ${shown(nearest)}?`
    addFault(faults, at, `"${at}" is ${shown(id)}, but "ip_policies" has no policy with this id.${hint}`)
  }
}

function checkPolicies(
  kind: PolicyKind,
  module: Configuration['tcp_edges'][number]['policies'],
  place: string,
  faults: EntryFaults,
): void {
  try {
    checkTrafficPolicies(kind, module, (name) => `${place}.${name}`)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    for (const fault of faultsOf(error)) faults.add(fault.place, fault.error)
  }
}
