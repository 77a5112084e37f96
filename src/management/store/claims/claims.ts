/**
 * Claims: names that only one resource of the deployment may hold, such as a hostport.
 *
 * A claim is a key that is created, never overwritten, before the change that needs it is committed. A writer that
 * dies in between leaves a claim without a holder. The next writer that wants it raises the version of the dead
 * writer's account, so that the old change can no longer be committed, and takes the claim over.
 */
import { monotonicMs, sleep } from '../../../ground/core/clock.js'
import { eachOf } from '../../../ground/core/concurrency.js'
import { unavailable } from '../../../ground/core/errors.js'
import { keysAtOnceMax } from '../../../ground/core/limits.js'
import { traced } from '../../../ground/core/telemetry/tracing.js'
import type { Bucket, BucketEntry } from '../../../ground/nats/bucket.js'
import { claimKey } from '../../../words/view/keys.js'
import { type Claim, claimsOf, holds } from '../change/plan.js'
import { type AccountParts, caughtUp, commitNothing } from '../change/settled-account.js'
import { type ClaimHolder, decodeClaim, isSame } from './claim-holder.js'
import { type AnnouncedClaim, NamesClaimed } from './names-claimed.js'

/** Two writers whose names overlap would refuse each other for ever: the later one gives the earlier one this time. */
const patienceMs = 1_000
const lookAgainMs = 50

interface ClaimsParts extends AccountParts {
  readonly bucket: Bucket
  /** The domain of addresses that Weir assigns: its names are no account's to keep. */
  readonly tcpDomain: string
}

export class Claims {
  readonly #parts: ClaimsParts
  readonly #names: NamesClaimed

  constructor(parts: ClaimsParts) {
    this.#parts = parts
    this.#names = new NamesClaimed(parts.bucket, parts.tcpDomain)
  }

  open(): Promise<void> {
    return this.#names.open()
  }

  close(): void {
    this.#names.close()
  }

  /** Takes the claims of a draft; false if the plan must run again to claim another name. */
  async acquire(accountId: string, version: number, claims: readonly Claim[]): Promise<boolean> {
    if (claims.length === 0) return true
    const attributes = { 'weir.claims': claims.length }
    return traced('claim', { kind: 'client', attributes }, () => this.#acquire(accountId, version, claims))
  }

  async #acquire(accountId: string, version: number, claims: readonly Claim[]): Promise<boolean> {
    const revisions = new Map<Claim, number>()
    const overlapped = new Set<Claim>()
    await eachOf(claims, keysAtOnceMax, async (claim) => {
      const held = await this.#take(claim.claim, { account_id: accountId, id: claim.id, version })
      if (held.rival === undefined) revisions.set(claim, held.revision)
    })
    const isTaken = revisions.size === claims.length
    // Only the later of two that overlap looks for the other, so all are taken by then.
    if (isTaken)
      await eachOf(revisions, keysAtOnceMax, async ([claim, revision]) => {
        if (await this.#isOverlapped(claim, accountId, revision)) overlapped.add(claim)
      })
    if (isTaken && overlapped.size === 0) return true
    for (const { claim, id } of revisions.keys())
      if (!holds(this.#parts.view.state, claim, id)) await this.release(accountId, version, id, claim)
    const rival = claims.find((claim) => !revisions.has(claim))
    if (rival !== undefined) return drawnAgain(rival)
    throw claims.find((claim) => overlapped.has(claim))!.overlaps()
  }

  /** Like `acquire`, but takes nothing. `released`: claims that will be free by then. */
  async rehearse(
    accountId: string,
    version: number,
    claims: readonly Claim[],
    released: ReadonlySet<string> = new Set(),
  ): Promise<boolean> {
    for (const claim of claims) {
      if (released.has(claim.claim)) continue
      const entry = await this.#parts.bucket.get(claimKey(claim.claim))
      // It may have been taken for a change that was not committed.
      const rival = this.#holderIn(claim.claim, entry)
      const isOther = rival !== undefined && !isSame(rival, { account_id: accountId, id: claim.id, version })
      if (isOther && (await this.#look(claim.claim, rival)).isHeld) return drawnAgain(claim)
      const names = this.#names.namesOf(claim.claim)
      if (names === undefined) continue
      for (const other of await this.#names.overlappingNow(names)) {
        const holder = this.#otherAccountIn(other, accountId)
        if (holder !== undefined && (await this.#look(other.claim, holder)).isHeld) throw claim.overlaps()
      }
    }
    return true
  }

  /**
   * Does another account hold a claim whose names overlap with these? If not, makes sure that no change that is pending
   * will. `revision`: of the entry that announces this claim.
   */
  async #isOverlapped({ claim }: Claim, accountId: string, revision: number): Promise<boolean> {
    const claimed = this.#names.namesOf(claim)
    if (claimed === undefined) return false
    for (const other of await this.#names.overlapping(claimed, revision)) {
      const holder = this.#otherAccountIn(other, accountId)
      if (holder === undefined) continue
      if (other.revision < revision) await this.#pendingEnds(other.claim, holder)
      if (await this.#isHeld(other.claim, holder)) return true
    }
    return false
  }

  #otherAccountIn({ claim, holder }: AnnouncedClaim, accountId: string): ClaimHolder | undefined {
    const known = holder ?? this.#holderInRows(claim)
    return known?.account_id === accountId ? undefined : known
  }

  /** Waits until the change that the claim was taken for is committed or can't be any more; only for some time. */
  async #pendingEnds(claim: string, holder: ClaimHolder): Promise<void> {
    const untilMs = monotonicMs() + patienceMs
    while (monotonicMs() < untilMs) {
      const { isHeld, known } = await this.#look(claim, holder)
      if (isHeld || known.version >= holder.version) return
      await sleep(lookAgainMs)
    }
  }

  /** The revision of its entry if the claim is now the holder's, else the other resource that holds it. */
  async #take(claim: string, holder: ClaimHolder): Promise<Taken> {
    const { bucket } = this.#parts
    const key = claimKey(claim)
    // Almost every name is free.
    const created = await bucket.replace(key, JSON.stringify(holder), 0)
    if (created !== undefined) return { revision: created }
    for (;;) {
      const entry = await bucket.get(key)
      const other = this.#holderIn(claim, entry)
      if (other !== undefined && !isSame(other, holder) && (await this.#isHeld(claim, other)))
        return { rival: other }
      const revision = await bucket.replace(key, JSON.stringify(holder), entry?.revision ?? 0)
      if (revision !== undefined) return { revision }
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

type Taken = { readonly rival: ClaimHolder } | { readonly rival?: undefined; readonly revision: number }

/** A random name is drawn again; otherwise throws the error that the name is taken. */
function drawnAgain(claim: Claim): false {
  if (claim.drawAgain?.()) return false
  throw claim.taken()
}
