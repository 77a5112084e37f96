/**
 * Challengers, compiled: of a draft only what it changes, over the configuration in force. So a record that meets nothing of
 * the draft is not evaluated again, and accounts without a challenger pay for one lookup.
 */
import { getOrMake } from '../core/maps.js'
import type { Slices } from '../core/slices.js'
import type { ShadowDecision } from '../event/define.js'
import { StepBudget } from '../expr/run.js'
import type { PolicyContext } from '../record/policy-scope.js'
import { challengerEnd, isEvaluated } from '../resource/challenger.js'
import type { Row } from '../resource/define.js'
import type { DeclaredRow } from '../resource/registry.js'
import { findDecidedBy } from './decided-by.js'
import {
  draftedEndpoint,
  kindOfEdge,
  type PresentRows,
  restrictionRow,
  rulesWithDraft,
} from './drafted-rows.js'
import { compileRoute, compileTcpEdge, type Endpoint, HttpsEdge, type SharedLists } from './edges.js'
import { type Decisive, evaluate } from './evaluate.js'
import { buildIpPolicy, type IpPolicy } from './ip-policy.js'
import type { Restriction } from './ip-restriction.js'
import { Parts } from './parts.js'
import type { PolicySet } from './policy-set.js'
import type { ConfigurationSource, IpRule, RestrictionType } from './policy-source.js'

type ChallengerRow = DeclaredRow<'challenger'>

/** The part of an edge or a route that a draft may change. */
type Drafted = Pick<Endpoint, 'ipPolicyIds' | 'policies' | 'route'>

export interface ChallengerDecision extends ShadowDecision {
  readonly id: string
}

interface Compiled {
  readonly live: Decisive
  readonly endpoints: ReadonlyMap<string, Drafted>
  readonly ipPolicies: ReadonlyMap<string, IpPolicy>
  readonly restriction: Restriction | undefined
}

/** The configuration with the draft. */
export class Challenger implements Decisive {
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

  ipList(id: string): ReturnType<Decisive['ipList']> {
    return this.#compiled.live.ipList(id)
  }

  listsOf(accountId: string | undefined): ReturnType<Decisive['listsOf']> {
    return this.#compiled.live.listsOf(accountId)
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

/** The compiled parts of a draft by challenger and id: a draft never changes, so the version is that of the present part. */
interface DraftParts {
  readonly endpoints: Parts<Drafted>
  readonly ipPolicies: Parts<IpPolicy>
}

/** Those of all accounts; an account may have some whose last records are still processed. */
export class Challengers {
  readonly #byAccount: ReadonlyMap<string, readonly Challenger[]>
  readonly parts: DraftParts | undefined

  constructor(byAccount: ReadonlyMap<string, readonly Challenger[]>, parts?: DraftParts) {
    this.#byAccount = byAccount
    this.parts = parts
  }

  /** The one that a record of the account is compared with. */
  find(accountId: string, storedAtMs: number): Challenger | undefined {
    if (this.#byAccount.size === 0) return undefined
    return this.#byAccount.get(accountId)?.find((challenger) => challenger.covers(storedAtMs))
  }

  /** The time at which the first drafted or present rule of a drafted policy expires. */
  get expiresMs(): number {
    let expiresMs = Number.POSITIVE_INFINITY
    for (const policy of this.parts?.ipPolicies.values.values() ?? [])
      expiresMs = Math.min(expiresMs, policy.expiresMs)
    return expiresMs
  }
}

/** For a process that compares nothing. */
export const noChallengers = new Challengers(new Map())

/** Compiles the challengers of a configuration over the policy set that was built from it; reuses parts of `previous`. */
export async function buildChallengers(
  source: ConfigurationSource,
  live: PolicySet,
  previous: Challengers | undefined,
  slices: Slices,
  nowMs: number,
): Promise<Challengers> {
  const rows = [...source.rowsOf('challenger')].filter((row) => isEvaluated(row, nowMs))
  if (rows.length === 0) return noChallengers
  const build = new DraftBuild(live, previous?.parts, slices, nowMs)
  const byAccount = new Map<string, Challenger[]>()
  const present = await presentRows(source, rows, slices)
  for (const row of rows) {
    const compiled = await build.compiled(row, present(row.account_id), source)
    getOrMake(byAccount, row.account_id, () => []).push(new Challenger(row, compiled))
  }
  return new Challengers(byAccount, build.complete())
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

/** Compiles drafts in slices. */
class DraftBuild {
  readonly #live: PolicySet
  readonly #slices: Slices
  readonly #nowMs: number
  readonly #previous: DraftParts | undefined
  readonly #parts: DraftParts

  constructor(live: PolicySet, previous: DraftParts | undefined, slices: Slices, nowMs: number) {
    this.#live = live
    this.#slices = slices
    this.#nowMs = nowMs
    this.#previous = previous
    this.#parts = {
      endpoints: new Parts(previous?.endpoints),
      ipPolicies: new Parts(previous?.ipPolicies),
    }
  }

  complete(): DraftParts {
    this.#parts.endpoints.complete()
    this.#parts.ipPolicies.complete()
    return this.#parts
  }

  async compiled(
    row: ChallengerRow,
    present: PresentRows,
    source: Pick<ConfigurationSource, 'rules'>,
  ): Promise<Compiled> {
    const { draft } = row
    const endpoints = new Map<string, Drafted>()
    for (const entry of [...draft.edges, ...draft.routes]) {
      if (this.#slices.isDue()) await this.#slices.pause()
      const drafted = draftedEndpoint(entry, present)
      if (drafted !== undefined) endpoints.set(drafted.id, this.#endpoint(row, drafted))
    }
    const ipPolicies = new Map<string, IpPolicy>()
    for (const entry of draft.ip_policies) {
      const rules = present.get('ip_policy', entry.id) && source.rules(entry.id)
      if (rules === undefined) continue
      ipPolicies.set(entry.id, await this.#ipPolicy(row, entry, rules.version, rules.rules as Iterable<Row>))
    }
    const [restriction] = draft.ip_restrictions.map((entry) => restrictionRow(row, entry, present))
    return { live: this.#live, endpoints, ipPolicies, restriction: restriction as Restriction | undefined }
  }

  #endpoint({ id }: ChallengerRow, drafted: Row): Drafted {
    const { endpoints } = this.#parts
    const key = `${id} ${drafted.id}`
    return (
      endpoints.reuse(key, drafted.version) ??
      endpoints.add(key, drafted.version, compileEndpoint(drafted, this.#live.contents.lists))
    )
  }

  async #ipPolicy(
    row: ChallengerRow,
    entry: ChallengerRow['draft']['ip_policies'][number],
    version: number,
    rules: Iterable<Row>,
  ): Promise<IpPolicy> {
    const { ipPolicies } = this.#parts
    const key = `${row.id} ${entry.id}`
    const isLasting = (this.#previous?.ipPolicies.get(key)?.expiresMs ?? 0) > this.#nowMs
    const kept = isLasting ? ipPolicies.reuse(key, version) : undefined
    if (kept !== undefined) return kept
    const drafted = rulesWithDraft(row, entry, rules) as Iterable<unknown> as Iterable<IpRule>
    return ipPolicies.add(key, version, await this.#slices.run(buildIpPolicy(entry.id, drafted, this.#nowMs)))
  }
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
