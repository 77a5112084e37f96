/**
 * How long after its publication a record's event is accepted by Kinesis, at 1,000 records per second, one per message. The
 * floor waits up to 100 ms for events that share a request. Both take turns, each with a nats-server and an emulator of
 * its own. The emulator notes when an event arrived, by the clock of the machine, which is also that of the publisher.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../harness/weir.js'
import { type BenchRow, median, percentile } from '../bench.js'
import { openFloor, openWeir, type System, withClosers } from '../systems/system.js'
import { publish, record } from '../systems/traffic.js'

const recordsPerSecond = 1_000
const floorLingerMs = 100
const tickMs = 5
const shares = { p50: 0.5, p99: 0.99 }
type Share = keyof typeof shares

/** Milliseconds, of one turn. */
type Latency = Readonly<Record<Share, number>>

class Latencies {
  readonly #system: System
  /** When each record was published, by its number; and how many events were read. */
  readonly #publishedMs: number[] = []
  #read = 0

  constructor(system: System) {
    this.#system = system
  }

  async turn(records: number): Promise<Latency> {
    await this.#publish(records)
    const { client } = this.#system.emulator
    const stream = { service: 'kinesis', name: this.#system.streams[0]! } as const
    await until('all events have arrived', async () => {
      const { events } = await client.counts(stream)
      return events >= this.#publishedMs.length
    })
    const waitsMs: number[] = []
    while (this.#read < this.#publishedMs.length) {
      const { events } = await client.page(stream, this.#read, 1_000)
      for (const { data, atMs } of events) waitsMs.push(atMs - this.#publishedMs[numberOf(data)]!)
      this.#read += events.length
    }
    return { p50: percentile(waitsMs, shares.p50), p99: percentile(waitsMs, shares.p99) }
  }

  /** Evenly: a late timer publishes what has become due. */
  async #publish(records: number): Promise<void> {
    const beganMs = Date.now()
    const acknowledged: Promise<unknown>[] = []
    while (acknowledged.length < records) {
      const dueRecords = Math.min(records, ((Date.now() - beganMs) * recordsPerSecond) / 1_000)
      while (acknowledged.length < dueRecords) {
        const n = this.#publishedMs.push(Date.now()) - 1
        acknowledged.push(publish(this.#system.nats, record(n)))
      }
      await sleep(tickMs)
    }
    await Promise.all(acknowledged)
  }
}

/** The number of a record is its `bytes_in`. */
const numberOf = (event: string): number => Number(/"bytes_in":"?(\d+)/.exec(event)?.[1])

export const row: BenchRow = {
  name: 'latency',
  mustReach: 'from publish to accepted at 1,000 records/s: p50 at most 3, p99 at most 4 times the floor',
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const [keep, lingerMs] = ['all', floorLingerMs] as const
      const weir = new Latencies(await openWeir(closers, { keep }))
      const floor = new Latencies(await openFloor(closers, { keep, lingerMs }))
      const taken: Record<'weir' | 'floor', Latency[]> = { weir: [], floor: [] }
      const records = (quick ? 1 : 5) * recordsPerSecond
      // The first turn of each is for the compiler.
      for (let turn = 0; turn <= (quick ? 3 : 5); turn += 1)
        for (const [name, system] of [
          ['weir', weir],
          ['floor', floor],
        ] as const) {
          const latency = await system.turn(records)
          if (turn > 0) taken[name].push(latency)
        }
      const ms = (name: 'weir' | 'floor', share: Share) =>
        median(taken[name].map((latency) => latency[share]))
      const ratio = (share: Share) => ms('weir', share) / ms('floor', share)
      return {
        measures: [
          { name: 'p50 of the floor', ratio: ratio('p50'), bound: { atMost: 3 } },
          { name: 'p99 of the floor', ratio: ratio('p99'), bound: { atMost: 4 } },
        ],
        nsPerOperation: Object.fromEntries(
          (['weir', 'floor'] as const).flatMap((name) =>
            (['p50', 'p99'] as const).map((share) => [`${name}, ${share}`, ms(name, share) * 1e6]),
          ),
        ),
      }
    }),
}
