/** Replaces all rules of an IP policy: stages the new rules, and commits a small change that makes them count. */
import { now } from '../core/clock.js'
import { unavailable } from '../core/errors.js'
import { newId } from '../core/ids.js'
import type { Bucket } from '../nats/bucket.js'
import { ruleKind, versionOfStaged } from '../view/keys.js'
import type { View } from '../view/view.js'
import type { IdleGeneration } from '../view/view-state.js'
import { type Change, emptyChange, type Principal, type RulesReplacement } from './change.js'
import type { ChangeRows } from './change-rows.js'
import { type Commit, type FinishedHead, type Heads, versionGap } from './heads.js'
import { moveBeyond } from './move-beyond.js'
import { countRules, countsWith, type RulesPlan } from './plan.js'
import type { Projection } from './projection.js'
import { RuleStaging } from './rule-staging.js'
import type { SettledAccount } from './settled-account.js'

interface RuleReplacerParts {
  readonly config: Bucket
  readonly heads: Heads
  readonly view: View
  readonly projection: Projection
  readonly rows: ChangeRows
  readonly settled: (accountId: string) => Promise<SettledAccount>
  /** Carries out the committed change. */
  readonly finish: (
    accountId: string,
    known: FinishedHead,
    committed: Commit,
    change: Change,
  ) => Promise<void>
}

export class RuleReplacer {
  readonly #parts: RuleReplacerParts

  constructor(parts: RuleReplacerParts) {
    this.#parts = parts
  }

  /**
   * If another writer changes rules during the staging, the commit fails and the changed chunks are staged again; all
   * chunks, if the generation to replace has changed. A `WeirError` if NATS lost the staged rules before they counted.
   */
  async replace<T>(
    accountId: string,
    principal: Principal,
    policyId: string,
    plan: RulesPlan<T>,
  ): Promise<T> {
    const { config, heads, settled, finish, view } = this.#parts
    let staging: RuleStaging | undefined
    for (;;) {
      const { known, state } = await settled(accountId)
      const from = state.generationOf(policyId)
      if (staging?.from !== from || staging.version <= known.version) {
        staging = new RuleStaging(config, { accountId, policyId, from, version: known.version + versionGap })
      }
      const { version } = staging
      const { revision } = state
      const { rules, isChange, result } = await plan(state, version)
      if (!isChange) return result
      const change: Change = {
        ...emptyChange,
        id: newId('chg_'),
        at: now(),
        principal,
        replacements: [await staging.hold(rules, revision)],
        counts: countsWith(state, accountId, ruleKind, rules.length - countRules(state, policyId)),
        stored: version,
      }
      const committed = await heads.commit(accountId, known, version, change)
      if (committed === undefined) continue
      await finish(accountId, known, committed, change)
      await view.reached(accountId, version)
      if (!(await this.#tookEffect(accountId, version, change.replacements[0]!))) {
        throw unavailable('NATS lost the new rules before they took effect; nothing was changed.')
      }
      return result
    }
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
      throw unavailable(
        'It is unknown whether the new rules took effect, because ClickHouse does not answer. Read the rules before trying again.',
        error,
      )
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
