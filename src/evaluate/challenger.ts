/**
 * Challengers, compiled: of a draft only what it changes, over the configuration in force. So a record that meets nothing of
 * the draft is not evaluated again, and accounts without a challenger pay for one lookup.
 */
import { getOrMake } from '../core/maps.js'
import type { Slices } from '../core/slices.js'
import type { ShadowDecision } from '../event/define.js'
import { StepBudget } from '../expr/run.js'
import type { PolicyContext } from '../record/policy-scope.js'
import { challengerEnd } from '../resource/challenger.js'
import type { Row } from '../resource/define.js'
import type { DeclaredRow } from '../resource/registry.js'
import { findDecidedBy } from './decided-by.js'
import { draftedRows, kindOfEdge, type PresentRows } from './drafted-rows.js'
import { compileRoute, compileTcpEdge, type Endpoint, HttpsEdge, type SharedLists } from './edges.js'
import { evaluate } from './evaluate.js'
import { compileIpPolicy, type IpPolicy } from './ip-policy.js'
import type { Restriction, Restrictions } from './ip-restriction.js'
import { PlannedConfiguration, type PlannedWrite } from './planned-configuration.js'
import type { ConfigurationSource, RestrictionType } from './policy-source.js'

type ChallengerRow = DeclaredRow<'challenger'>

/** The part of an edge or a route that a draft may change. */
type Drafted = Pick<Endpoint, 'ipPolicyIds' | 'policies' | 'route'>

export interface ChallengerDecision extends ShadowDecision {
  readonly id: string
}

interface Compiled {
  readonly live: Restrictions
  readonly endpoints: ReadonlyMap<string, Drafted>
  readonly ipPolicies: ReadonlyMap<string, IpPolicy>
  readonly restriction: Restriction | undefined
}

/** The configuration with the draft. */
export class Challenger implements Restrictions {
  readonly row: ChallengerRow
  readonly #compiled: Compiled
  /** Endpoints of the live configuration, with the draft. */
  readonly #endpoints = new Map<Endpoint, Endpoint>()

  constructor(row: ChallengerRow, compiled: Compiled) {
    this.row = row
    this.#compiled = compiled
  }

  /** Is a record that was stored at this time compared? */
  covers(storedAtMs: number): boolean {
    return this.row.created_at <= storedAtMs && storedAtMs < challengerEnd(this.row)
  }

  ipPolicy(id: string): IpPolicy | undefined {
    return this.#compiled.ipPolicies.get(id) ?? this.#compiled.live.ipPolicy(id)
  }

  ipList(id: string): ReturnType<Restrictions['ipList']> {
    return this.#compiled.live.ipList(id)
  }

  restriction(accountId: string, type: RestrictionType): Restriction | undefined {
    const { restriction, live } = this.#compiled
    const isDrafted = type === 'endpoints' && restriction !== undefined && accountId === this.row.account_id
    return isDrafted ? restriction : live.restriction(accountId, type)
  }

  /** Of an endpoint of the live configuration. */
  endpoint(live: Endpoint): Endpoint {
    return getOrMake(this.#endpoints, live, () => {
      const { endpoints } = this.#compiled
      const edge = live.edgeId === undefined ? undefined : endpoints.get(live.edgeId)
      const route = live.route && endpoints.get(live.route.id)
      // The policies of an HTTPS edge come before those of its routes, which have the other module.
      const ofEdge = edge && (live.route === undefined ? edge : { policies: edge.policies })
      const ofRoute = route && { ipPolicyIds: route.ipPolicyIds, route: route.route }
      return ofEdge === undefined && ofRoute === undefined ? live : { ...live, ...ofEdge, ...ofRoute }
    })
  }

  /** `live`: what the configuration in force decides. */
  decide(endpoint: Endpoint, context: PolicyContext, live: ShadowDecision): ChallengerDecision {
    const { id } = this.row
    const drafted = this.endpoint(endpoint)
    if (drafted === endpoint && !this.#hasDraftedRules(endpoint))
      return { id, decision: live.decision, decidedBy: live.decidedBy }
    // Outbound policies never decide.
    const verdict = evaluate(this, drafted, context.again(), new StepBudget(), 'opening')
    return {
      id,
      decision: verdict.decision,
      decidedBy: findDecidedBy(this, drafted, verdict, context.client),
    }
  }

  #hasDraftedRules({ ipPolicyIds = [], accountId }: Endpoint): boolean {
    const { ipPolicies, restriction, live } = this.#compiled
    if (restriction !== undefined) return true
    if (ipPolicies.size === 0) return false
    const present = accountId === undefined ? undefined : live.restriction(accountId, 'endpoints')
    return [...ipPolicyIds, ...(present?.ip_policy_ids ?? [])].some((id) => ipPolicies.has(id))
  }
}

