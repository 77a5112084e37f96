/**
 * Rules that are to replace all those an IP policy has. They are written to the bucket first, as a generation of their
 * own that nobody reads; then a small change says that this generation counts.
 *
 * A staging is made for one version of its account, some way ahead: when the account is beyond it, the staging can't
 * be committed any more, and what a dead process left behind may be taken out.
 */
import { eachOf } from '../core/concurrency.js'
import { keysAtOnceMax } from '../core/limits.js'
import type { Bucket } from '../nats/bucket.js'
import type { Row } from '../resource/define.js'
import { newStagedGeneration, rulesKey } from '../view/keys.js'
import type { RulesReplacement } from './change.js'
import { chunksOf } from './rule-chunks.js'

export interface Staged {
  readonly accountId: string
  readonly policyId: string
  /** The generation whose rules are to be replaced. */
  readonly from: string
  readonly version: number
}

export class RuleStaging {
  readonly #bucket: Bucket
  readonly #staged: Staged
  readonly #generation: string
  /** What each chunk in the bucket holds. */
  readonly #chunks: (readonly Row[])[] = []
  #revision = 0

  constructor(bucket: Bucket, staged: Staged) {
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
   * Writes what the bucket does not hold yet: the second time, the few chunks of rules that others changed meanwhile.
   * Resolves with the change that makes these rules count. `seen`: the revision of the state they were chosen in.
   */
  async hold(rules: readonly Row[], seen: number): Promise<RulesReplacement> {
    const { accountId, policyId, from } = this.#staged
    const chunks = [...chunksOf(rules, accountId)].entries()
    await eachOf(chunks, keysAtOnceMax, async ([at, chunk]) => {
      if (isSame(this.#chunks[at], chunk.rules)) return
      const key = rulesKey(policyId, this.#generation, at)
      const revision = await this.#bucket.put(key, JSON.stringify(chunk))
      this.#revision = Math.max(this.#revision, revision)
      this.#chunks[at] = chunk.rules
    })
    const revision = Math.max(seen, this.#revision)
    return { policyId, from, to: this.#generation, rules: rules.length, revision }
  }
}

const isSame = (held: readonly Row[] | undefined, rules: readonly Row[]): boolean =>
  held?.length === rules.length && held.every((rule, at) => rule === rules[at])
