/** The entries of all destinations that are behind, as the bucket has them now. */
import type { Bucket, BucketEntry, Closable } from '../nats/bucket.js'
import { BucketFollower } from '../nats/bucket-follower.js'
import { type BehindDestination, behindIn } from './behind.js'

export interface StoredBehind {
  readonly entry: BehindDestination
  readonly revision: number
}

export class BehindEntries implements Closable {
  readonly #follower: BucketFollower
  readonly #ended: (entry: BehindDestination) => void
  /** By destination. */
  readonly #stored = new Map<string, StoredBehind>()
  /** Resolves when the whole bucket was read. */
  readonly read: Promise<void>
  #isComplete = false

  /** `ended`: called with an entry that was removed, or replaced by one with another id. */
  constructor(bucket: Bucket, ended: (entry: BehindDestination) => void = () => {}) {
    this.#ended = ended
    let complete = (): void => {}
    this.read = new Promise((resolve) => {
      complete = resolve
    })
    this.#follower = new BucketFollower(bucket, {
      begin: () => {
        const read = new Set<string>()
        return {
          entry: (entry) => {
            read.add(entry.key)
            this.#adapt(entry)
          },
          // The bucket may be another one than that of the last pass.
          current: () => {
            for (const key of this.#stored.keys()) if (!read.has(key)) this.#end(key)
            this.#isComplete = true
            complete()
          },
        }
      },
    })
  }

  open(): Promise<void> {
    return this.#follower.open()
  }

  #adapt(stored: BucketEntry): void {
    const entry = behindIn(stored)
    if (entry?.id !== this.of(stored.key)?.entry.id) this.#end(stored.key)
    if (entry !== undefined) this.#stored.set(stored.key, { entry, revision: stored.revision })
  }

  #end(destination: string): void {
    const known = this.#stored.get(destination)
    this.#stored.delete(destination)
    if (known !== undefined) this.#ended(known.entry)
  }

  /** The whole bucket was read. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  get size(): number {
    return this.#stored.size
  }

  of(destination: string): StoredBehind | undefined {
    return this.#stored.get(destination)
  }

  all(): Iterable<StoredBehind> {
    return this.#stored.values()
  }

  close(): void {
    this.#follower.close()
  }
}
