/**
 * Where a destination's packs come from: its durable consumer in its own partition, and in others for as long as packs wait
 * there. Those are from a time when there were more partitions, or fewer.
 */
import { packContents } from '../books/ledger.js'
import type { Consumer } from '../nats/consumers.js'
import { AcknowledgedContents, DurableReader, type DurableReaderOptions } from '../nats/durable-reader.js'
import { deliverySubject, type Partition } from '../wire/partitions.js'

const ackPendingMax = 1_000
const acknowledgedMax = 1_000

/** The consumer in one partition. */
export interface PackSource {
  readonly partition: Partition
  readonly reader: DurableReader
  /** More packs wait there than were fetched. */
  hasBacklog: boolean
}

interface PackSourcesOptions extends Pick<DurableReaderOptions, 'nats' | 'unavailable' | 'stoppedEarly'> {
  /** Pulls until the signal; called whenever a consumer was opened. */
  readonly pull: (source: PackSource, consumer: Consumer, signal: AbortSignal) => Promise<void>
}

export class PackSources {
  readonly #destination: string
  readonly #options: PackSourcesOptions
  readonly #home: PackSource
  readonly #others = new Map<Partition, PackSource>()

  constructor(destination: string, home: Partition, options: PackSourcesOptions) {
    this.#destination = destination
    this.#options = options
    this.#home = this.#open(home)
  }

  #open(partition: Partition): PackSource {
    const id = this.#destination
    const { pull, ...options } = this.#options
    const stream = partition.deliveriesStream
    const reader: DurableReader = new DurableReader({
      ...options,
      consumer: { stream, name: id, filter: deliverySubject(partition, id), ackPendingMax },
      acknowledged: new AcknowledgedContents(acknowledgedMax, (message) => packContents(id, message).pack),
      pull: (consumer, signal) => pull(source, consumer, signal),
    })
    const source: PackSource = { partition, reader, hasBacklog: false }
    reader.open()
    return source
  }

  /** Aborted when they stop. */
  get stopping(): AbortSignal {
    return this.#home.reader.stopping
  }

  /** Reads in these partitions, besides its own, and in no others any more: nothing waits there. */
  async drain(partitions: ReadonlySet<Partition>): Promise<void> {
    for (const partition of partitions)
      if (!this.#others.has(partition)) this.#others.set(partition, this.#open(partition))
    const drained = [...this.#others].filter(([partition]) => !partitions.has(partition))
    for (const [partition, { reader }] of drained) {
      this.#others.delete(partition)
      await reader.stop()
      await reader.close()
    }
  }

  get #readers(): readonly DurableReader[] {
    return [this.#home, ...this.#others.values()].map(({ reader }) => reader)
  }

  /** Pulls nothing any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.stop()))
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()))
  }
}
