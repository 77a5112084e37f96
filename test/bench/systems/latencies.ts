/** How long after its publication a record's event is accepted by Kinesis, by the clock of the machine that both share. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../harness/weir.js'
import { percentile } from '../bench.js'
import type { System } from './system.js'
import { publish, record } from './traffic.js'

const tickMs = 5
const shares = { p50: 0.5, p99: 0.99 }
export type Share = keyof typeof shares

/** Milliseconds, of one turn. */
export type Latency = Readonly<Record<Share, number>>

/** The emulator must keep everything: it notes when an event arrived. */
export class Latencies {
  readonly #system: System
  /** When each record was published, by its number; and how many events were read. */
  readonly #publishedMs: number[] = []
  #read = 0

  readonly #recordsPerSecond: number

  constructor(system: System, recordsPerSecond: number) {
    this.#system = system
    this.#recordsPerSecond = recordsPerSecond
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
      const dueRecords = Math.min(records, ((Date.now() - beganMs) * this.#recordsPerSecond) / 1_000)
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
