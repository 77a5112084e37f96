/**
 * Writes keys of a change into a bucket.
 *
 * Every write names the revision it replaces. A writer that was overtaken (it stalled, somebody else finished its
 * change, and another change followed) therefore fails, looks whether its change is done, and leaves things alone.
 */
import type { Bucket, BucketEntry } from '../nats/bucket.js'

/** What a key is to hold, given what it holds; undefined where that is right already. */
export type Next = (current: Uint8Array | undefined) => string | undefined

/** Is the change that is being written known to be in the bucket as a whole? */
export type IsDone = () => Promise<boolean>

export class BucketWriter {
  readonly #bucket: Bucket
  readonly isDone: IsDone

  constructor(bucket: Bucket, isDone: IsDone) {
    this.#bucket = bucket
    this.isDone = isDone
  }

  /**
   * Replaces what a key holds. `known`, where given, is what it held before the change was done. Else it is read, and
   * only then asked whether the change is done: what a later change writes, no try of this one can overwrite.
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

  /** Deletes a key. Ids are never used again, so that a late deletion harms nobody. */
  async remove(key: string, knownRevision = 0): Promise<void> {
    for (let revision = knownRevision; ; revision = 0) {
      if (revision > 0 && (await this.#bucket.remove(key, revision))) return
      const current = await this.#read(key)
      if (current?.value === undefined) return
      if (await this.#bucket.remove(key, current.revision)) return
    }
  }

  /** Undefined where there is nothing left to do. */
  async #read(key: string): Promise<BucketEntry | undefined> {
    const current = (await this.#bucket.get(key)) ?? { key, revision: 0, value: undefined }
    return (await this.isDone()) ? undefined : current
  }
}
