/**
 * Claims: names that only one resource of the deployment may hold, such as a hostport.
 *
 * A claim is a key that is created, never overwritten, before the change that needs it is committed. A writer that
 * dies in between leaves a claim without a holder. The next writer that wants it raises the version of the dead
 * writer's account, so that the old change can no longer be committed, and takes the claim over.
 */
import type { Bucket } from '../nats/bucket.js'
import { claimKey, jsonOf } from '../view/keys.js'

export interface ClaimHolder {
  readonly account_id: string
  /** The resource. */
  readonly id: string
  /** Version of the account's change that the claim was taken for. */
  readonly version: number
}

export const decodeClaim = (value: Uint8Array): ClaimHolder => jsonOf<ClaimHolder>(value)

interface ClaimJudge {
  /** Does the holder's resource exist and hold the claim? Resolves when that is certain. */
  isHeld(claim: string, holder: ClaimHolder): Promise<boolean>
}

const isSame = (one: ClaimHolder, other: ClaimHolder): boolean =>
  one.account_id === other.account_id && one.id === other.id

export class Claims {
  readonly #bucket: Bucket
  readonly #judge: ClaimJudge

  constructor(bucket: Bucket, judge: ClaimJudge) {
    this.#bucket = bucket
    this.#judge = judge
  }

  /** True if the claim is now the holder's; false if another resource holds it. */
  async acquire(claim: string, holder: ClaimHolder): Promise<boolean> {
    const key = claimKey(claim)
    for (;;) {
      const current = await this.#bucket.get(key)
      if (current?.value !== undefined) {
        const other = decodeClaim(current.value)
        if (!isSame(other, holder) && (await this.#judge.isHeld(claim, other))) return false
      }
      const revision = current?.revision ?? 0
      if ((await this.#bucket.replace(key, JSON.stringify(holder), revision)) !== undefined) return true
    }
  }

  /** Another resource that acquired the claim, whether or not its change was committed. */
  async rival(claim: string, holder: ClaimHolder): Promise<ClaimHolder | undefined> {
    const current = await this.#bucket.get(claimKey(claim))
    if (current?.value === undefined) return undefined
    const other = decodeClaim(current.value)
    return isSame(other, holder) ? undefined : other
  }

  /**
   * Deletes the claim if the resource still holds it. A claim that it took again with a later change stays: a process
   * that carries out an old change late must not remove it.
   */
  async release(claim: string, holder: ClaimHolder): Promise<void> {
    const key = claimKey(claim)
    for (;;) {
      const current = await this.#bucket.get(key)
      if (current?.value === undefined) return
      const there = decodeClaim(current.value)
      if (!isSame(there, holder) || there.version > holder.version) return
      if (await this.#bucket.remove(key, current.revision)) return
    }
  }
}
