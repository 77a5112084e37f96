/** Records of many nodes, as ingress nodes publish them, and what the books of each partition must say about them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BooksSnapshot } from '../../src/delivery/books/books.js'
import { LedgerReading } from '../../src/delivery/books/reading.js'
import { Snapshots } from '../../src/delivery/books/snapshots.js'
import { booksBucket } from '../../src/delivery/wire/names.js'
import { type Partition, partitionsUpTo, recordsPartition } from '../../src/delivery/wire/partitions.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import type { Patience } from '../../src/ground/nats/retry.js'
import { record } from './deployment.js'

const region = 'eu'
/** So many that each of eight partitions has some. */
export const nodes = 64
const names: readonly string[] = Array.from({ length: nodes }, (_, number) => `node-${number}`)
export const perMessage = 5
const pauseMs = 15
/** Longer than a server is away. */
const patient: Patience = { patienceMs: 300_000 }

/** The nodes whose records get into this one of `count` partitions. */
const nodesOf = ({ number }: Partition, count: number): readonly string[] =>
  names.filter((node) => recordsPartition(region, node, count) === number)

/** Some records, not published yet. */
export interface NodeMessage {
  readonly node: string
  /** The number of the first record. */
  readonly first: number
  readonly data: string
}

/** The records of a run: numbered, each published once it is its turn, and again until it is stored. */
export class NodeTraffic {
  #published = 0
  /** Acknowledged messages of each node. */
  readonly #stored = new Map<string, number>()

  /** Records that were published, or are on their way. */
  get published(): number {
    return this.#published
  }

  /** Messages that were acknowledged. */
  get stored(): number {
    return [...this.#stored.values()].reduce((sum, messages) => sum + messages, 0)
  }

  /** Those of the nodes of each partition. */
  storedOfEach(count: number): number[] {
    return partitionsUpTo(count).map((partition) =>
      nodesOf(partition, count).reduce((sum, node) => sum + (this.#stored.get(node) ?? 0), 0),
    )
  }

  /**
   * The next records of a node, whichever it is or one of this partition; `noteBytes`: each has so many that are ignored.
   */
  next(of: readonly string[] = names, noteBytes = 0): NodeMessage {
    const first = this.#published
    this.#published += perMessage
    const node = of[(first / perMessage) % of.length]!
    const note = noteBytes === 0 ? '' : `"note":"${'x'.repeat(noteBytes)}",`
    const lines = Array.from({ length: perMessage }, (_, at) => record('run', first + at))
    return { node, first, data: lines.map((line) => line.replace('{', `{${note}`)).join('\n') }
  }

  nextOf(partition: Partition, count: number, noteBytes = 0): NodeMessage {
    return this.next(nodesOf(partition, count), noteBytes)
  }

  /** Resolves when the message is stored; one that is refused is published again for as long as `patience` lasts. */
  async store(nats: Nats, { node, first, data }: NodeMessage, patience = patient): Promise<void> {
    await nats.publish(`weir.records.${region}.${node}`, data, { msgId: `run.${first}`, ...patience })
    this.#stored.set(node, (this.#stored.get(node) ?? 0) + 1)
  }

  async publish(nats: Nats, messages: number): Promise<void> {
    for (let message = 0; message < messages; message += 1) {
      await this.store(nats, this.next())
      await sleep(pauseMs)
    }
  }

  /** Publishes until it is stopped. The nodes of each of `count` partitions do not wait for those of others. */
  keepPublishing(nats: Nats, count: number): { stop(): Promise<void> } {
    let isStopped = false
    const lanes = partitionsUpTo(count).map(async (partition) => {
      while (!isStopped) {
        await this.store(nats, this.nextOf(partition, count))
        await sleep(pauseMs * count)
      }
    })
    const publishing = reportedLater(Promise.all(lanes))
    return {
      stop: async () => {
        isStopped = true
        await publishing
      },
    }
  }
}

/**
 * A promise that is awaited later. If a test fails before, its connection is closed, and this fails, too: that must not end
 * the process, which has others to end.
 */
export function reportedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** The books as the ledger has them now. */
async function readBooks(nats: Nats): Promise<BooksSnapshot> {
  const bucket = await nats.findBucket(booksBucket)
  const noGap = (): void => {
    throw new Error('The ledger has a gap.')
  }
  const reading = await LedgerReading.open(nats, new Snapshots(bucket!, async () => {}), noGap)
  await reading.close()
  return reading.books.snapshot()
}

interface Test {
  strictSame(actual: unknown, expected: unknown, name: string): unknown
}

/**
 * Checks that an idle deployment has each stored message of each partition in its books, once; resolves with their numbers.
 */
export async function checkPartitionBooks(t: Test, nats: Nats, count: number): Promise<number[]> {
  const { runs } = await readBooks(nats)
  const stored: number[] = []
  for (const { recordsStream, recordsInput } of partitionsUpTo(count)) {
    const { last_seq } = (await nats.streamInfo(recordsStream))!.state
    const inBooks = runs.filter(({ stream }) => stream === recordsInput)
    const shown = inBooks.map(({ settled, open }) => ({ settled, open }))
    const expected = last_seq === 0 ? [] : [{ settled: [[1, last_seq]], open: [] }]
    t.strictSame(shown, expected, `${recordsStream}: each of ${last_seq} messages is in the books, once`)
    stored.push(last_seq)
  }
  return stored
}
