/**
 * Writes keys of a change into a bucket.
 *
 * Every write is a compare-and-set on the revision it replaces. A writer that was overtaken (it stalled, another
 * process finished its change, and a newer change followed) therefore fails, sees that its change is done, and stops.
 */
import type { Bucket, BucketEntry } from '../nats/bucket.js'

/** A key's new value, given its present one; undefined if that is right already. */
type Next = (current: Uint8Array | undefined) => string | undefined

/** Is the whole change known to be in the bucket? */
type IsDone = () => Promise<boolean>

export class BucketWriter {
  readonly #bucket: Bucket
  readonly isDone: IsDone

  constructor(bucket: Bucket, isDone: IsDone) {
    this.#bucket = bucket
    this.isDone = isDone
  }

  /**
   * Replaces the value of a key. `known`: its entry before the change was done. Without it the key is read first, and
   * only then is it checked whether the change is done, so no attempt can overwrite the value of a later change.
   */
  async write(key: string, next: Next, known?: BucketEntry): Promise<void> {
    for (let current = known; ; current = undefined) {
      const before = current ?? (await this.#read(key))
      if (before === undefined) return
      const value = next(before.value)
      if (value === undefined) return
      if ((await this.#bucket.replace(key, value, before.revision)) !== undefined) return
    }
  }

  /** Deletes a key. A late deletion is harmless because ids are never reused. */
  async remove(key: string, knownRevision = 0): Promise<void> {
    for (let revision = knownRevision; ; revision = 0) {
      if (revision > 0 && (await this.#bucket.remove(key, revision))) return
      const current = await this.#read(key)
      if (current?.value === undefined) return
      if (await this.#bucket.remove(key, current.revision)) return
    }
  }

  /** Undefined if there is nothing left to do. */
  async #read(key: string): Promise<BucketEntry | undefined> {
    const current = (await this.#bucket.get(key)) ?? { key, revision: 0, value: undefined }
    return (await this.isDone()) ? undefined : current
  }
}
