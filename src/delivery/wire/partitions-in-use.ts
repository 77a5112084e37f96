/**
 * The partitions of a deployment as one process knows them: those of its settings, and further ones that have streams. These
 * were made with a higher number, before or by a process that has it already; whatever is in them is worked through like
 * the rest, and nothing new gets there.
 */
import { every, type Timer } from '../../ground/core/clock.js'
import type { Nats } from '../../ground/nats/nats.js'
import { refusalOf } from '../../ground/nats/refusals.js'
import {
  allPacks,
  homeOf,
  type Partition,
  type PartitionSet,
  partitionNumbered,
  partitionsMax,
  partitionsUpTo,
  recordsSubjects,
  streamsOf,
} from './partitions.js'

type StreamReader = Pick<Nats, 'streamInfo'>

const lookEveryMs = 10_000
const streamsPerPartition = 2

/**
 * Does the deployment have one partition alone? The subjects of its streams say so; undefined without a stream. Its users
 * may know of no further streams, so these are not asked about.
 */
async function isAlone(nats: StreamReader): Promise<boolean | undefined> {
  const first = partitionNumbered(0)!
  const records = await nats.streamInfo(first.recordsStream)
  if (records !== undefined) return records.config.subjects.includes(recordsSubjects)
  const packs = await nats.streamInfo(first.deliveriesStream)
  return packs?.config.subjects.includes(allPacks)
}

/**
 * May there be further partitions? When the last of them were deleted, the subjects still say so until an API starts; but
 * where one partition is left, its users may not ask about others.
 */
async function mayHaveFurther(nats: StreamReader, atLeast: number): Promise<boolean> {
  if ((await isAlone(nats)) !== false) return false
  if (atLeast > 1) return true
  try {
    await nats.streamInfo(partitionNumbered(1)!.recordsStream)
    return true
  } catch (error) {
    if (refusalOf(error).code !== 'PermissionDenied') throw error
    return false
  }
}

/** How many partitions have streams, without a gap. */
export async function partitionsWithStreams(nats: StreamReader, atLeast: number): Promise<number> {
  if (!(await mayHaveFurther(nats, atLeast))) return atLeast
  let count = atLeast
  for (; count < partitionsMax; count += 1) {
    const { recordsStream, deliveriesStream } = partitionNumbered(count)!
    if ((await nats.streamInfo(recordsStream)) === undefined) break
    if ((await nats.streamInfo(deliveriesStream)) === undefined) break
  }
  return count
}

/**
 * How many partitions have streams if those that are missing between them are made: one that was deleted must not hide
 * others, which would not be drained, and whose subjects those of the first partition must leave out.
 */
export async function partitionsToKeep(nats: StreamReader, atLeast: number): Promise<number> {
  if (!(await mayHaveFurther(nats, atLeast))) return atLeast
  const names = streamsOf(partitionsUpTo(partitionsMax))
  const infos = await Promise.all(names.map((name) => nats.streamInfo(name)))
  const last = infos.findLastIndex((info) => info !== undefined)
  return Math.max(atLeast, 1 + Math.floor(last / streamsPerPartition))
}

/** The parts that a process opened for a partition. */
interface Opened {
  close(): unknown
}

export class Partitions implements PartitionSet {
  /** New messages are spread over so many. */
  readonly count: number
  readonly #nats: StreamReader
  #open: (partition: Partition) => Opened | undefined = () => undefined
  readonly #opened = new Map<Partition, Opened | undefined>()
  readonly #timer: Timer
  #all: readonly Partition[]
  #isClosed = false

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

  /**
   * Calls `open` with each partition, now or when it is found; what it opens is closed when the partition is deleted, or
   * with this.
   */
  each(open: (partition: Partition) => Opened): void {
    this.#open = open
    for (const partition of this.#all) this.#opened.set(partition, open(partition))
  }

  /** Finds partitions that were made, and forgets those beyond `count` that were deleted. */
  async look(): Promise<void> {
    const found = partitionsUpTo(await partitionsWithStreams(this.#nats, this.count))
    if (this.#isClosed) return
    const before = this.#all
    this.#all = found
    for (const partition of found)
      if (!before.includes(partition)) this.#opened.set(partition, this.#open(partition))
    for (const partition of before) if (!found.includes(partition)) await this.#close(partition)
  }

  async #close(partition: Partition): Promise<void> {
    const opened = this.#opened.get(partition)
    this.#opened.delete(partition)
    await opened?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer.stop()
    await Promise.all([...this.#opened.keys()].map((partition) => this.#close(partition)))
  }
}

export const openPartitions = async (nats: StreamReader, count: number): Promise<Partitions> =>
  new Partitions(nats, count, await partitionsWithStreams(nats, count))
