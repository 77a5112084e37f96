/** The sealed values of rows, as delivery and the API need them. */
import type { Bucket, BucketEntry } from '../core/nats.js'
import type { SecretsEntry } from './keys.js'

export class SecretsView {
  readonly #bucket: Bucket
  readonly #entries = new Map<string, SecretsEntry>()
  readonly #listeners = new Set<() => void>()
  #watch: { close(): void } | undefined

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** Resolves when everything that is there has been read. */
  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#bucket
        .watch((entry) => this.#take(entry), resolve)
        .then((watch) => {
          this.#watch = watch
        }, reject)
    })
  }

  #take({ key, value }: BucketEntry): void {
    if (value === undefined) this.#entries.delete(key)
    else this.#entries.set(key, JSON.parse(Buffer.from(value).toString()) as SecretsEntry)
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** The sealed value that goes with this version of the row; undefined while it is on its way. */
  sealed(kind: string, id: string, version: number, field: string): string | null | undefined {
    const entry = this.#entries.get(`${kind}.${id}`)
    if (entry === undefined || entry.version < version) return undefined
    return entry.sealed[field] ?? null
  }

  close(): void {
    this.#watch?.close()
  }
}
