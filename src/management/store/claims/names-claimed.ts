/**
 * The claims of names in the deployment, as the bucket has them. A claim is announced before it is looked at whether it
 * overlaps with one of another account; so of two that are made at the same time, the later one finds the earlier one.
 */
import { after } from '../../../ground/core/clock.js'
import { unavailable } from '../../../ground/core/errors.js'
import type { Bucket, BucketEntry } from '../../../ground/nats/bucket.js'
import { BucketFollower, type Pass } from '../../../ground/nats/bucket-follower.js'
import { type ClaimedNames, namesOfClaim } from '../../../words/resource/fields/claimed-names.js'
import { NameTree } from '../../../words/resource/fields/name-tree.js'
import { claimOfKey } from '../../../words/view/keys.js'
import { type ClaimHolder, decodeClaim } from './claim-holder.js'

/** Longer than it takes a follower to notice that its watch went silent. */
const reachTimeoutMs = 30_000

export interface AnnouncedClaim {
  readonly claim: string
  readonly names: ClaimedNames
  readonly revision: number
  /** Undefined if the entry is damaged. */
  readonly holder: ClaimHolder | undefined
}

export class NamesClaimed {
  readonly #bucket: Bucket
  readonly #tcpDomain: string
  readonly #follower: BucketFollower
  #tree = new NameTree<AnnouncedClaim>()
  #revision = 0
  readonly #waiters = new Set<() => void>()

  constructor(bucket: Bucket, tcpDomain: string) {
    this.#bucket = bucket
    this.#tcpDomain = tcpDomain
    this.#follower = new BucketFollower(bucket, { begin: () => this.#begin() })
  }

  open(): Promise<void> {
    return this.#follower.open()
  }

  close(): void {
    this.#follower.close()
  }

  namesOf(claim: string): ClaimedNames | undefined {
    return namesOfClaim(claim, this.#tcpDomain)
  }

  /**
   * Claims that overlap with these names; also such whose holder was never committed or does not hold them any more.
   * `revision`: the bucket is read up to there, at least.
   */
  async overlapping(names: ClaimedNames, revision: number): Promise<AnnouncedClaim[]> {
    await this.#reached(revision)
    return [...this.#tree.overlapping(names)]
  }

  /** The same, with all that is announced by now. */
  async overlappingNow(names: ClaimedNames): Promise<AnnouncedClaim[]> {
    return this.overlapping(names, (await this.#bucket.position()).lastRevision)
  }

  async #reached(revision: number): Promise<void> {
    if (this.#revision >= revision) return
    await new Promise<void>((resolve, reject) => {
      const timer = after(reachTimeoutMs, () => {
        this.#waiters.delete(look)
        reject(
          unavailable(
            'It is not known yet whether this name is free: NATS is slow or away. Try again later.',
          ),
        )
      })
      const look = (): void => {
        if (this.#revision < revision) return
        timer.stop()
        this.#waiters.delete(look)
        resolve()
      }
      this.#waiters.add(look)
    })
  }

  #begin(): Pass {
    this.#tree = new NameTree()
    this.#revision = 0
    return { entry: (entry) => this.#take(entry), current: () => {} }
  }

  #take(entry: BucketEntry): void {
    const { key, revision, value } = entry
    const claim = claimOfKey(key)
    const names = this.namesOf(claim)
    if (names !== undefined && value === undefined) this.#tree.delete(names, claim)
    else if (names !== undefined) {
      const holder = this.#bucket.decoded(entry, decodeClaim)
      this.#tree.set(names, claim, { claim, names, revision, holder })
    }
    this.#revision = Math.max(this.#revision, revision)
    for (const look of [...this.#waiters]) look()
  }
}
