/**
 * Claims: names that only one resource of the deployment may hold, such as a hostport.
 *
 * A claim is a key that is created, never overwritten, before the change that needs it is committed. A writer that
 * dies in between leaves a claim without a holder. The next writer that wants it raises the version of the dead
 * writer's account, so that the old change can no longer be committed, and takes the claim over.
 */
import { jsonOf } from '../core/bytes.js'
import { unavailable } from '../core/errors.js'
import { isObject } from '../core/json-object.js'
import type { Bucket, BucketEntry } from '../nats/bucket.js'
import { claimKey } from '../view/keys.js'
import { type Claim, claimsOf, type Draft, holds } from './plan.js'
import { type AccountParts, caughtUp, commitNothing } from './settled-account.js'

export interface ClaimHolder {
  readonly account_id: string
  /** The resource. */
  readonly id: string
  /** Version of the account's change that the claim was taken for. */
  readonly version: number
}

/** Throws if the value is damaged. */
export function decodeClaim(value: Uint8Array): ClaimHolder {
  const holder = jsonOf<ClaimHolder>(value)
  const isWhole =
    isObject(holder) &&
    [holder.account_id, holder.id].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(holder.version)
  if (isWhole) return holder
  throw new Error('The value names no holder of a claim.')
}

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
      const entry = await this.#parts.bucket.get(claimKey(claim.claim))
      // It may have been taken for a change that was not committed.
      const rival = this.#holderIn(claim.claim, entry)
      if (rival === undefined) continue
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
      const entry = await bucket.get(key)
      const { revision = 0 } = entry ?? {}
      const other = this.#holderIn(claim, entry)
      if (other !== undefined && !isSame(other, holder) && (await this.#isHeld(claim, other))) return false
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
      const there = bucket.decoded(current, decodeClaim)
      if (current === undefined || there === undefined) return
      if (!isSame(there, { account_id: accountId, id, version }) || there.version > version) return
      if (await bucket.remove(key, current.revision)) return
    }
  }

  /** Whose claim it is. If the entry is damaged, the rows of the view know. */
  #holderIn(claim: string, entry: BucketEntry | undefined): ClaimHolder | undefined {
    if (entry?.value === undefined) return undefined
    return this.#parts.bucket.decoded(entry, decodeClaim) ?? this.#holderInRows(claim)
  }

  #holderInRows(claim: string): ClaimHolder | undefined {
    for (const [kind, rows] of this.#parts.view.state.rows)
      for (const row of rows.values())
        if (claimsOf(kind, row).includes(claim))
          return { account_id: row.account_id, id: row.id, version: row.version }
    return undefined
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
