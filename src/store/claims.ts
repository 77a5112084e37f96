/**
 * Claims: names that only one resource of the deployment may hold, such as a hostport.
 *
 * A claim is a key that is created, never overwritten, before the change that needs it is committed. A writer that
 * dies in between leaves a claim without a holder. The next writer that wants it raises the version of the dead
 * writer's account, so that the old change can no longer be committed, and takes the claim over.
 */
import { jsonOf } from '../core/bytes.js'
import { unavailable } from '../core/errors.js'
import type { Bucket } from '../nats/bucket.js'
import { claimKey } from '../view/keys.js'
import { type Claim, type Draft, holds } from './plan.js'
import { type AccountParts, caughtUp, commitNothing } from './settled-account.js'

export interface ClaimHolder {
  readonly account_id: string
  /** The resource. */
  readonly id: string
  /** Version of the account's change that the claim was taken for. */
  readonly version: number
}

export const decodeClaim = (value: Uint8Array): ClaimHolder => jsonOf<ClaimHolder>(value)

const isSame = (one: ClaimHolder, other: ClaimHolder): boolean =>
  one.account_id === other.account_id && one.id === other.id

interface ClaimsParts extends AccountParts {
  readonly bucket: Bucket
}

export class Claims {
  readonly #parts: ClaimsParts

  constructor(parts: ClaimsParts) {
    this.#parts = parts
  }

  /** Takes the claims of a draft; false if the plan must run again to claim another name. */
  async acquire<T>(accountId: string, version: number, draft: Draft<T>): Promise<boolean> {
    const taken: Claim[] = []
    for (const claim of draft.claims ?? []) {
      if (await this.#take(claim.claim, { account_id: accountId, id: claim.id, version })) {
        taken.push(claim)
        continue
      }
      for (const { claim: text, id } of taken) {
        if (!holds(this.#parts.view.state, text, id)) await this.release(accountId, version, id, text)
      }
      return drawnAgain(claim)
    }
    return true
  }

  /** Like `acquire`, but takes nothing. */
  async rehearse<T>(accountId: string, version: number, draft: Draft<T>): Promise<boolean> {
    for (const claim of draft.claims ?? []) {
      const { value } = (await this.#parts.bucket.get(claimKey(claim.claim))) ?? {}
      if (value === undefined) continue
      // It may have been taken for a change that was not committed.
      const rival = decodeClaim(value)
      if (isSame(rival, { account_id: accountId, id: claim.id, version })) continue
      if ((await this.#look(claim.claim, rival)).isHeld) return drawnAgain(claim)
    }
    return true
  }

  /** True if the claim is now the holder's; false if another resource holds it. */
  async #take(claim: string, holder: ClaimHolder): Promise<boolean> {
    const { bucket } = this.#parts
    const key = claimKey(claim)
    // Almost every name is free.
    if ((await bucket.replace(key, JSON.stringify(holder), 0)) !== undefined) return true
    for (;;) {
      const { value, revision = 0 } = (await bucket.get(key)) ?? {}
      if (value !== undefined) {
        const other = decodeClaim(value)
        if (!isSame(other, holder) && (await this.#isHeld(claim, other))) return false
      }
      if ((await bucket.replace(key, JSON.stringify(holder), revision)) !== undefined) return true
    }
  }

  /**
   * Deletes a claim that the resource held until the change of this version. A claim that it took again with a later
   * change stays: a process that carries out an old change late must not remove it.
   */
  async release(accountId: string, version: number, id: string, claim: string): Promise<void> {
    const { bucket } = this.#parts
    const key = claimKey(claim)
    for (;;) {
      const current = await bucket.get(key)
      if (current?.value === undefined) return
      const there = decodeClaim(current.value)
      if (!isSame(there, { account_id: accountId, id, version }) || there.version > version) return
      if (await bucket.remove(key, current.revision)) return
    }
  }

  /** Does the holder hold the claim? If not, makes sure that the holder's pending change can't be committed. */
  async #isHeld(claim: string, holder: ClaimHolder): Promise<boolean> {
    for (;;) {
      const { isHeld, known } = await this.#look(claim, holder)
      if (isHeld) return true
      if (known.version >= holder.version) return false
      await commitNothing(this.#parts, holder.account_id, known, holder.version)
    }
  }

  /** Does the holder hold the claim, by the changes committed so far? */
  async #look(claim: string, { account_id: accountId, id }: ClaimHolder) {
    if (this.#parts.view.withheld.has(accountId)) {
      throw unavailable(
        'It is not known yet whether this name is free: an account that may hold it is being brought up to date from ClickHouse. Try again in a few seconds.',
      )
    }
    const known = await caughtUp(this.#parts, accountId)
    return { isHeld: holds(this.#parts.view.state, claim, id), known }
  }
}

/** A random name is drawn again; otherwise throws the error that the name is taken. */
function drawnAgain(claim: Claim): false {
  if (claim.drawAgain?.()) return false
  throw claim.taken()
}
