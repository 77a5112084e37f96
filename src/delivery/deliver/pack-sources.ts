/**
 * Where a destination's packs come from, unless it shares a consumer: its own consumers. It has one in its own partition,
 * and others for as long as packs wait there: those are from a time when there were more partitions, or fewer.
 */

import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { packBytesTarget } from '../../ground/core/limits.js'
import type { Consumer } from '../../ground/nats/consumers.js'
import {
  AcknowledgedContents,
  DurableReader,
  type DurableReaderOptions,
} from '../../ground/nats/durable-reader.js'
import { pullBatch } from '../../ground/nats/pull.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import { packContents } from '../books/ledger.js'
import { isMoved } from '../wire/pack-message.js'
import { deliverySubject, type Partition } from '../wire/partitions.js'
import type { ByteBudget } from './lane/byte-budget.js'

const ackPendingMax = 1_000
const acknowledgedMax = 1_000
const fetchMax = 8
/** Packs that were moved, or stored by a pipeline, may not have come yet. */
const quietAfterMs = 10_000
/** How often one who waits for room looks again. */
const lookAgainMs = 100

/** A consumer of packs in one partition. */
export interface PackSource {
  readonly partition: Partition
  readonly reader: DurableReader
  /** More packs wait there than were fetched. */
  hasBacklog: boolean
  /** When it was needed last: it was opened, or a pack came that was stored for it. Milliseconds, monotonic. */
  neededMs: number
  /** When packs were asked for last: milliseconds, monotonic. */
  askedMs: number
}

interface PackSourcesOptions extends Pick<DurableReaderOptions, 'nats' | 'unavailable' | 'stoppedEarly'> {
  /** The server deletes a consumer in this partition that no one has read for so long; undefined: never. */
  readonly deletedAfterMs: (partition: Partition) => number | undefined
  /** Pulls until the signal; called whenever a consumer was opened. */
  readonly pull: (source: PackSource, consumer: Consumer, signal: AbortSignal) => Promise<void>
}

export class PackSources {
  readonly #destination: string
  readonly #options: PackSourcesOptions
  readonly #sources = new Map<Partition, PackSource>()
  readonly #stop = new AbortController()

  constructor(destination: string, options: PackSourcesOptions) {
    this.#destination = destination
    this.#options = options
  }

  /** Aborted when they stop. */
  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  get isEmpty(): boolean {
    return this.#sources.size === 0
  }

  has(partition: Partition): boolean {
    return this.#sources.has(partition)
  }

  /** Does nothing wait here, and came nothing for so long? Then a pack that comes from elsewhere overtakes none. */
  areQuietFor(ms = quietAfterMs): boolean {
    const isQuiet = ({ reader, hasBacklog, neededMs }: PackSource): boolean =>
      reader.isIdle && !hasBacklog && monotonicMs() - neededMs >= ms
    return [...this.#sources.values()].every(isQuiet)
  }

  /**
   * Must packs be asked for although none is wanted? A server that is not current deletes a consumer that no one reads, also
   * if packs of it are in flight: those would be delivered a second time.
   */
  mustAsk({ partition, reader, askedMs }: PackSource): boolean {
    const deletedAfterMs = this.#options.deletedAfterMs(partition)
    const isUnread = deletedAfterMs !== undefined && monotonicMs() - askedMs >= deletedAfterMs / 3
    return isUnread && !reader.isIdle
  }

  /**
   * Reads none any more that was not needed for so long, if none of its packs is being delivered: it would be delivered
   * twice.
   */
  async closeIdle(ms: number): Promise<void> {
    const idle = [...this.#sources].filter(
      ([, { reader, neededMs }]) => reader.isIdle && monotonicMs() - neededMs >= ms,
    )
    await Promise.all(idle.map(([partition]) => this.#close(partition)))
  }

  /**
   * Reads the destination's consumer in this partition, which is made if it is missing. It is needed, even if it is read
   * already.
   */
  open(partition: Partition): void {
    const known = this.#sources.get(partition)
    if (known !== undefined) known.neededMs = monotonicMs()
    if (known !== undefined || this.#stop.signal.aborted) return
    const id = this.#destination
    const { pull, deletedAfterMs, ...options } = this.#options
    const stream = partition.deliveriesStream
    const filter = deliverySubject(partition, id)
    const reader: DurableReader = new DurableReader({
      ...options,
      consumer: {
        stream,
        name: id,
        filter,
        ackPendingMax,
        // As it is whenever the consumer is opened again: destinations may share by then.
        get deletedAfterMs() {
          return deletedAfterMs(partition)
        },
      },
      acknowledged: new AcknowledgedContents(acknowledgedMax, (message) => packContents(id, message).pack),
      pull: (consumer, signal) => pull(source, consumer, signal),
    })
    const source: PackSource = {
      partition,
      reader,
      hasBacklog: false,
      neededMs: monotonicMs(),
      askedMs: 0,
    }
    this.#sources.set(partition, source)
    reader.open()
  }

  /** Reads in these partitions, and in no others any more: nothing waits there. */
  async read(partitions: ReadonlySet<Partition>): Promise<void> {
    for (const partition of partitions) this.open(partition)
    for (const partition of [...this.#sources.keys()])
      if (!partitions.has(partition)) await this.#close(partition)
  }

  /**
   * Unless a pack came before the reader had stopped, which another reader would deliver a second time, or it is needed
   * again.
   */
  async #close(partition: Partition): Promise<void> {
    const source = this.#sources.get(partition)
    if (source === undefined) return
    const { reader, neededMs } = source
    await reader.stop()
    // All are closed by `close`, when their packs are delivered.
    if (this.#stop.signal.aborted) return
    if (!reader.isIdle || source.neededMs !== neededMs) return reader.open()
    this.#sources.delete(partition)
    await reader.close()
  }

  get #readers(): readonly DurableReader[] {
    return [...this.#sources.values()].map(({ reader }) => reader)
  }

  /** Pulls nothing any more. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#readers.map((reader) => reader.stop()))
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()))
  }
}

interface FetchOptions {
  /** How many packs at most. */
  readonly wanted: number
  readonly budget: Pick<ByteBudget, 'reserve' | 'give'>
  /** The next pack waits for what it returns. */
  readonly take: (message: PulledMessage) => Promise<void> | void
}

/** Fetches a batch of packs. Waits for a short time if the budget has no room for them. */
export async function fetchPacks(
  source: PackSource,
  consumer: Consumer,
  { wanted, budget, take }: FetchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { hasBacklog } = source
  const count = hasBacklog ? Math.min(fetchMax, wanted) : 1
  // A source without backlog reserves nothing: there may be thousands of them.
  const reserved = hasBacklog ? count * packBytesTarget : 0
  if (!budget.reserve(reserved)) return sleep(lookAgainMs, signal)
  try {
    source.hasBacklog = false
    source.askedMs = monotonicMs()
    for await (const message of pullBatch(consumer, count, signal)) {
      source.hasBacklog = message.pending > 0
      // A destination that works again, and gets a pack from time to time, would otherwise keep its consumer by moved packs
      // alone.
      if (!isMoved(message.headers)) source.neededMs = monotonicMs()
      await take(message)
    }
  } finally {
    budget.give(reserved)
  }
}
