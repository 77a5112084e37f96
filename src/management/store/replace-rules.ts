/**
 * Replaces all rules of an IP policy: stages the new rules, and commits a small change that makes them count.
 *
 * The rules are first written to the bucket as a new generation that no reader uses. `store/change/rule-chunks.ts` says why
 * there is a second way. A staging is made for one version of its account, some way ahead. Once the account has passed that
 * version, the staging can no longer be committed, and rules left by a dead process may be deleted.
 */
import { eachOf } from '../../ground/core/concurrency.js'
import { unavailable } from '../../ground/core/errors.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import { Slices } from '../../ground/core/slices.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { Row } from '../../words/resource/kind/define.js'
import { newStagedGeneration, ruleKind, rulesKey, versionOfStaged } from '../../words/view/keys.js'
import type { IdleGeneration } from '../../words/view/view-state.js'
import { type Change, newChange, type Principal, type RulesReplacement } from './change/change.js'
import type { ChangeRows } from './change/change-rows.js'
import { type FinishedHead, versionGap } from './change/heads.js'
import { beforeCommit, unknown, withOutcomeOf } from './change/outcome.js'
import { countRules, countsWith, type RulesPlan } from './change/plan.js'
import { chunksOf } from './change/rule-chunks.js'
import { type AccountParts, moveBeyond, type SettledAccount } from './change/settled-account.js'
import type { Projection } from './projection.js'
import type { VerifyWrite } from './verify.js'

interface RuleReplacerParts extends AccountParts {
  readonly config: Bucket
  readonly projection: Projection
  readonly rows: ChangeRows
  readonly settled: (accountId: string) => Promise<SettledAccount>
  readonly verify: VerifyWrite
}

/** Rules that are written to the bucket and do not count yet. */
interface Staging {
  readonly policyId: string
  /** The generation whose rules are to be replaced. */
  readonly from: string
  readonly to: string
  readonly version: number
  /** The rules of each chunk in the bucket. */
  readonly chunks: (readonly Row[])[]
  /** The highest revision of a written chunk; 0 before the first. */
  revision: number
}

/** A replacement that is under way. */
interface Work<T> {
  readonly accountId: string
  readonly principal: Principal
  readonly policyId: string
  readonly plan: RulesPlan<T>
  readonly signal: AbortSignal | undefined
  /** The outcome of the last try. */
  staging: Staging | undefined
}

interface Prepared<T> {
  readonly result: T
  /** Undefined if the rules are as they should be. */
  readonly commit?: {
    readonly known: FinishedHead
    readonly version: number
    readonly replacement: RulesReplacement
    readonly change: Change
  }
}

export class RuleReplacer {
  readonly #parts: RuleReplacerParts

  constructor(parts: RuleReplacerParts) {
    this.#parts = parts
  }

  /**
   * If another writer changes rules during the staging, the commit fails and the changed chunks are staged again; all
   * chunks, if the generation to replace has changed. A `WeirError` if NATS lost the staged rules before they counted.
   * `signal`: ends the work before the commit; what was staged is deleted.
   */
  replace<T>(
    accountId: string,
    principal: Principal,
    policyId: string,
    plan: RulesPlan<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return withOutcomeOf(() =>
      this.#replace({ accountId, principal, policyId, plan, signal, staging: undefined }),
    )
  }

  async #replace<T>(work: Work<T>): Promise<T> {
    const { accountId } = work
    const { heads, view } = this.#parts
    for (;;) {
      const prepared = await this.#prepare(work)
      const { result, commit } = prepared
      if (commit === undefined) return result
      const { known, version, replacement, change } = commit
      const committed = await heads.commit(accountId, known, [change], version)
      if (committed === undefined) continue
      await heads.carryOut(accountId, committed, () => view.reached(accountId, version))
      if (await this.#tookEffect(accountId, version, replacement)) return result
      throw unavailable('NATS lost the new rules before they took effect; nothing was changed.')
    }
  }

  /** Stages the rules, and plans the change that makes them count. */
  async #prepare<T>(work: Work<T>): Promise<Prepared<T>> {
    const { accountId, principal, policyId, plan, signal } = work
    signal?.throwIfAborted()
    const { known, state } = await this.#parts.settled(accountId)
    const from = state.generationOf(policyId)
    let { staging } = work
    if (staging?.from !== from || staging.version <= known.version) {
      const version = known.version + versionGap
      staging = { policyId, from, to: newStagedGeneration(version), version, chunks: [], revision: 0 }
      work.staging = staging
    }
    const { version } = staging
    const { revision } = state
    const { rules, isChange, result } = await plan(state, version)
    if (!isChange) return { result }
    const changes = { puts: [], removals: [], rules: { policyId, rules } }
    await this.#parts.verify({ accountId, principal, base: state, state, ...changes })
    const staged = staging
    const replacement = await beforeCommit(() => this.#stage(accountId, staged, rules, revision, signal))
    if (signal?.aborted) await this.drop({ accountId, policyId, generation: staging.to })
    signal?.throwIfAborted()
    const change = newChange({
      principal,
      replacements: [replacement],
      baseRevision: replacement.revision,
      counts: countsWith(state, accountId, ruleKind, rules.length - countRules(state, policyId)),
      stored: version,
    })
    return { result, commit: { known, version, replacement, change } }
  }

  /**
   * Writes the chunks that the bucket does not have yet; on a second try, only those that changed meanwhile. Resolves
   * with the replacement that makes these rules count. `seen`: revision of the state the rules were planned with. Ends
   * early, and without an error, once the signal is aborted.
   */
  async #stage(
    accountId: string,
    staging: Staging,
    rules: readonly Row[],
    seen: number,
    signal: AbortSignal | undefined,
  ): Promise<RulesReplacement> {
    const { policyId, from, to } = staging
    const chunks = [...chunksOf(rules, accountId)].entries()
    const slices = new Slices()
    await eachOf(chunks, keysAtOnceMax, async ([index, chunk]) => {
      // Not an error, which would leave other chunks under way.
      if (signal?.aborted || isSame(staging.chunks[index], chunk.rules)) return
      // Answers that arrive meanwhile would let the next chunks be written in the same turn.
      if (slices.isDue()) await slices.pause()
      const revision = await this.#parts.config.put(rulesKey(policyId, to, index), JSON.stringify(chunk))
      staging.revision = Math.max(staging.revision, revision)
      staging.chunks[index] = chunk.rules
    })
    return { policyId, from, to, rules: rules.length, revision: Math.max(seen, staging.revision) }
  }

  /** Do the new rules count, or did they count until a later change? */
  async #tookEffect(
    accountId: string,
    version: number,
    { policyId, to }: RulesReplacement,
  ): Promise<boolean> {
    const { view, rows } = this.#parts
    if (view.state.generationOf(policyId) === to) return true
    try {
      return await rows.hasRules(accountId, version, policyId)
    } catch (error) {
      throw unknown('NATS lost the new rules, and ClickHouse does not answer', error)
    }
  }

  /** Deletes staged rules, once it is certain that they were not committed and never will be. */
  async drop({ accountId, policyId, generation }: IdleGeneration): Promise<void> {
    const version = versionOfStaged(generation)
    if (version === undefined) return
    const state = await moveBeyond(this.#parts, accountId, version)
    if (state.generationOf(policyId) === generation) return
    await this.#parts.projection.removeGeneration(policyId, generation)
  }
}

const isSame = (held: readonly Row[] | undefined, rules: readonly Row[]): boolean =>
  held?.length === rules.length && held.every((rule, index) => rule === rules[index])