/** Those of all accounts; an account may have some whose last records are still processed. */
export class Challengers {
  readonly #byAccount: ReadonlyMap<string, readonly Challenger[]>

  constructor(byAccount: ReadonlyMap<string, readonly Challenger[]>) {
    this.#byAccount = byAccount
  }

  /** The one that a record of the account is compared with. */
  find(accountId: string, storedAtMs: number): Challenger | undefined {
    if (this.#byAccount.size === 0) return undefined
    return this.#byAccount.get(accountId)?.find((challenger) => challenger.covers(storedAtMs))
  }
}

/** Records may be processed late: a challenger is kept for a day after its end. */
const keptAfterEndMs = 24 * 60 * 60_000

const isKept = (row: ChallengerRow, nowMs: number): boolean =>
  row.promoted_at === null && row.discarded_at === null && nowMs < challengerEnd(row) + keptAfterEndMs

/** Compiles the challengers of a configuration over the policy set that was built from it. */
export async function buildChallengers(
  source: ConfigurationSource,
  live: Restrictions,
  lists: SharedLists,
  slices: Slices,
  nowMs: number,
): Promise<Challengers> {
  const rows = [...source.rowsOf('challenger')].filter((row) => isKept(row, nowMs))
  const byAccount = new Map<string, Challenger[]>()
  if (rows.length === 0) return new Challengers(byAccount)
  const present = await presentRows(source, rows, slices)
  for (const row of rows) {
    if (slices.isDue()) await slices.pause()
    const compiled = compileDraft(source, row, present(row.account_id), live, lists, nowMs)
    getOrMake(byAccount, row.account_id, () => []).push(new Challenger(row, compiled))
  }
  return new Challengers(byAccount)
}

const draftedKinds = ['tcp_edge', 'https_edge', 'https_edge_route', 'ip_policy', 'ip_restriction'] as const

/** The rows that drafts name, found in one pass. */
async function presentRows(
  source: ConfigurationSource,
  challengers: readonly ChallengerRow[],
  slices: Slices,
): Promise<(accountId: string) => PresentRows> {
  const named = new Set(
    challengers.flatMap(({ draft }) =>
      [...draft.edges, ...draft.routes, ...draft.ip_policies, ...draft.ip_restrictions].map(({ id }) => id),
    ),
  )
  const found = new Map<string, Row>()
  for (const kind of draftedKinds) {
    for (const row of source.rowsOf(kind)) {
      if (slices.isDue()) await slices.pause()
      if (named.has(row.id)) found.set(row.id, row as Row)
    }
  }
  return (accountId) => ({
    get: (_kind, id) => {
      const row = found.get(id)
      return row?.account_id === accountId ? row : undefined
    },
    rules: (id) => (source.rules(id)?.rules ?? []) as Iterable<Row>,
  })
}

function compileDraft(
  source: ConfigurationSource,
  row: ChallengerRow,
  present: PresentRows,
  live: Restrictions,
  lists: SharedLists,
  nowMs: number,
): Compiled {
  const write: PlannedWrite = draftedRows(row, present)
  const planned = new PlannedConfiguration(source, write)
  const endpoints = new Map<string, Drafted>()
  let restriction: Restriction | undefined
  for (const { kind, row: drafted } of write.puts) {
    if (kind === 'ip_restriction') restriction = drafted as unknown as Restriction
    else if (kind !== 'ip_policy_rule') endpoints.set(drafted.id, compileEndpoint(drafted, lists))
  }
  const ipPolicies = new Map<string, IpPolicy>()
  for (const { id } of row.draft.ip_policies) {
    if (present.get('ip_policy', id) === undefined) continue
    ipPolicies.set(id, compileIpPolicy(id, planned.rules(id)?.rules ?? [], nowMs))
  }
  return { live, endpoints, ipPolicies, restriction }
}

function compileEndpoint(row: Row, lists: SharedLists): Drafted {
  switch (kindOfEdge(row.id)) {
    case 'tcp_edge':
      return compileTcpEdge(row as unknown as DeclaredRow<'tcp_edge'>, lists)
    case 'https_edge':
      return new HttpsEdge(row as unknown as DeclaredRow<'https_edge'>, undefined).unrouted
    case 'https_edge_route':
      return compileRoute(row as unknown as DeclaredRow<'https_edge_route'>, lists).endpoint
  }
}
