/**
 * Brings an account's part of the bucket up to date from ClickHouse.
 *
 * A repair is committed to the head like any other change, so nothing else changes the account meanwhile, and any
 * process that finds it there can carry it out, or continue it. Only what differs from the own view is written, many keys
 * at a time: rows that are missing or older in the bucket, all rules of a policy if some differ. Rows with a tombstone in
 * ClickHouse are deleted. Nothing is deleted because it was not found.
 */
import { eachOf } from '../../ground/core/concurrency.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import { damagedRuleKeys } from '../../words/view/entry-values.js'
import { generationKeys, policyKind, type RulesChunk, ruleKind, rulesKey } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import { newChange } from './change/change.js'
import { type Heads, versionGap } from './change/heads.js'
import { chunksOf } from './change/rule-chunks.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { type Basis, isCurrent, isInternal, type Projection, type Writers } from './projection.js'
import { isDamaged } from './reconcile.js'
import { sealedFields } from './sealed-values.js'
import { readStored, type StoredRow } from './stored-rows.js'

export interface RepairParts {
  readonly clickhouse: Clickhouse
  readonly resources: readonly AnyResource[]
  readonly heads: Heads
  readonly projection: Projection
  readonly repair: Repair
}

/** The two sides that a repair compares, both read after it was committed. */
interface Compared {
  /** The account's rows in ClickHouse. */
  readonly stored: readonly StoredRow[]
  readonly basis: Basis
}

/** Carries out a repair. */
type CarryOutRepair = (compared: Compared) => Promise<void>

/** Repairs that are committed and not carried out yet, and the rows of their accounts in ClickHouse. */
interface BegunRepairs {
  readonly carriers: ReadonlyMap<string, CarryOutRepair>
  readonly stored: ReadonlyMap<string, readonly StoredRow[]>
  /** From then on, others may carry out what is left of them. */
  readonly release: () => void
}

/** Each waits for one write of NATS after the other. After NATS was lost, there may be some ten thousand. */
const repairsAtOnceMax = 64
/** Few accounts are read by name; for many, all accounts are read. */
const namedAccountsMax = 100

/**
 * All repairs are committed before ClickHouse is read once for all of them, so the rows read are current. `behind`: the
 * highest known version of each account; `versionsBefore`: of a configuration that was emptied to be rebuilt.
 */
export async function beginRepairs(
  parts: RepairParts,
  behind: ReadonlyMap<string, number>,
  versionsBefore: ReadonlyMap<string, number> = new Map(),
): Promise<BegunRepairs> {
  const release = parts.heads.leftBehind.keepRepairs(behind.keys())
  try {
    const carriers = new Map<string, CarryOutRepair>()
    await eachOf(behind, repairsAtOnceMax, async ([accountId, floor]) => {
      const atLeast = Math.max(floor, versionsBefore.get(accountId) ?? 0)
      carriers.set(accountId, await commitRepair(parts, accountId, atLeast))
    })
    return { carriers, stored: await readRepaired(parts, [...carriers.keys()]), release }
  } catch (error) {
    release()
    throw error
  }
}

async function readRepaired(
  { clickhouse, resources }: RepairParts,
  accountIds: readonly string[],
): Promise<BegunRepairs['stored']> {
  if (accountIds.length === 0) return new Map()
  const named = accountIds.length <= namedAccountsMax ? accountIds : undefined
  const stored = await readStored(clickhouse, resources, named)
  return new Map(accountIds.map((id) => [id, stored.get(id) ?? []]))
}

export async function carryOutRepairs(
  { projection }: RepairParts,
  { carriers, stored, release }: BegunRepairs,
): Promise<void> {
  try {
    if (carriers.size === 0) return
    await projection.caughtUp()
    const basis = projection.basis()
    await eachOf(carriers, repairsAtOnceMax, ([accountId, carryOut]) =>
      carryOut({ stored: stored.get(accountId) ?? [], basis }),
    )
  } finally {
    release()
  }
}

/**
 * Commits a repair of an account, above every version known of it, or takes over one that was begun and is in the head.
 * Resolves with a function that carries it out.
 */
async function commitRepair(
  { heads, repair }: RepairParts,
  accountId: string,
  floor: number,
): Promise<CarryOutRepair> {
  for (;;) {
    const begun = await heads.repairIn(accountId)
    const isAbove = begun !== undefined && begun.version > floor
    const committed = isAbove ? begun : await commitNew(heads, accountId, floor)
    if (committed === undefined) continue
    const { version, revision } = committed
    return async (compared) => {
      if (revision === undefined) return
      await repair.apply(accountId, version, compared)
      await heads.done(accountId, committed, revision)
    }
  }
}

async function commitNew(heads: Heads, accountId: string, floor: number) {
  const known = await heads.finished(accountId, floor)
  const version = known.version >= floor ? known.version + 1 : floor + versionGap
  const change = newChange({ counts: {}, stored: 0, isRepair: true })
  return heads.commit(accountId, known, [change], version)
}

type ReadAccount = (accountId: string) => Promise<readonly StoredRow[]>

export class Repair {
  readonly #projection: Projection
  readonly #read: ReadAccount

