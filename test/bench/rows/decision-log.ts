/**
 * What the decision log and those who watch cost a whole deployment: the CPU of all its processes, NATS included, from
 * publishing a record to its event at AWS and its row in ClickHouse; and how long the API's answers take meanwhile. Two
 * deployments take turns, one that logs all decisions and one that logs none. Linux only, because it reads `/proc`.
 */
import { monotonicMs, sleep } from '../../../src/core/clock.js'
import { decisionLogStream } from '../../../src/wire/names.js'
import { type BenchRow, type BenchTools, median, percentile } from '../bench.js'
import { type CpuByRole, totalCpu } from '../cpu-meter.js'
import { type Closers, openWeir, withClosers } from '../systems/system.js'
import { Throughput } from '../systems/throughput.js'

type Weir = Awaited<ReturnType<typeof openWeir>>

const taps = 10
/** Until those who watch have begun. */
const settleMs = 2_000
const steadyPerSecond = 2_000
const steadyPublishEveryMs = 50
const betweenReadsMs = 2

/** A deployment whose records each make one event. */
class Side {
  readonly #weir: Weir
  readonly #throughput: Throughput

  constructor(weir: Weir) {
    this.#weir = weir
    this.#throughput = new Throughput(weir, () => this.#hasNoRowsWaiting())
  }

  static async open(mode: string, closers: Closers, tools: BenchTools): Promise<Side> {
    const side = new Side(await openWeir(closers, { env: { WEIR_DECISION_LOG: mode } }))
    await side.#throughput.warmUp(['packed'], tools)
    return side
  }

  async #hasNoRowsWaiting(): Promise<boolean> {
    // NATS may be slow on a busy machine.
    const rows = await this.#weir.nats.streamInfo(decisionLogStream).catch(() => undefined)
    return rows?.state.messages === 0
  }

  /** The CPU of each role, in microseconds per record, until all is done, rows included. */
  async turn(records: number): Promise<CpuByRole> {
    const { cpu } = await this.#throughput.turn('packed', records)
    return cpu
  }

  /** The 99th percentile of reading an edge, in milliseconds, while records come at a steady rate. */
  async p99(forMs: number): Promise<number> {
    const { api, edgeId } = this.#weir
    const begunMs = monotonicMs()
    const publishing = this.#publishSteadily(begunMs, forMs)
    const times: number[] = []
    while (monotonicMs() - begunMs < forMs) {
      const startMs = monotonicMs()
      await api.tcpEdge.get(edgeId)
      times.push(monotonicMs() - startMs)
      await sleep(betweenReadsMs)
    }
    await publishing
    await this.#throughput.done()
    return percentile(times, 0.99)
  }

  async #publishSteadily(begunMs: number, forMs: number): Promise<void> {
    const records = (steadyPerSecond * steadyPublishEveryMs) / 1_000
    for (let dueMs = begunMs; dueMs < begunMs + forMs; dueMs += steadyPublishEveryMs) {
      await sleep(Math.max(0, dueMs - monotonicMs()))
      await this.#throughput.publish('packed', records)
    }
  }

  /** Watches with several clients; the result ends it. */
  watch(clients: number): () => Promise<void> {
    const stop = new AbortController()
    const watching = Array.from({ length: clients }, async () => {
      for await (const _ of this.#weir.api.watchDecisions({ signal: stop.signal }));
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
  run: (tools) =>
    withClosers(async (closers) => {
      const off = await Side.open('off', closers, tools)
      const all = await Side.open('all', closers, tools)
      const { turns, times } = await measured(off, all, tools.quick)
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
    }),
}
