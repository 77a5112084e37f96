/**
 * How long a large deployment takes until it is ready again after `kill -9` under writes: 10,000 IP policies with 100,000
 * rules. All processes of `weir serve` are killed and started again, and in turns the API alone, which `serve` starts
 * again. The slowest turn counts, because a kill meets another point of the writes each time. Compared with `node -e 0`,
 * which takes 40 ms on a quiet machine of two cores.
 */

import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { monotonicMs, randomFraction, sleep } from '../../../src/ground/core/clock.js'
import { eachOf } from '../../../src/ground/core/concurrency.js'
import { openCaller } from '../../harness/caller.js'
import { isReady } from '../../harness/pages.js'
import { tempDir } from '../../harness/temp-dir.js'
import { killAll, killRole, processesBelow } from '../../harness/tree.js'
import { type RunningWeir, startWeir } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { type BenchRow, median } from '../bench.js'
import { cpuUsed, totalCpu } from '../cpu-meter.js'
import { nodeStartMs } from '../node-start.js'

const policies = 10_000
/** How many of them have rules: filling the store takes long if all have. */
const policiesWithRules = 100
const rulesEach = 1_000
const writers = 8
/** 5 s of 40 ms. */
const readyMax = 125

interface Start {
  readonly readyMs: number
  /** CPU of the processes that were started. */
  readonly cpuMs: number
}

const rulesOf = (turn: number) =>
  Array.from({ length: rulesEach }, (_, at) => ({
    cidr: `10.${turn & 255}.${at >> 2}.${(at & 3) * 64}/26`,
    action: 'deny' as const,
  }))

async function fill({ api }: RunningWeir): Promise<string[]> {
  const ids: string[] = []
  await eachOf(Array.from({ length: policies }), 64, async () => {
    ids.push((await api.ipPolicy.create({})).id)
  })
  const withRules = ids.slice(0, policiesWithRules)
  await eachOf(withRules, 8, (id) => api.replaceRules(id, rulesOf(0)))
  return withRules
}

/** Writes of each sort, to policies with rules, until one fails because the API was killed. */
async function write({ url }: RunningWeir, ids: readonly string[]): Promise<void> {
  // A client that tries nothing again.
  const api = openCaller({ base: url, token })
  for (let turn = 1; ; turn += 1) {
    const id = ids[Math.floor(randomFraction() * ids.length)]!
    try {
      await api.ipPolicy.update(id, { description: `turn ${turn}` })
      await api.replaceRules(id, rulesOf(turn))
      await api.ipPolicy.delete((await api.ipPolicy.create({})).id)
    } catch {
      return
    }
  }
}

const cpuMsOf = (processes: Parameters<typeof cpuUsed>[0]): number => totalCpu(cpuUsed(processes)) / 1_000

async function timed(begin: () => unknown, url: string): Promise<number> {
  const begunMs = monotonicMs()
  await begin()
  while (!(await isReady(url).catch(() => false))) await sleep(20)
  return monotonicMs() - begunMs
}

class Restarts {
  readonly #env: Readonly<Record<string, string>>
  readonly #dataDir: string
  #weir!: RunningWeir
  #ids: readonly string[] = []

  constructor(dataDir: string, port: number) {
    this.#dataDir = dataDir
    this.#env = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_RATE_LIMIT: '0', WEIR_PORT: String(port) }
  }

  async open(): Promise<void> {
    this.#weir = await startWeir(this.#dataDir, this.#env)
    this.#ids = await fill(this.#weir)
  }

  async #underWrites(kill: () => unknown): Promise<void> {
    for (let at = 0; at < writers; at += 1) void write(this.#weir, this.#ids)
    await sleep(500 + randomFraction() * 1_500)
    await kill()
  }

  async ofAll(): Promise<Start> {
    await this.#underWrites(() => killAll(this.#weir.process.pid))
    await this.#weir.process.ended
    const start = async () => {
      this.#weir = await startWeir(this.#dataDir, this.#env)
    }
    const readyMs = await timed(start, this.#weir.url)
    const { pid } = this.#weir.process
    return { readyMs, cpuMs: cpuMsOf([{ pid, role: 'serve' }, ...processesBelow(pid)]) }
  }

  async ofTheApi(): Promise<Start> {
    const { pid } = this.#weir.process
    await this.#underWrites(() => {})
    const readyMs = await timed(() => killRole(pid, 'api'), this.#weir.url)
    return { readyMs, cpuMs: cpuMsOf(processesBelow(pid).filter(({ role }) => role === 'api')) }
  }

  close(): Promise<unknown> {
    return this.#weir.stop()
  }
}

export const row: BenchRow = {
  name: 'restart',
  mustReach: 'ready within 5 s after any kill, if `node -e 0` takes 40 ms',
  async run({ quick }) {
    const closing: (() => unknown)[] = []
    const restarts = new Restarts(
      tempDir({ teardown: (close) => void closing.push(close) }),
      await freePort(),
    )
    try {
      await restarts.open()
      const starts: Readonly<Record<string, Start[]>> = { 'all processes': [], 'the API': [] }
      const nodeMs: number[] = []
      for (let turn = 0; turn < (quick ? 2 : 6); turn += 1) {
        nodeMs.push(nodeStartMs())
        starts['all processes']!.push(await restarts.ofAll())
        starts['the API']!.push(await restarts.ofTheApi())
      }
      return resultOf(median(nodeMs), starts)
    } finally {
      await restarts.close()
      for (const close of closing) await close()
    }
  },
}

function resultOf(nodeMs: number, starts: Readonly<Record<string, readonly Start[]>>) {
  const slowest = (each: readonly Start[]): number => Math.max(...each.map(({ readyMs }) => readyMs))
  return {
    measures: Object.entries(starts).map(([name, each]) => ({
      name: `node -e 0, to ready after a kill of ${name}`,
      ratio: slowest(each) / nodeMs,
      bound: { atMost: readyMax },
    })),
    nsPerOperation: Object.fromEntries([
      ['node -e 0', nodeMs * 1e6],
      ...Object.entries(starts).flatMap(([name, each]) => [
        [`${name}: slowest to ready`, slowest(each) * 1e6],
        [`${name}: median to ready`, median(each.map(({ readyMs }) => readyMs)) * 1e6],
        [`${name}: median of CPU`, median(each.map(({ cpuMs }) => cpuMs)) * 1e6],
      ]),
    ]),
  }
}
