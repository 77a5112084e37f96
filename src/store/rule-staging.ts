/**
 * Rules that will replace all rules of an IP policy. They are first written to the bucket as a new generation that no
 * reader uses; then a small change makes this generation count. `rule-chunks.ts` says why there is a second way.
 *
 * A staging is made for one version of its account, some way ahead. Once the account has passed that version, the
 * staging can no longer be committed, and rules left by a dead process may be deleted.
 */
import { eachOf } from '../core/concurrency.js'
import { keysAtOnceMax } from '../core/limits.js'
import type { Bucket } from '../nats/bucket.js'
import type { Row } from '../resource/define.js'
import { newStagedGeneration, rulesKey } from '../view/keys.js'
import type { RulesReplacement } from './change.js'
import { chunksOf } from './rule-chunks.js'

interface StagedReplacement {
  readonly accountId: string
  readonly policyId: string
  /** The generation whose rules are to be replaced. */
  readonly from: string
  readonly version: number
}

export class RuleStaging {
  readonly #bucket: Bucket
  readonly #staged: StagedReplacement
  readonly #generation: string
  /** The rules of each chunk in the bucket. */
  readonly #chunks: (readonly Row[])[] = []
  #revision = 0

  constructor(bucket: Bucket, staged: StagedReplacement) {
    this.#bucket = bucket
    this.#staged = staged
    this.#generation = newStagedGeneration(staged.version)
  }

  get from(): string {
    return this.#staged.from
  }

  get version(): number {
    return this.#staged.version
  }

  /**
   * Writes the chunks that the bucket does not have yet; on a second try, only those that changed meanwhile. Resolves
   * with the replacement that makes these rules count. `seen`: revision of the state the rules were planned with.
   */
  async hold(rules: readonly Row[], seen: number): Promise<RulesReplacement> {
    const { accountId, policyId, from } = this.#staged
    const chunks = [...chunksOf(rules, accountId)].entries()
    await eachOf(chunks, keysAtOnceMax, async ([index, chunk]) => {
      if (isSame(this.#chunks[index], chunk.rules)) return
      const key = rulesKey(policyId, this.#generation, index)
      const revision = await this.#bucket.put(key, JSON.stringify(chunk))
      this.#revision = Math.max(this.#revision, revision)
      this.#chunks[index] = chunk.rules
    })
    const revision = Math.max(seen, this.#revision)
    return { policyId, from, to: this.#generation, rules: rules.length, revision }
  }
}

const isSame = (held: readonly Row[] | undefined, rules: readonly Row[]): boolean =>
  held?.length === rules.length && held.every((rule, index) => rule === rules[index])
