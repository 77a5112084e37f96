/**
 * Asks the ledger which message of an input was settled last. If that message is no longer in its stream as it was, the
 * stream was put back to an earlier state, and assigns its sequences again.
 */
import type { Nats } from '../nats/nats.js'
import { booksBucket } from '../wire/names.js'
import type { Books } from './books.js'
import type { LastSettled } from './input-run.js'
import type { InputStream } from './ledger.js'
import { LedgerReading } from './reading.js'
import { Snapshots } from './snapshots.js'

export class SettledInput {
  readonly #nats: Nats
  #reading: Promise<Books | undefined> | undefined

  constructor(nats: Nats) {
    this.#nats = nats
  }

  /** Undefined if nothing is settled in this run of the input's sequences. */
  async last(stream: InputStream, since: string): Promise<LastSettled | undefined> {
    // The inputs of a process ask at the same time: they share a reading.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return (await this.#reading)?.lastSettled(stream, since)
  }

  async #read(): Promise<Books | undefined> {
    const bucket = await this.#nats.findBucket(booksBucket)
    // Until a keeper makes the bucket there are no books, so no sequence can be taken for another message's.
    if (bucket === undefined) return undefined
    const snapshots = new Snapshots(bucket, async () => {})
    const reading = await LedgerReading.open(this.#nats, snapshots, () => {})
    await reading.close()
    return reading.books
  }
}
