/**
 * What the decision log and those who watch cost a whole deployment: the CPU of all its processes, NATS included, from
 * publishing a record to its event at AWS and its row in ClickHouse; and how long the API's answers take meanwhile. Two
 * deployments take turns, one that logs all decisions and one that logs none. Linux only, because it reads `/proc`.
 */
import { monotonicMs, sleep } from '../../../src/core/clock.js'
import type { Nats } from '../../../src/nats/nats.js'
import { decisionLogStream } from '../../../src/wire/names.js'
import { processesBelow } from '../../harness/tree.js'
import { until } from '../../harness/weir.js'
import { type Deployment, openDeployment, publish } from '../../integration/deployment.js'
import { type BenchRow, median } from '../bench.js'
import { type CpuByRole, CpuMeter, totalCpu } from '../cpu-meter.js'

const perMessage = 100
const taps = 10
/** Until those who watch have begun. */
const settleMs = 2_000
const steadyPerSecond = 2_000

/** A deployment whose records each make one event. */
class Side {
  readonly #deployment: Deployment
  readonly #nats: Nats
  readonly #name: string
  readonly #meter: CpuMeter
  #published = 0

  constructor(name: string, deployment: Deployment, nats: Nats) {
    this.#name = name
    this.#deployment = deployment
    this.#nats = nats
    this.#meter = new CpuMeter(() => processesBelow(deployment.weir.process.pid))
  }

  static async open(name: string, mode: string, closers: (() => unknown)[]): Promise<Side> {
    const test = { teardown: (close: () => unknown) => void closers.push(close) }
    const deployment = await openDeployment(test, { WEIR_DECISION_LOG: mode, WEIR_RATE_LIMIT: '0' })
    const { api } = deployment.weir
    for await (const { id, destinations } of api.eventSubscription.list())
      if (!destinations.some((destination) => destination.id === deployment.destinations.all))
        await api.eventSubscription.delete(id)
    const side = new Side(name, deployment, await deployment.weir.nats())
    await side.turn(5_000)
    await side.#meter.measureIdle()
    return side
  }

  /** Publishes records and waits until all is done; the CPU of each role, in microseconds per record. */
  async turn(records: number): Promise<CpuByRole> {
    const { cpu } = await this.#meter.turn(records, async () => {
      const from = this.#published
      this.#published += records
      await publish(this.#nats, this.#name, from, this.#published, perMessage)
      await until('all is done', () => this.#isDone(), 300_000)
    })
    return cpu
  }

  async #isDone(): Promise<boolean> {
    const { emulator } = this.#deployment
    const { unique } = await emulator.client.counts({ service: 'kinesis', name: 'all' })
    // NATS may be slow on a busy machine.
    const rows = await this.#nats.streamInfo(decisionLogStream).catch(() => undefined)
    return unique >= this.#published && rows?.state.messages === 0
  }

  /** The 99th percentile of reading an edge, in milliseconds, while records come at a steady rate. */
  async p99(forMs: number): Promise<number> {
    const begunMs = monotonicMs()
    const times: number[] = []
    const publishing = (async () => {
      for (
        let due = begunMs;
        monotonicMs() - begunMs < forMs;
        due += (perMessage / steadyPerSecond) * 1_000
      ) {
        await sleep(Math.max(0, due - monotonicMs()))
        const from = this.#published
        this.#published += perMessage
        await publish(this.#nats, this.#name, from, this.#published, perMessage)
      }
    })()
    const { weir, edgeId } = this.#deployment
    while (monotonicMs() - begunMs < forMs) {
      const start = monotonicMs()
      await weir.api.tcpEdge.get(edgeId)
      times.push(monotonicMs() - start)
      await sleep(2)
    }
    await publishing
    await until('all is done', () => this.#isDone(), 300_000)
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
  }

  /** Watches with several clients; the result ends it. */
  watch(clients: number): () => Promise<void> {
    const stop = new AbortController()
    const watching = Array.from({ length: clients }, async () => {
      for await (const _ of this.#deployment.weir.api.watchDecisions({ signal: stop.signal }));
    })
    return async () => {
      stop.abort()
      await Promise.allSettled(watching)
    }
  }
}

async function measured(off: Side, all: Side, quick: boolean) {
  const records = quick ? 10_000 : 200_000
  const turns: Record<'off' | 'all' | 'watched', CpuByRole[]> = { off: [], all: [], watched: [] }
  const times: Record<'off' | 'all', number[]> = { off: [], all: [] }
  for (let turn = 0; turn < (quick ? 2 : 5); turn += 1) {
    turns.off.push(await off.turn(records))
    turns.all.push(await all.turn(records))
    const unwatch = all.watch(taps)
    await sleep(settleMs)
    turns.watched.push(await all.turn(records))
    await unwatch()
    times.off.push(await off.p99(quick ? 5_000 : 10_000))
    times.all.push(await all.p99(quick ? 5_000 : 10_000))
  }
  return { turns, times }
}

export const row: BenchRow = {
  name: 'decision-log',
  mustReach: 'a fifth more CPU per record, twice the p99 of the API, nothing of the pipeline for ten taps',
  async run({ quick }) {
    const closers: (() => unknown)[] = []
    try {
      const off = await Side.open('off', 'off', closers)
      const all = await Side.open('all', 'all', closers)
      const { turns, times } = await measured(off, all, quick)
      const cpu = (name: keyof typeof turns) => median(turns[name].map(totalCpu))
      const role = (name: keyof typeof turns, of: string) =>
        median(turns[name].map((roles) => roles[of] ?? 0))
      const roles = Object.keys(turns.all[0] ?? {})
      return {
        measures: [
          {
            name: 'CPU per record, all decisions logged, of none',
            ratio: cpu('all') / cpu('off'),
            bound: { atMost: 1.2 },
          },
          {
            name: 'p99 of the API, all decisions logged, of none',
            ratio: median(times.all) / median(times.off),
            bound: { atMost: 2 },
          },
          {
            name: `CPU of the pipeline, ${taps} taps, of none`,
            ratio: role('watched', 'pipeline') / role('all', 'pipeline'),
            bound: { atMost: 1.02 },
          },
        ],
        nsPerOperation: Object.fromEntries(
          (['off', 'all', 'watched'] as const).flatMap((name) =>
            roles.map((of) => [`${name}: ${of}, per record`, role(name, of) * 1e3]),
          ),
        ),
      }
    } finally {
      for (const close of closers.toReversed()) await close()
    }
  },
}