  constructor(projection: Projection, read: ReadAccount) {
    this.#projection = projection
    this.#read = read
  }

  /** `compared`: read here if not given. */
  async apply(accountId: string, version: number, compared?: Compared): Promise<void> {
    const { stored, basis } = compared ?? (await this.#compared(accountId))
    const writers = this.#projection.writers(accountId, version, basis)
    // If the repair is not done by now, nothing of a later change was in what was read.
    if (await writers.config.isDone()) return
    const seen = basis.state
    const present = stored.filter(({ deleted }) => !deleted)
    const gone = stored.filter(({ deleted, kind }) => deleted && kind !== ruleKind)
    const isDifferent = ({ kind, row }: StoredRow): boolean =>
      sealedFields(kind).length > 0 ||
      isDamaged(seen, kind, row) ||
      !isCurrent(kind, seen.rows.get(kind)?.get(row.id), row)
    const others = present.filter(
      (each) => each.kind !== ruleKind && each.kind !== policyKind && isDifferent(each),
    )
    for (const some of [others.filter(isInternal), others.filter((each) => !isInternal(each))])
      await eachOf(some, keysAtOnceMax, ({ kind, row }) => this.#projection.putRow(writers, kind, row))
    await this.#putPolicies(writers, version, basis, present)
    const isThere = ({ kind, row }: StoredRow): boolean =>
      sealedFields(kind).length > 0 || seen.rows.get(kind)?.has(row.id) === true
    await eachOf(gone.filter(isThere), keysAtOnceMax, ({ kind, row }) =>
      this.#projection.removeRow(writers, kind, row.id),
    )
    const rulesOfGone = gone.flatMap(({ kind, row }) => (kind === policyKind ? seen.ruleKeys(row.id) : []))
    await this.#removeKeys(writers, rulesOfGone)
    const counts: Record<string, number> = {}
    for (const { kind } of present) counts[kind] = (counts[kind] ?? 0) + 1
    await this.#projection.putState(writers, accountId, { version, stored: highestOf(stored), counts })
  }

  async #compared(accountId: string): Promise<Compared> {
    const stored = await this.#read(accountId)
    await this.#projection.caughtUp()
    return { stored, basis: this.#projection.basis() }
  }

  /**
   * If rules of a policy differ, all of them are written as a new generation, which the policy's row then names, so the
   * rules are replaced completely or not at all. The generation is the repair's version, the same for every process that
   * carries it out: existing chunks were written by a process that was killed.
   */
  async #putPolicies(
    writers: Writers,
    version: number,
    { state }: Basis,
    present: readonly StoredRow[],
  ): Promise<void> {
    const generation = String(version)
    const rules = rulesByPolicy(present)
    const policies = present.flatMap(({ kind, row }) => (kind === policyKind ? [row] : []))
    const renewed = new Set(policies.filter(({ id }) => !hasRules(state, id, rules.get(id) ?? [])))
    const chunks = [...renewed].flatMap(({ id, account_id }) =>
      [...chunksOf(rules.get(id) ?? [], account_id)].map((value, chunk) => ({
        key: rulesKey(id, generation, chunk),
        value,
        isThere: state.generation(id, generation).has(chunk),
      })),
    )
    const stale = [...renewed].flatMap(({ id }) =>
      [...state.ruleKeys(id)].filter(([key]) => !key.startsWith(generationKeys(id, generation))),
    )
    const missing = chunks.filter(({ isThere }) => !isThere)
    await eachOf(missing, keysAtOnceMax, ({ key, value }) =>
      writers.config.write<RulesChunk>(key, (current) => (current === undefined ? value : undefined), {
        revision: state.revisionOf(key),
        value: undefined,
      }),
    )
    await eachOf(policies, keysAtOnceMax, async (policy) => {
      if (renewed.has(policy)) await this.#projection.putRow(writers, policyKind, policy, generation)
      else if (isDamaged(state, policyKind, policy))
        await this.#projection.putRow(writers, policyKind, policy, state.generationOf(policy.id))
      else if (!isCurrent(policyKind, state.rows.get(policyKind)?.get(policy.id), policy))
        await this.#projection.putRow(writers, policyKind, policy)
    })
    await this.#removeKeys(writers, stale)
  }

  /** Keys that were seen before the change is done no longer count; later ones may belong to the next change. */
  async #removeKeys(
    writers: Writers,
    keys: readonly (readonly [key: string, revision: number])[],
  ): Promise<void> {
    if (keys.length === 0 || (await writers.config.isDone())) return
    await eachOf(keys, keysAtOnceMax, ([key, revision]) => writers.config.remove(key, revision))
  }
}

/** Are exactly these rules the ones of the policy that count? */
function hasRules(state: ViewState, policyId: string, rules: readonly Row[]): boolean {
  if (damagedRuleKeys(state, policyId).length > 0) return false
  const versions = new Map(rules.map(({ id, version }) => [id, version]))
  let found = 0
  for (const { id, version } of state.rules(policyId)?.rules ?? []) {
    const wanted = versions.get(id)
    if (wanted === undefined || version < wanted) return false
    found += 1
  }
  return found === rules.length
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
