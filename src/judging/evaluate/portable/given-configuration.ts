/** A configuration that was read, as the evaluator needs it: rows of one account. */
import { canonicalRange, commentOf, lineOf } from '../../../ground/core/address/list-entry.js'
import { isoSeconds, yieldInTurn } from '../../../ground/core/clock.js'
import { valueOr } from '../../../ground/core/errors.js'
import { parseTimestamp } from '../../../ground/core/text/timestamp.js'
import type { DeclaredRow, KindName } from '../../../words/resource/registry.js'
import { buildPolicySet, type PolicySet } from '../policy-set.js'
import type { ConfigurationSource, IpRule } from '../policy-source.js'
import {
  type Configuration,
  canonicalCidr,
  canonicalHostport,
  edgeIdOf,
  listIdOf,
  policyIdsOf,
  routeIdOf,
} from './configuration.js'

/** The owner of everything in a configuration. */
export const accountId = 'ac_configuration'

const revision = 1

/** The members of every row that no configuration says. */
interface Head {
  readonly account_id: string
  readonly version: number
}

const alone: Head = { account_id: accountId, version: revision }

type IpModule = Configuration['tcp_edges'][number]['ip_restriction']
type Policies = Configuration['tcp_edges'][number]['policies']

const ipModuleOf = (module: IpModule) =>
  module === null ? null : { enabled: module.enabled, ip_policy_ids: policyIdsOf(module) }

/** As stored: a policy without a name has no such member, and only one that is not enforced says so. */
const policiesOf = (policies: Policies) => {
  if (policies === null) return null
  const list = (given: typeof policies.inbound) =>
    given.map(({ name, enforced, ...policy }) => ({
      ...(name === null || name === '' ? {} : { name }),
      ...policy,
      ...(enforced ? {} : { enforced }),
    }))
  return { ...policies, inbound: list(policies.inbound), outbound: list(policies.outbound) }
}

const edgeOf = (
  head: Head,
  given: Configuration['tcp_edges'][number] | Configuration['https_edges'][number],
  place: string,
) => ({
  ...head,
  id: edgeIdOf(given, place),
  description: given.description,
  hostports: given.hostports.map(canonicalHostport),
  backend: null,
  policies: policiesOf(given.policies),
})

export class GivenConfiguration implements ConfigurationSource {
  readonly revision = revision
  readonly #version: number
  readonly #rows: Readonly<Partial<Record<KindName, readonly object[]>>>
  readonly #rules: ReadonlyMap<string, readonly IpRule[]>

  readonly #lists: ReadonlyMap<string, Configuration['ip_lists'][number]>

  constructor(
    { tcp_edges, https_edges, ip_policies, ip_lists, ip_restrictions }: Configuration,
    of: Head = alone,
  ) {
    const head = { ...of, created_at: 0, metadata: null }
    this.#version = of.version
    this.#lists = new Map(ip_lists.map((list) => [list.id ?? list.name, list]))
    this.#rows = {
      tcp_edge: tcp_edges.map((edge, index) => ({
        ...edgeOf(head, edge, `tcp_edges[${index}]`),
        ip_restriction: ipModuleOf(edge.ip_restriction),
      })),
      https_edge: https_edges.map((edge, index) => ({
        ...edgeOf(head, edge, `https_edges[${index}]`),
        ambiguous_targets: edge.ambiguous_targets,
      })),
      https_edge_route: https_edges.flatMap((edge, index) => routesOf(head, edge, `https_edges[${index}]`)),
      ip_policy: ip_policies.map(({ id, description }) => ({ ...head, id, description })),
      ip_list: ip_lists.map(({ id, name, category, description }) => ({
        ...head,
        id: id ?? name,
        name,
        category,
        description,
        chunks: [id ?? name],
      })),
      ip_restriction: ip_restrictions.map(({ id, type, enforced, description, ...named }) => ({
        ...head,
        id: id ?? type,
        type,
        enforced,
        description,
        ip_policy_ids: policyIdsOf(named),
      })),
    }
    this.#rules = new Map(ip_policies.map(({ id, rules }) => [id, rules.map(ruleOf)]))
  }

  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    return (this.#rows[kind] ?? []) as Iterable<object> as Iterable<DeclaredRow<Kind>>
  }

  /** A list is one part, which is called like the list. */
  listText(id: string) {
    const list = this.#lists.get(id)
    return list && (() => entriesOf(list).map(lineOfEntry).join('\n'))
  }

  rules(ipPolicyId: string) {
    const rules = this.#rules.get(ipPolicyId)
    return rules === undefined ? undefined : { version: this.#version, rules }
  }
}

const routesOf = (head: Head, edge: Configuration['https_edges'][number], place: string) =>
  edge.routes.map((route) => ({
    ...head,
    id: routeIdOf(route, edgeIdOf(edge, place)),
    edge_id: edgeIdOf(edge, place),
    description: route.description,
    match_type: route.match_type,
    match: route.match,
    backend: null,
    ip_restriction: ipModuleOf(route.ip_restriction),
    policies: policiesOf(route.policies),
  }))

/** A list that is given with the number of its entries is one that nothing asks for. */
const entriesOf = ({ entries }: Configuration['ip_lists'][number]) =>
  typeof entries === 'number' ? [] : entries

const lineOfEntry = ({ cidr, comment, expires_at }: ReturnType<typeof entriesOf>[number]): string =>
  lineOf({
    cidr: valueOr(canonicalRange(cidr), cidr),
    comment: commentOf(comment),
    expiresAt: expires_at === null ? null : 1000 * parseTimestamp(expires_at)!,
  })

/** As stored, for a text that was checked before: then times compare as texts. */
function canonicalTime(text: string | null): string | null {
  const seconds = text === null ? undefined : parseTimestamp(text)
  return seconds === undefined ? null : isoSeconds(seconds * 1000)
}

function ruleOf(given: Configuration['ip_policies'][number]['rules'][number]): IpRule {
  const { id, action, enforced, description, expires_at } = given
  const list_id = listIdOf(given)
  const cidr = given.cidr && canonicalCidr(given.cidr)
  return {
    id: id ?? cidr ?? list_id ?? '',
    cidr,
    list_id,
    action,
    enforced,
    description,
    expires_at: canonicalTime(expires_at),
  }
}

/** Compiles a configuration that was read, in slices of 5 ms, so that others get their turns. */
export const compileRead = (configuration: Configuration): Promise<PolicySet> =>
  buildPolicySet(new GivenConfiguration(configuration), undefined, yieldInTurn)
