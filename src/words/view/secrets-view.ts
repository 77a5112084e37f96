/** The sealed values of rows in memory, for delivery and the API. */
import { deferred } from '../../ground/core/concurrency.js'
import type { Bucket, BucketEntry } from '../../ground/nats/bucket.js'
import { BucketFollower, type Pass } from '../../ground/nats/bucket-follower.js'
import { secretsIn } from './entry-values.js'
import type { SecretsEntry } from './keys.js'

export class SecretsView {
  readonly #follower: BucketFollower
  readonly #listeners = new Set<() => void>()
  #entries = new Map<string, SecretsEntry>()
  readonly #whenRead = deferred()

  constructor(bucket: Bucket) {
    this.#follower = new BucketFollower(bucket, { begin: () => this.#begin() })
  }

  /** Resolves when the whole bucket has been read. */
  async open(): Promise<void> {
    await this.#follower.open()
    await this.#whenRead.promise
  }

  /** Known values stay in use until a new pass has read everything. */
  #begin(): Pass {
    const entries = new Map<string, SecretsEntry>()
    return {
      entry: ({ key, value }: BucketEntry) => {
        if (value === undefined) entries.delete(key)
        else entries.set(key, secretsIn(value))
        if (entries === this.#entries) this.#notify()
      },
      current: () => {
        this.#entries = entries
        this.#whenRead.resolve()
        this.#notify()
      },
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** The sealed value for this version of the row; undefined until it arrives. */
  sealed(kind: string, id: string, version: number, field: string): string | null | undefined {
    const entry = this.#entries.get(`${kind}.${id}`)
    if (entry === undefined || entry.version < version) return undefined
    return entry.sealed[field] ?? null
  }

  close(): void {
    this.#follower.close()
  }
}
