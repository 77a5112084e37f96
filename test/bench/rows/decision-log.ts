/**
 * What the decision log and those who watch cost a whole deployment: the CPU of all its processes, NATS included, from
 * publishing a record to its event at AWS and its row in ClickHouse; and how long the API's answers take meanwhile. Two
 * deployments take turns, one that logs all decisions and one that logs none. Linux only, because it reads `/proc`.
 */
import { readFileSync } from 'node:fs'
import { monotonicMs, sleep } from '../../../src/core/clock.js'
import type { Nats } from '../../../src/nats/nats.js'
import { decisionLogStream } from '../../../src/wire/names.js'
import { processesBelow } from '../../harness/tree.js'
import { until } from '../../harness/weir.js'
import { type Deployment, openDeployment, publish } from '../../integration/deployment.js'
import { type BenchRow, median } from '../bench.js'

const ticksPerSecond = 100
const perMessage = 100
const taps = 10
/** Merges of ClickHouse and snapshots of the books follow. */
const settleMs = 2_000
const idleMs = 5_000
const steadyPerSecond = 2_000

/** A deployment whose records each make one event. */
class Side {
  readonly #deployment: Deployment
  readonly #nats: Nats
  readonly #name: string
  #published = 0
  /** Microseconds of CPU in a second without records. */
  #idle: Readonly<Record<string, number>> = {}

  constructor(name: string, deployment: Deployment, nats: Nats) {
    this.#name = name
    this.#deployment = deployment
    this.#nats = nats
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
    await sleep(settleMs)
    const before = side.#cpu()
    await sleep(idleMs)
    const spent = difference(side.#cpu(), before)
    side.#idle = Object.fromEntries(Object.entries(spent).map(([role, us]) => [role, us / (idleMs / 1_000)]))
    return side
  }

  /** Publishes records and waits until all is done; the CPU of each role, in microseconds per record. */
  async turn(records: number): Promise<Record<string, number>> {
    const [before, begunMs] = [this.#cpu(), monotonicMs()]
    const from = this.#published
    this.#published += records
    await publish(this.#nats, this.#name, from, this.#published, perMessage)
    await until('all is done', () => this.#isDone(), 300_000)
    await sleep(settleMs)
    const seconds = (monotonicMs() - begunMs) / 1_000
    const spent = difference(this.#cpu(), before)
    return Object.fromEntries(
      Object.entries(spent).map(([role, us]) => [role, (us - (this.#idle[role] ?? 0) * seconds) / records]),
    )
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

  /** Microseconds that the processes of each role have used. */
  #cpu(): Record<string, number> {
    const used: Record<string, number> = {}
    for (const { pid, role } of processesBelow(this.#deployment.weir.process.pid)) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const ticks = Number(fields[11]) + Number(fields[12])
      used[role] = (used[role] ?? 0) + (ticks / ticksPerSecond) * 1e6
    }
    return used
  }
}

const difference = (after: Record<string, number>, before: Record<string, number>) =>
  Object.fromEntries(Object.entries(after).map(([role, us]) => [role, us - (before[role] ?? 0)]))

const total = (roles: Record<string, number>): number => Object.values(roles).reduce((sum, us) => sum + us, 0)

async function measured(off: Side, all: Side, quick: boolean) {
  const records = quick ? 10_000 : 200_000
  const turns: Record<'off' | 'all' | 'watched', Record<string, number>[]> = { off: [], all: [], watched: [] }
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
      const cpu = (name: keyof typeof turns) => median(turns[name].map(total))
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
