/**
 * The configuration that records are evaluated against: an immutable view, built while the current one is in use, then
 * swapped as a whole. Compiled parts are kept by id and version and shared with the previous view, so only
 * changed parts are compiled. Parts refer to one another by id: a changed rule touches no edge.
 */

import type { AddressLists } from '../../delivery/record/policy-context.js'
import type {
  ConnectionRecord,
  RecordType,
  RequestRecord,
  TrafficRecord,
} from '../../delivery/record/traffic-record.js'
import { now } from '../../ground/core/clock.js'
import { fail, ok, type Result, shown } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import type { ClaimedNames } from '../../words/resource/fields/claimed-names.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { buildNamedByAccounts, type NamedByAccounts } from './agents/named-by-accounts.js'
import {
  type AccountEndpoint,
  compileAccount,
  type EdgeProblem,
  type Endpoint,
  type HttpsEdge,
  noSuchEdge,
  nowhere,
  SharedLists,
  wrongAccount,
} from './edges.js'
import { type BuiltEdges, buildHttpsEdges, buildTcpEdges } from './edges-build.js'
import { type Asker, EdgesByHostport } from './hostports.js'
import { buildIpLists, type CompiledLists, type IpLists, type ListContent } from './ip-list.js'
import { buildIpPolicies, type CompiledPolicies, type IpPolicy, withoutExpiredRules } from './ip-policy.js'
import { type AccountRestrictions, buildRestrictions, type Restriction } from './ip-restriction.js'
import { buildListUnions, type ListUnion, type ListUnions } from './list-unions.js'
import { indexed, type Parts, unlessExpired } from './parts.js'
import type { ConfigurationSource, ListRule, RestrictionType } from './policy-source.js'
import type { PathReading } from './readings.js'
import { accountsWithShadow, type Shadowed } from './shadow.js'

interface Contents extends BuiltEdges {
  readonly revision: number
  readonly ipPolicies: Parts<IpPolicy>
  readonly ipLists: IpLists
  readonly listUnions: ListUnions
  /** The time at which the first rule of an IP policy or entry of a list expires: from then on, another set decides. */
  readonly expiresMs: number
  readonly lists: SharedLists
  readonly byHostport: EdgesByHostport
  readonly accounts: ReadonlyMap<string, AccountEndpoint>
  /** For records that no edge serves and that name no account: the deployment's account, if there is no other. */
  readonly ofNobody: Endpoint
  readonly restrictions: ReadonlyMap<string, AccountRestrictions>
  /** Accounts that have anything that is not enforced. */
  readonly shadowed: ReadonlySet<string>
  readonly credentials: ReadonlyMap<string, DeclaredRow<'tunnel_credential'>>
  /** Only agents need it. */
  readonly named: NamedByAccounts | undefined
}

/** Parts of a configuration that were compiled for another view of it. */
export type CompiledParts = CompiledLists & CompiledPolicies

/** Types of record whose edges `fetch` reads: those of HTTPS edges are in a map, with their routes. */
const isFetched: Readonly<Record<RecordType, boolean>> = { tcp_connection: true, http_request: false }

/** With fewer edges, most of what `fetch` reads is in a cache already. */
const fetchedEdgesMin = 500

export class PolicySet implements Shadowed {
  /** Revision of the configuration it was built from. */
  readonly revision: number
  readonly contents: Contents

  constructor(contents: Contents) {
    this.revision = contents.revision
    this.contents = contents
  }

  ipPolicy(id: string): IpPolicy | undefined {
    return this.contents.ipPolicies.get(id)
  }

  ipList(id: string): ListContent | undefined {
    return this.contents.ipLists.get(id)?.content
  }

  /** Its parts, for other views of the same configuration. */
  get compiled(): CompiledParts {
    const { ipPolicies, ipLists } = this.contents
    return {
      ipPolicy: (id, version, nowMs) => unlessExpired(ipPolicies.at(id, version), nowMs),
      ipList(id, chunks, nowMs) {
        const content = ipLists.get(id)?.content
        return content?.isOf(chunks) ? unlessExpired(content, nowMs) : undefined
      },
    }
  }

  listUnion(rules: readonly ListRule[]): ListUnion | undefined {
    return this.contents.listUnions.of(rules)
  }

  listsOf(accountId: string | undefined): AddressLists | undefined {
    return this.contents.ipLists.of(accountId)
  }

  restriction(accountId: string, type: RestrictionType): Restriction | undefined {
    return this.contents.restrictions.get(accountId)?.[type]
  }

