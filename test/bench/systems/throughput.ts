/** Turns of a system: so many records are published, and the turn ends when all their events have arrived. */
import { until } from '../../harness/weir.js'
import { type BenchTools, median } from '../bench.js'
import { CpuMeter, type Turn, totalCpu } from '../cpu-meter.js'
import type { System } from './system.js'
import { type Encode, ingestAll, messagesOf, type Publishing, publishAll } from './traffic.js'

/** Records per message. */
const shapes = { packed: 100, single: 1 }
/**
 * Until V8 has compiled what a steady load needs. It takes long: a request to AWS carries 500 records, so its code runs
 * that much less often than the rest. Measured: a deliverer takes 5.5 µs per record after 500,000, and 4 after 1,200,000.
 */
const warmUpRecords = { packed: 1_500_000, single: 100_000 }
/** Enough to find a collapse. */
const quickWarmUpRecords = { packed: 500_000, single: 40_000 }
export type Shape = keyof typeof shapes
/** An older build takes minutes to warm up. */
const doneWithinMs = 300_000

export interface TakesTurns {
  turn(shape: Shape, records: number): Promise<Turn>
}

interface ThroughputOptions {
  /** Said when it takes too long. */
  readonly name?: string
  /** Has the system done what it does besides delivering events? */
  readonly isDone?: () => Promise<boolean>
  readonly encode?: Encode
}

export class Throughput implements TakesTurns {
  readonly #system: System
  readonly #meter: CpuMeter
  readonly #isDone: () => Promise<boolean>
  readonly #encode: Encode | undefined
  readonly #name: string
  #published = 0

  constructor(
    system: System,
    { name = 'the system', isDone = async () => true, encode }: ThroughputOptions = {},
  ) {
    this.#system = system
    this.#name = name
    this.#encode = encode
    this.#meter = new CpuMeter(system.processes)
    this.#isDone = isDone
  }

  async warmUp(warmed: readonly Shape[], { quick }: Pick<BenchTools, 'quick'>): Promise<void> {
    const records = quick ? quickWarmUpRecords : warmUpRecords
    for (const shape of warmed) await this.turn(shape, records[shape])
    await this.#meter.measureIdle()
  }

  turn(shape: Shape, records: number, publishing?: Publishing): Promise<Turn> {
    return this.#meter.turn(records, async () => {
      await this.publish(shape, records, publishing)
      await this.done()
    })
  }

  /** A turn of an ingress node that uses fast ingest: messages of a record each, at this rate. */
  ingestTurn(records: number, messagesPerSecond: number): Promise<Turn> {
    return this.#meter.turn(records, async () => {
      const from = this.#published
      this.#published += records
      const messages = messagesOf(from, this.#published, shapes.single)
      await ingestAll(this.#system.natsUrl, messages, { messagesPerSecond })
      await this.done()
    })
  }

  async publish(shape: Shape, records: number, publishing?: Publishing): Promise<void> {
    const from = this.#published
    this.#published += records
    const messages = messagesOf(from, this.#published, shapes[shape])
    await publishAll(this.#system.nats, messages, { encode: this.#encode, ...publishing })
  }

  /** Resolves when everything is done that was caused by what was published. */
  done(): Promise<void> {
    const isDone = async () => (await this.#hasArrived()) && this.#isDone()
    return until(`all events of ${this.#name} have arrived`, isDone, doneWithinMs)
  }

  async #hasArrived(): Promise<boolean> {
    const { streams, emulator } = this.#system
    for (const name of streams) {
      const { events } = await emulator.client.counts({ service: 'kinesis', name })
      if (events < this.#published) return false
    }
    return true
  }
}

/** As a system whose turns publish in this way. */
export const publishingAs = (system: Throughput, publishing: Publishing): TakesTurns => ({
  turn: (shape, records) => system.turn(shape, records, publishing),
})

/** Before the first turn that counts: V8 and nats-server gave back memory while other systems were warmed up. */
const turnsBefore = 3

/**
 * Lets the systems take turns; the turns of each. Every other round goes backward: a system that always followed a busy one,
 * which still has work to do, would seem to take up to a tenth more than one that follows an idle one.
 */
export async function takeTurns(
  systems: ReadonlyMap<string, TakesTurns>,
  shape: Shape,
  { records, turns }: { readonly records: number; readonly turns: number },
): Promise<ReadonlyMap<string, readonly Turn[]>> {
  const taken = new Map<string, Turn[]>([...systems.keys()].map((name) => [name, []]))
  for (const system of systems.values()) await system.turn(shape, records * turnsBefore)
  for (let turn = 0; turn < turns; turn += 1) {
    const round = turn % 2 === 0 ? [...systems] : [...systems].reverse()
    for (const [name, system] of round) taken.get(name)!.push(await system.turn(shape, records))
  }
  return taken
}

/** Nanoseconds of CPU per record, of all processes. */
export const costOf = (turns: readonly Turn[]): number => median(turns.map(({ cpu }) => totalCpu(cpu))) * 1e3

/** Nanoseconds of CPU per record, of the processes of one role. */
export const cpuOf = (role: string, turns: readonly Turn[]): number =>
  median(turns.map(({ cpu }) => cpu[role] ?? 0)) * 1e3

/** Records per second. */
export const rateOf = (turns: readonly Turn[]): number =>
  median(turns.map(({ recordsPerSecond }) => recordsPerSecond))

/** Medians for the table: CPU and time per record, and the CPU of each role. */
export function nsPerRecord(name: string, turns: readonly Turn[]): Record<string, number> {
  const roles = Object.keys(turns[0]!.cpu).map((role) => [`${name}, ${role}`, cpuOf(role, turns)])
  return {
    [`${name}, CPU per record`]: costOf(turns),
    ...Object.fromEntries(roles),
    [`${name}, time per record`]: 1e9 / rateOf(turns),
  }
}
