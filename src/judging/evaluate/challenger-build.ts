/** Compiles the drafts of challengers in slices, over the policy set that was built from the same configuration. */
import { getOrMake } from '../../ground/core/maps.js'
import type { Slices } from '../../ground/core/slices.js'
import { isEvaluated } from '../../words/resource/challenger.js'
import { kindOfEdge } from '../../words/resource/challenger-draft.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import {
  Challenger,
  type ChallengerRow,
  Challengers,
  type CompiledDraft,
  type Drafted,
  type DraftParts,
  noChallengers,
} from './challenger.js'
import { draftedEndpoint, type PresentRows, restrictionRow, rulesWithDraft } from './drafted-rows.js'
import { compileRoute, compileTcpEdge, HttpsEdge, type SharedLists } from './edges.js'
import { buildIpPolicy, type IpPolicy } from './ip-policy.js'
import type { Restriction } from './ip-restriction.js'
import { Parts } from './parts.js'
import type { PolicySet } from './policy-set.js'
import type { ConfigurationSource, IpRule } from './policy-source.js'

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

/** One challenger, whether it is evaluated or not. */
export async function buildChallenger(
  source: ConfigurationSource,
  live: PolicySet,
  row: ChallengerRow,
  slices: Slices,
  nowMs: number,
): Promise<Challenger> {
  const present = await presentRows(source, [row], slices)
  const build = new DraftBuild(live, undefined, slices, nowMs)
  return new Challenger(row, await build.compiled(row, present(row.account_id), source))
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
  ): Promise<CompiledDraft> {
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
