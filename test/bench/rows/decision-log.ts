/**
 * The cost of the decision log, and of those who watch, for a whole deployment: the CPU of all its processes, NATS included,
 * from publishing a record to its event at AWS and its row in ClickHouse; and how long the API's answers take meanwhile. Two
 * deployments take turns, one that logs all decisions and one that logs none; with `--against DIR` instead, two that log
 * all, one of them of the build of another checkout. Linux only, because it reads `/proc`.
 */

import { decisionLogStream } from '../../../src/delivery/wire/names.js'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { type BenchRow, type BenchTools, median, percentile, type RowResult } from '../bench.js'
import { serveOf } from '../serve-of.js'
import { type Closers, openWeir, type WeirOptions, withClosers } from '../systems/system.js'
import { costOf, cpuOf, nsPerRecord, type TakesTurns, Throughput, takeTurns } from '../systems/throughput.js'

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
  /** A turn ends when all is done, rows included. */
  readonly throughput: Throughput

  constructor(weir: Weir) {
    this.#weir = weir
    this.throughput = new Throughput(weir, { isDone: () => this.#hasNoRowsWaiting() })
  }

  static async open(
    mode: string,
    closers: Closers,
    tools: BenchTools,
    options: WeirOptions = {},
  ): Promise<Side> {
    const side = new Side(await openWeir(closers, { ...options, env: { WEIR_DECISION_LOG: mode } }))
    await side.throughput.warmUp(['packed'], tools)
    return side
  }

  async #hasNoRowsWaiting(): Promise<boolean> {
    // NATS may be slow on a busy machine.
    const rows = await this.#weir.nats.streamInfo(decisionLogStream).catch(() => undefined)
    return rows?.state.messages === 0
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
    await this.throughput.done()
    return percentile(times, 0.99)
  }

  async #publishSteadily(begunMs: number, forMs: number): Promise<void> {
    const records = (steadyPerSecond * steadyPublishEveryMs) / 1_000
    for (let dueMs = begunMs; dueMs < begunMs + forMs; dueMs += steadyPublishEveryMs) {
      await sleep(Math.max(0, dueMs - monotonicMs()))
      await this.throughput.publish('packed', records)
    }
  }

  /** Watches with several clients while `work` is done. */
  async whileWatched<T>(clients: number, work: () => Promise<T>): Promise<T> {
    const stop = new AbortController()
    const watching = Array.from({ length: clients }, async () => {
      for await (const _ of this.#weir.api.watchDecisions({ signal: stop.signal }));
    })
    try {
      await sleep(settleMs)
      return await work()
    } finally {
      stop.abort()
      await Promise.allSettled(watching)
    }
  }
}

/**
 * Reads of the API are measured by themselves: after a quiet time, a row costs ClickHouse twice as much for some seconds.
 */
async function p99s(sides: readonly Side[], quick: boolean): Promise<number[]> {
  const times = sides.map((): number[] => [])
  for (let turn = 0; turn < (quick ? 2 : 5); turn += 1)
    for (const [index, side] of sides.entries()) times[index]!.push(await side.p99(quick ? 5_000 : 10_000))
  return times.map(median)
}

/** Turns are short, so that what else a machine does meets both. */
async function measureAgainst(dir: string, closers: Closers, tools: BenchTools): Promise<RowResult> {
  const other = await Side.open('all', closers, tools, { serve: serveOf(dir) })
  const ours = await Side.open('all', closers, tools)
  const sides = new Map([
    ['all', ours.throughput],
    [dir, other.throughput],
  ])
  const turns = await takeTurns(sides, 'packed', {
    records: tools.quick ? 20_000 : 100_000,
    turns: tools.quick ? 2 : 10,
  })
  const ratio = costOf(turns.get('all')!) / costOf(turns.get(dir)!)
  return {
    measures: [{ name: `CPU per record, all decisions logged, of ${dir}`, ratio, bound: { atMost: 1.05 } }],
    nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
  }
}

export const row: BenchRow = {
  name: 'decision-log',
  mustReach: '15 % more CPU per record, twice the p99 of the API, nothing of the pipeline for ten taps',
  run: (tools) =>
    withClosers(async (closers) => {
      if (tools.against !== undefined) return measureAgainst(tools.against, closers, tools)
      const off = await Side.open('off', closers, tools)
      const all = await Side.open('all', closers, tools)
      const watched: TakesTurns = {
        turn: (shape, records) => all.whileWatched(taps, () => all.throughput.turn(shape, records)),
      }
      const turns = await takeTurns(
        new Map<string, TakesTurns>([
          ['off', off.throughput],
          ['all', all.throughput],
          ['watched', watched],
        ]),
        'packed',
        tools.quick ? { records: 20_000, turns: 2 } : { records: 400_000, turns: 5 },
      )
      const cost = (name: string) => costOf(turns.get(name)!)
      const pipeline = (name: string) => cpuOf('pipeline', turns.get(name)!)
      const [p99Off = 0, p99All = 0] = await p99s([off, all], tools.quick)
      return {
        measures: [
          {
            name: 'CPU per record, all decisions logged, of none',
            ratio: cost('all') / cost('off'),
            bound: { atMost: 1.15 },
          },
          {
            name: 'p99 of the API, all decisions logged, of none',
            ratio: p99All / p99Off,
            bound: { atMost: 2 },
          },
          {
            name: `CPU of the pipeline, ${taps} taps, of none`,
            ratio: pipeline('watched') / pipeline('all'),
            bound: { atMost: 1.02 },
          },
        ],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