  hasShadow(accountId: string | undefined): boolean {
    const { shadowed } = this.contents
    return shadowed.size > 0 && accountId !== undefined && shadowed.has(accountId)
  }

  /** Does another account than that of the credential have any of these names? */
  isNamedByAnother(accountId: string, names: ClaimedNames): boolean {
    return this.contents.named?.hasAnother(accountId, names) ?? false
  }

  credential(tokenHash: string): DeclaredRow<'tunnel_credential'> | undefined {
    return this.contents.credentials.get(tokenHash)
  }

  /**
   * The endpoint of the record: by `edge_id`, else by `server_name:server_port`, else its account alone, else the
   * deployment's account if there is no other, else nowhere. If the record says whose it is, only the edges of this account
   * are looked at. The problem makes it a bad record.
   */
  findEdge(record: TrafficRecord): Result<Endpoint, EdgeProblem> {
    const { account_id } = record
    const found = this.#find(record, account_id)
    if (!found.ok) return found
    if (found.value === undefined) return ok(this.#accountOf(account_id))
    const edge = found.value
    return account_id && account_id !== edge.accountId ? wrongAccount(record, edge.edgeId) : ok(edge)
  }

  /** The same as an account sees it: other accounts and their edges do not exist. */
  findEdgeOf(accountId: string, record: TrafficRecord): Result<Endpoint, EdgeProblem> {
    const { account_id, edge_id } = record
    if (account_id && account_id !== accountId)
      return fail({ msg: `"account_id" is ${shown(account_id)}, which is not your account.`, unknown: true })
    if (edge_id && this.#accountOfEdge(edge_id) !== accountId) return noSuchEdge(edge_id)
    const found = this.#find(record, accountId)
    return found.ok ? ok(found.value ?? this.#accountOf(accountId)) : found
  }

  /** The edge of a request that was found to be at this endpoint. */
  httpsEdgeOf({ edgeId }: Endpoint): HttpsEdge | undefined {
    return edgeId === undefined ? undefined : this.contents.httpsEdges.get(edgeId)
  }

  /** Where a request is if its path is this one. */
  endpointAt(endpoint: Endpoint, { route_id }: RequestRecord, { path, written }: PathReading): Endpoint {
    return route_id ? endpoint : (this.httpsEdgeOf(endpoint)?.endpointAt(path, written) ?? endpoint)
  }

  #accountOfEdge(edgeId: string): string | undefined {
    const { httpsEdges, tcpEdges } = this.contents
    return (tcpEdges.get(edgeId) ?? httpsEdges.get(edgeId))?.accountId
  }

  /**
   * The hostport by which the record finds its edge, of this account if one is given; undefined if it finds none, or names
   * the edge.
   */
  hostportOf(record: TrafficRecord, accountId?: string): string | undefined {
    if (record.edge_id) return undefined
    return this.contents.byHostport[record.type].hostportOf(record, accountId ?? record.account_id)
  }

  #accountOf(accountId: string | null | undefined): Endpoint {
    const { accounts, ofNobody } = this.contents
    return accountId ? (accounts.get(accountId) ?? nowhere) : ofNobody
  }

  /** The kind of edge that serves each type of record. */
  #find(record: TrafficRecord, accountId: Asker): Result<Endpoint | undefined, EdgeProblem> {
    switch (record.type) {
      case 'tcp_connection':
        return this.#findTcpEdge(record, accountId)
      case 'http_request':
        return this.#findHttpsEdge(record, accountId)
    }
  }

