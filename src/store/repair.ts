/**
 * Brings an account's part of the bucket up to date from ClickHouse.
 *
 * A repair is committed to the head like any other change, so nothing else changes the account meanwhile, and any
 * process that finds it there can carry it out. Rows that are missing or older in the bucket are written; rows with a
 * tombstone in ClickHouse are deleted. Nothing is deleted because it was not found.
 */
import { eachOf } from '../core/concurrency.js'
import { keysAtOnceMax } from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import type { Row } from '../resource/define.js'
import { policyKind, type RulesChunk, ruleKind, rulesKey } from '../view/keys.js'
import { newChange } from './change.js'
import { type Heads, versionGap } from './heads.js'
import type { Basis, Projection, Writers } from './projection.js'
import { chunksOf } from './rule-chunks.js'
import type { StoredRow } from './stored-rows.js'

export interface RepairParts {
  readonly heads: Heads
  readonly projection: Projection
  readonly repair: Repair
}

/** Carries out a repair, given the account's rows, read from ClickHouse after the repair was committed. */
export type CarryOutRepair = (stored: readonly StoredRow[]) => Promise<void>

/** Commits a repair of an account, above every version known of it; resolves with a function that carries it out. */
export async function commitRepair(
  { heads, projection, repair }: RepairParts,
  accountId: string,
  floor: number,
): Promise<CarryOutRepair> {
  for (;;) {
    const known = await heads.finished(accountId)
    const version = known.version >= floor ? known.version + 1 : floor + versionGap
    const change = newChange({ counts: {}, stored: 0, isRepair: true })
    const basis = projection.basis()
    const committed = await heads.commit(accountId, known, [change], version)
    if (committed === undefined) continue
    const { revision } = committed
    return async (stored) => {
      if (revision === undefined) return
      await repair.apply(accountId, version, { stored, basis })
      await heads.done(accountId, committed, revision)
    }
  }
}

type ReadAccount = (accountId: string) => Promise<readonly StoredRow[]>

export class Repair {
  readonly #projection: Projection
  readonly #read: ReadAccount

  constructor(projection: Projection, read: ReadAccount) {
    this.#projection = projection
    this.#read = read
  }

  /** `stored`: the account's rows in ClickHouse, read after the repair was committed; read here if not given. */
  async apply(
    accountId: string,
    version: number,
    { stored, basis }: { readonly stored?: readonly StoredRow[]; readonly basis?: Basis } = {},
  ): Promise<void> {
    const writers = this.#projection.writers(accountId, version, basis)
    if (await writers.config.isDone()) return
    const all = stored ?? (await this.#read(accountId))
    const present = all.filter(({ deleted }) => !deleted)
    const policies = present.flatMap(({ kind, row }) => (kind === policyKind ? [row] : []))
    const others = present.filter(({ kind }) => kind !== ruleKind && kind !== policyKind)
    const gone = all.filter(({ deleted, kind }) => deleted && kind !== ruleKind)
    await eachOf(others, keysAtOnceMax, ({ kind, row }) => this.#projection.putRow(writers, kind, row))
    const rules = rulesByPolicy(present)
    for (const policy of policies) await this.#putPolicy(writers, version, policy, rules.get(policy.id) ?? [])
    await eachOf(gone, keysAtOnceMax, async ({ kind, row }) => {
      await this.#projection.removeRow(writers, kind, row.id)
      if (kind === policyKind) await this.#projection.removeRules(writers, row.id)
    })
    const counts: Record<string, number> = {}
    for (const { kind } of present) counts[kind] = (counts[kind] ?? 0) + 1
    await this.#projection.putState(writers, accountId, { version, stored: highestOf(all), counts })
  }

  /**
   * Writes all rules of a policy as a new generation and then names it in the policy's row, so the rules are replaced
   * completely or not at all. The generation is the repair's version, the same for every process that carries it out.
   */
  async #putPolicy(writers: Writers, version: number, policy: Row, rules: readonly Row[]): Promise<void> {
    const generation = String(version)
    const chunks = [...chunksOf(rules, policy.account_id)].entries()
    await eachOf(chunks, keysAtOnceMax, ([chunk, value]) =>
      writers.config.write<RulesChunk>(rulesKey(policy.id, generation, chunk), (current) =>
        current === undefined ? value : undefined,
      ),
    )
    await this.#projection.putRow(writers, policyKind, policy, generation)
    await this.#projection.removeRules(writers, policy.id, generation)
  }
}

function rulesByPolicy(stored: readonly StoredRow[]): Map<string, Row[]> {
  const rules = new Map<string, Row[]>()
  for (const { kind, row } of stored) {
    if (kind === ruleKind) getOrMake(rules, String(row['ip_policy_id']), () => []).push(row)
  }
  for (const ofPolicy of rules.values()) ofPolicy.sort((one, other) => (one.id < other.id ? -1 : 1))
  return rules
}

const highestOf = (stored: readonly StoredRow[]): number =>
  stored.reduce((highest, { row }) => Math.max(highest, row.version), 0)
