/**
 * The policies that decided about a record at an earlier revision of the configuration. Only the rows that this record
 * depends on are read: the edge that served it, the account's restriction, then the rules of the IP policies that both name.
 */

import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { yieldTurn } from '../../ground/core/clock.js'
import { Turns } from '../../ground/core/concurrency.js'
import { badRequest } from '../../ground/core/errors.js'
import { pastExplanationsAtOnceMax, pastExplanationsWaitingMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import { hostportOf } from '../../judging/evaluate/edges.js'
import { wildcardsFor } from '../../judging/evaluate/hostports.js'
import { buildPolicySet, type PolicySet } from '../../judging/evaluate/policy-set.js'
import type { ConfigurationSource, PoliciesModule } from '../../judging/evaluate/policy-source.js'
import { endpointsOf } from '../../judging/evaluate/readings.js'
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'
import { stateKey } from '../../words/view/keys.js'
import { textOfChunk } from '../../words/view/list-chunks.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { PastRows } from '../store/history/past-rows.js'

type Rows = { readonly [Kind in KindName]?: readonly DeclaredRow<Kind>[] }

/** A configuration of rows that were read. */
class ReadConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #rows: Rows
  readonly #rules = new Map<string, DeclaredRow<'ip_policy_rule'>[]>()

  constructor(revision: number, rows: Rows) {
    this.revision = revision
    this.#rows = rows
    for (const rule of rows.ip_policy_rule ?? [])
      getOrMake(this.#rules, rule.ip_policy_id, () => []).push(rule)
  }

  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    return (this.#rows[kind] ?? []) as Iterable<DeclaredRow<Kind>>
  }

  listText(chunkId: string) {
    const chunk = this.#rows.ip_list_chunk?.find(({ id }) => id === chunkId)
    return chunk && (() => textOfChunk(chunk))
  }

  rules(ipPolicyId: string) {
    return { version: 0, rules: this.#rules.get(ipPolicyId) ?? [] }
  }
}

/** The policies that decided at a revision, and the version that the account had. */
interface PastPolicies {
  readonly policySet: PolicySet
  /** The rows that it was built from. */
  readonly source: ConfigurationSource
  readonly version: number
}

/** Rows to read besides the record's own policies: of a draft that is judged over them. */
export interface AlsoRead {
  readonly policyIds: readonly string[]
  readonly listIds: readonly string[]
  /** Edges and routes, with their policies. */
  readonly owners: readonly { readonly policies?: PoliciesModule | null }[]
}

const nothingElse: AlsoRead = { policyIds: [], listIds: [], owners: [] }

export class PastPolicyReader {
  readonly #rows: PastRows
  readonly #turns = new Turns(pastExplanationsAtOnceMax, pastExplanationsWaitingMax)

  constructor(rows: PastRows) {
    this.#rows = rows
  }

  /**
   * Undefined if the account has not changed since: then its present configuration decided. `atMs`: when it decided; rules
   * that had expired by then are left out.
   */
  async at(
    state: ViewState,
    accountId: string,
    revision: number,
    record: TrafficRecord,
    atMs: number,
    also = nothingElse,
  ): Promise<PastPolicies | undefined> {
    if (revision > state.revision)
      throw badRequest(`"revision" is ${revision}, but the configuration has reached ${state.revision} only.`)
    if (revision >= state.revisionOf(stateKey(accountId))) return undefined
    return this.#turns.take(async () => {
      const version = await this.#rows.versionAt(accountId, revision)
      if (version === undefined)
        throw badRequest(
          `"revision" is ${revision}, which is too old: the account did not exist then, or its configuration of that time is not known any more.`,
        )
      const source = await this.#source({ accountId, version, revision }, record, also)
      return { version, source, policySet: await buildPolicySet(source, undefined, yieldTurn, atMs) }
    })
  }

  async #source(
    { accountId, version, revision }: { accountId: string; version: number; revision: number },
    record: TrafficRecord,
    also: AlsoRead,
  ): Promise<ConfigurationSource> {
    const rows = await this.#edgesAndRestriction(accountId, version, record)
    const withoutRules = new ReadConfiguration(revision, rows)
    const policies = await buildPolicySet(withoutRules, undefined, yieldTurn)
    const found = policies.findEdgeOf(accountId, record)
    if (!found.ok) return withoutRules
    const endpoints = endpointsOf(
      policies,
      found.value,
      new PolicyContext(record, undefined, { lookup: () => ({}) }),
    )
    const restriction = policies.restriction(accountId, 'endpoints')
    const ofEndpoints = endpoints.flatMap(({ ipPolicyIds = [] }) => ipPolicyIds)
    const named = [...ofEndpoints, ...(restriction?.ip_policy_ids ?? [])]
    const policyIds = [...new Set([...named, ...also.policyIds])]
    const [ip_policy, ip_policy_rule] = await Promise.all([
      this.#rows.at(accountId, version, 'ip_policy', 'id', policyIds),
      this.#rows.at(accountId, version, 'ip_policy_rule', 'ip_policy_id', policyIds),
    ])
    const ip_list = await this.#lists({ accountId, version }, ip_policy_rule, rows, also)
    const chunkIds = ip_list.flatMap(({ chunks }) => chunks)
    const ip_list_chunk = await this.#rows.at(accountId, version, 'ip_list_chunk', 'id', chunkIds)
    return new ReadConfiguration(revision, { ...rows, ip_policy, ip_policy_rule, ip_list, ip_list_chunk })
  }

  /** The lists that these rules name, and others; all of the account if an expression asks about lists. */
  #lists(
    { accountId, version }: { readonly accountId: string; readonly version: number },
    rules: readonly DeclaredRow<'ip_policy_rule'>[],
    edges: Rows,
    also: AlsoRead,
  ) {
    const { tcp_edge = [], https_edge = [], https_edge_route = [] } = edges
    if (asksAboutLists([...tcp_edge, ...https_edge, ...https_edge_route, ...also.owners]))
      return this.#rows.at(accountId, version, 'ip_list', 'account_id', [accountId])
    const ids = new Set([...rules.flatMap(({ list_id }) => list_id ?? []), ...also.listIds])
    return this.#rows.at(accountId, version, 'ip_list', 'id', [...ids])
  }

  async #edgesAndRestriction(accountId: string, version: number, record: TrafficRecord): Promise<Rows> {
    const [tcpIds, httpsIds] = await Promise.all([
      this.#edgeIds(accountId, version, 'tcp_edge', record),
      this.#edgeIds(accountId, version, 'https_edge', record),
    ])
    const [account, tcp_edge, https_edge, https_edge_route, ip_restriction] = await Promise.all([
      this.#rows.at(accountId, version, 'account', 'id', [accountId]),
      this.#rows.at(accountId, version, 'tcp_edge', 'id', tcpIds),
      this.#rows.at(accountId, version, 'https_edge', 'id', httpsIds),
      this.#rows.at(accountId, version, 'https_edge_route', 'edge_id', httpsIds),
      this.#rows.at(accountId, version, 'ip_restriction', 'type', ['endpoints']),
    ])
    return { account, tcp_edge, https_edge, https_edge_route, ip_restriction }
  }

  async #edgeIds(
    accountId: string,
    version: number,
    kind: 'tcp_edge' | 'https_edge',
    record: TrafficRecord,
  ): Promise<readonly string[]> {
    if (record.edge_id) return [record.edge_id]
    const hostport = hostportOf(record)
    if (hostport === undefined) return []
    const matching = [hostport, ...wildcardsFor(hostport)]
    return this.#rows.edgesServing(accountId, version, kind, matching)
  }
}

const listExpression = /inList|conn\.ip\.categories/

/** Does an expression of these edges and routes perhaps ask about lists? */
const asksAboutLists = (owners: AlsoRead['owners']): boolean =>
  owners.some(({ policies }) =>
    [...(policies?.inbound ?? []), ...(policies?.outbound ?? [])].some(({ expressions }) =>
      expressions.some((text) => listExpression.test(text)),
    ),
  )
