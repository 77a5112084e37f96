/**
 * The partitions of a deployment as one process knows them: those of its settings, and further ones that have streams. These
 * were made with a higher number, before or by a process that has it already; whatever is in them is worked through like
 * the rest, and nothing new gets there.
 */
import { every, type Timer } from '../core/clock.js'
import type { Nats } from '../nats/nats.js'
import {
  homeOf,
  type Partition,
  type PartitionSet,
  partitionNumbered,
  partitionsMax,
  partitionsUpTo,
  recordsSubjects,
} from './partitions.js'

type StreamReader = Pick<Nats, 'streamInfo'>

const lookEveryMs = 10_000

/**
 * How many partitions have streams. The subjects of the first one say whether there are others, so that a deployment
 * with one, whose users may know of no further streams, is asked about none.
 */
export async function partitionsWithStreams(nats: StreamReader, atLeast: number): Promise<number> {
  const first = await nats.streamInfo(partitionNumbered(0)!.recordsStream)
  if (first === undefined || first.config.subjects.includes(recordsSubjects)) return atLeast
  let count = atLeast
  for (; count < partitionsMax; count += 1) {
    const { recordsStream, deliveriesStream } = partitionNumbered(count)!
    if ((await nats.streamInfo(recordsStream)) === undefined) break
    if ((await nats.streamInfo(deliveriesStream)) === undefined) break
  }
  return count
}

export class Partitions implements PartitionSet {
  /** New messages are spread over so many. */
  readonly count: number
  readonly #nats: StreamReader
  readonly #listeners: ((partition: Partition) => void)[] = []
  readonly #timer: Timer
  #all: readonly Partition[]

  constructor(nats: StreamReader, count: number, existing = count) {
    this.#nats = nats
    this.count = count
    this.#all = partitionsUpTo(Math.max(count, existing))
    this.#timer = every(lookEveryMs, () =>
      this.look().catch(() => {
        // The health of NATS is reported elsewhere; the next look tries again.
      }),
    )
  }

  /** Those over which new messages are spread come first. */
  get all(): readonly Partition[] {
    return this.#all
  }

  homeOf(destinationId: string): Partition {
    return homeOf(destinationId, this.count)
  }

  /** Calls `open` with each partition, now or when it is found. */
  each(open: (partition: Partition) => void): void {
    this.#listeners.push(open)
    for (const partition of this.#all) open(partition)
  }

  async look(): Promise<void> {
    const before = this.#all.length
    const found = await partitionsWithStreams(this.#nats, before)
    if (found <= this.#all.length) return
    this.#all = partitionsUpTo(found)
    for (const partition of this.#all.slice(before)) for (const open of this.#listeners) open(partition)
  }

  close(): void {
    this.#timer.stop()
  }
}

export const openPartitions = async (nats: StreamReader, count: number): Promise<Partitions> =>
  new Partitions(nats, count, await partitionsWithStreams(nats, count))
