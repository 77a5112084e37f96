/** The claims of a draft: taken before it is committed, or only checked for a rehearsal. */
import type { Bucket } from '../nats/bucket.js'
import type { View } from '../view/view.js'
import { type ClaimHolder, Claims } from './claims.js'
import type { Heads } from './heads.js'
import { commitNothing } from './move-beyond.js'
import { type Claim, type Draft, holds } from './plan.js'

interface DraftClaimsParts {
  readonly bucket: Bucket
  readonly view: View
  readonly heads: Heads
}

export class DraftClaims {
  readonly #parts: DraftClaimsParts
  readonly #claims: Claims

  constructor(parts: DraftClaimsParts) {
    this.#parts = parts
    this.#claims = new Claims(parts.bucket, {
      isHeld: (claim, holder) => this.#isHeld(claim, holder),
    })
  }

  /** True if every claim is held; false if the plan must run again to claim another name. */
  async acquire<T>(accountId: string, version: number, draft: Draft<T>): Promise<boolean> {
    const taken: Claim[] = []
    for (const claim of draft.claims ?? []) {
      if (await this.#claims.acquire(claim.claim, { account_id: accountId, id: claim.id, version })) {
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
      const rival = await this.#claims.rival(claim.claim, { account_id: accountId, id: claim.id, version })
      if (rival !== undefined && (await this.#look(claim.claim, rival)).isHeld) return drawnAgain(claim)
    }
    return true
  }

  /** Deletes a claim that the resource held until the change of this version. */
  release(accountId: string, version: number, id: string, claim: string): Promise<void> {
    return this.#claims.release(claim, { account_id: accountId, id, version })
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
    const { heads, view } = this.#parts
    const known = await heads.finished(accountId)
    await view.reached(accountId, known.seen)
    return { isHeld: holds(view.state, claim, id), known }
  }
}

/** A random name is drawn again; otherwise throws the error that the name is taken. */
function drawnAgain(claim: Claim): false {
  if (claim.drawAgain?.()) return false
  throw claim.taken()
}
