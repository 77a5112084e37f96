/**
 * What only one resource of the whole deployment may hold, such as a hostport.
 *
 * A claim is a key that is created, never overwritten, before the change that needs it is committed. A writer that
 * dies in between leaves a claim behind that nobody holds; the next one who wants it makes sure that the dead
 * writer can't commit any more, by moving its account's head on, and takes the claim over.
 */
import type { Bucket } from '../nats/bucket.js'
import { claimKey } from '../view/keys.js'

export interface ClaimHolder {
  readonly account_id: string
  /** The resource. */
  readonly id: string
  /** The version of the account's change that was to follow. */
  readonly version: number
}

export const decodeClaim = (value: Uint8Array): ClaimHolder =>
  JSON.parse(Buffer.from(value).toString()) as ClaimHolder

export interface ClaimJudge {
  /** Is the holder's resource there and does it hold the claim? Resolves when that is certain. */
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

  /** True when the claim is the holder's now; false when somebody else holds it. */
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

  /** Somebody else who acquired the claim, whether or not the change that was to follow was committed. */
  async rival(claim: string, holder: ClaimHolder): Promise<ClaimHolder | undefined> {
    const current = await this.#bucket.get(claimKey(claim))
    if (current?.value === undefined) return undefined
    const other = decodeClaim(current.value)
    return isSame(other, holder) ? undefined : other
  }

  /**
   * Gives the claim up, where the resource still is its holder. One that it took again with a later change stays:
   * whoever carries an old change out late must not take it away.
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