  #findTcpEdge(record: ConnectionRecord, accountId: Asker): Result<Endpoint | undefined, EdgeProblem> {
    const { tcpById, byHostport } = this.contents
    if (!record.edge_id) return ok(byHostport.tcp_connection.find(record, accountId))
    const edge = tcpById.get(record.edge_id)
    return edge === undefined ? this.#noEdge(record.edge_id, record.type) : ok(edge)
  }

  #findHttpsEdge(record: RequestRecord, accountId: Asker): Result<Endpoint | undefined, EdgeProblem> {
    const { httpsEdges, byHostport } = this.contents
    const edge = record.edge_id
      ? httpsEdges.get(record.edge_id)
      : byHostport.http_request.find(record, accountId)
    if (edge !== undefined) {
      const route = edge.findRoute(record)
      return route.ok ? route : fail({ ...route.problem, unknown: true })
    }
    return record.edge_id ? this.#noEdge(record.edge_id, record.type) : ok(undefined)
  }

  /** Whether `fetch` saves more time than it takes. */
  get hasManyEdges(): boolean {
    return this.contents.tcpById.size >= fetchedEdgesMin
  }

  /** Reads what `findEdge` will read for these records, at once. The caller uses the result, see `StringIndex.fetch`. */
  fetch(records: readonly TrafficRecord[]): number {
    const { tcpById, byHostport } = this.contents
    const ids: string[] = []
    const names: string[] = []
    for (const { type, edge_id, conn } of records) {
      if (!isFetched[type]) continue
      if (edge_id) ids.push(edge_id)
      else if (conn.server_name) names.push(conn.server_name)
    }
    return tcpById.fetch(ids, readEndpoint) + byHostport.tcp_connection.fetch(names, readEndpoint)
  }

  #noEdge(edgeId: string, type: RecordType): Result<never, EdgeProblem> {
    const { httpsEdges, tcpEdges } = this.contents
    const kind = httpsEdges.has(edgeId) ? 'an HTTPS' : tcpEdges.get(edgeId) ? 'a TCP' : undefined
    if (kind === undefined) return noSuchEdge(edgeId)
    return fail({
      msg: `"edge_id" is ${shown(edgeId)}, ${kind} edge; a ${type} can't belong to it.`,
      unknown: false,
    })
  }
}

const readEndpoint = ({ policies }: Endpoint): number => (policies === undefined ? 0 : 1)

/**
 * Builds a view in slices of 5 ms, each followed by `yieldTurn`; reuses compiled parts of `previous`. `nowMs`: rules that
 * have expired by then are left out. `compiled`: parts of other views of the same configuration, which are shared.
 */
export async function buildPolicySet(
  source: ConfigurationSource,
  previous: PolicySet | undefined,
  yieldTurn: () => Promise<void>,
  nowMs = now(),
  compiled?: CompiledParts,
): Promise<PolicySet> {
  const { revision } = source
  const slices = new Slices({ letOthers: yieldTurn })
  const ipLists = await buildIpLists(source, previous?.contents.ipLists, slices, nowMs, compiled)
  const inPolicies = await buildIpPolicies(source, previous?.contents.ipPolicies, slices, nowMs, compiled)
  const policies = inPolicies.ipPolicies.values.values()
  const listUnions = await buildListUnions(policies, ipLists, previous?.contents.listUnions, slices)
  const expiresMs = Math.min(inPolicies.expiresMs, ipLists.expiresMs)
  const lists = previous?.contents.lists ?? new SharedLists()
  const { tcpHostports, ...tcp } = await buildTcpEdges(source, previous?.contents, lists, slices)
  const { httpsHostports, ...https } = await buildHttpsEdges(source, previous?.contents, lists, slices)
  const reserved = await indexed(
    source.rowsOf('reserved_addr'),
    ({ addr, account_id }) => [addr ?? '', account_id],
    slices,
  )
  const byHostport = new EdgesByHostport(tcpHostports, httpsHostports, reserved)
  const accounts = await indexed(source.rowsOf('account'), (row) => [row.id, compileAccount(row)], slices)
  const restrictions = await buildRestrictions(source, slices)
  const credentials = await indexed(
    source.rowsOf('tunnel_credential'),
    (row) => [row.token_hash ?? '', row],
    slices,
  )
  const edges = { ...tcp, ...https, byHostport }
  const isNeeded = credentials.size > 0 && accounts.size > 1
  const named = isNeeded ? await buildNamedByAccounts(source, slices) : undefined
  const ofNobody = accounts.get(source.soleAccountId?.() ?? '') ?? nowhere
  const ofAccounts = { accounts, ofNobody, restrictions, credentials, named }
  const built = { revision, ...inPolicies, expiresMs, ipLists, listUnions, lists, ...edges, ...ofAccounts }
  const shadowed = await accountsWithShadow(source, built, slices)
  return new PolicySet({ ...built, shadowed })
}

/** The same view without rules and entries of lists that have expired; edges are not built again. */
export async function withoutExpired(
  { contents }: PolicySet,
  yieldTurn: () => Promise<void>,
  nowMs: number,
): Promise<PolicySet> {
  const slices = new Slices({ letOthers: yieldTurn })
  const ipLists = await contents.ipLists.withoutExpired(slices, nowMs)
  const inPolicies = await withoutExpiredRules(contents.ipPolicies, slices, nowMs)
  const policies = inPolicies.ipPolicies.values.values()
  const listUnions = await buildListUnions(policies, ipLists, contents.listUnions, slices)
  const expiresMs = Math.min(inPolicies.expiresMs, ipLists.expiresMs)
  return new PolicySet({ ...contents, ...inPolicies, ipLists, listUnions, expiresMs })
}
