/**
 * A page of 20 changes of an account that has 10,000, of four kinds: the CPU of the API for the first page that a process is
 * asked for, for the same page again, for one after another change, and for the changes of the last day as the console's
 * overview asks for them. With `--against DIR`, the build of another checkout takes turns.
 */
import { eachOf } from '../../../src/ground/core/concurrency.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import { type Serve, startWeir } from '../../harness/weir.js'
import { type BenchRow, type BenchTools, type Measure, median } from '../bench.js'
import { CpuMeter, cpuUsed, totalCpu } from '../cpu-meter.js'
import { serveOf } from '../serve-of.js'
import { type Closers, withClosers } from '../systems/system.js'

const changes = { all: 10_000, quick: 1_000 }
const resourcesPerKind = 50
const writesAtOnce = 32
const pageCpuMaxMs = 40
const dayMs = 24 * 60 * 60 * 1_000

interface System {
  readonly meter: CpuMeter
  /** Microseconds of CPU of the first page. */
  readonly firstPage: number
  readonly page: (query: string) => Promise<void>
  /** Makes one change. */
  readonly change: (n: number) => Promise<unknown>
}

async function openSystem(closers: Closers, count: number, serve: Serve | undefined): Promise<System> {
  const env = { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' }
  const weir = await startWeir(tempDir(closers), env, '', serve)
  closers.teardown(() => weir.stop())
  const { api } = weir
  const each = <T>(create: (n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: resourcesPerKind }, (_, n) => create(n)))
  const edges = await each((n) => api.tcpEdge.create({ hostports: [`host-${n}.example:22`] }))
  const policies = await each((n) => api.ipPolicy.create({ description: `policy ${n}` }))
  const backends = await each((n) => api.tunnelGroupBackend.create({ labels: { n: String(n) } }))
  const keys = await each((n) => api.apiKey.create({ description: `key ${n}` }))
  const changers = [
    (n: number) => api.tcpEdge.update(edges[n % resourcesPerKind]!.id, { description: `changed ${n}` }),
    (n: number) => api.ipPolicy.update(policies[n % resourcesPerKind]!.id, { description: `changed ${n}` }),
    (n: number) =>
      api.tunnelGroupBackend.update(backends[n % resourcesPerKind]!.id, { description: `changed ${n}` }),
    (n: number) => api.apiKey.update(keys[n % resourcesPerKind]!.id, { description: `changed ${n}` }),
  ]
  const change = (n: number) => changers[n % changers.length]!(n)
  const numbers = Array.from({ length: count - changers.length * resourcesPerKind }, (_, n) => n)
  await eachOf(numbers, writesAtOnce, async (n) => void (await change(n)))
  const headers = { authorization: `Bearer ${weir.token}`, 'service-version': '2' }
  const page = async (query: string): Promise<void> => {
    const answer = await fetch(`${weir.url}/changes?${query}`, { headers })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(text)
  }
  const apis = () => processesBelow(weir.process.pid).filter(({ role }) => role === 'api')
  const meter = new CpuMeter(apis)
  await meter.measureIdle()
  const before = totalCpu(cpuUsed(apis()))
  await page('limit=20')
  return { meter, firstPage: totalCpu(cpuUsed(apis())) - before, page, change }
}

/** CPU in microseconds for each time. */
async function cpuOf(
  { meter }: System,
  times: number,
  work: (n: number) => Promise<unknown>,
): Promise<number> {
  const turn = await meter.turn(times, async () => {
    for (let n = 0; n < times; n += 1) await work(n)
  })
  return totalCpu(turn.cpu)
}

async function pagesOf(system: System, times: number): Promise<Record<string, number>> {
  const { page, change } = system
  const overview = () => page(`limit=50&since=${new Date(Date.now() - dayMs).toISOString()}`)
  const changed = await cpuOf(system, times, change)
  const after = await cpuOf(system, times, async (n) => {
    await change(n)
    await page('limit=20')
  })
  return {
    'the page again': await cpuOf(system, times, () => page('limit=20')),
    'after a change': after - changed,
    'of the overview': await cpuOf(system, times, overview),
  }
}

async function measure(systems: ReadonlyMap<string, System>, { quick }: BenchTools) {
  const turns = new Map([...systems.keys()].map((name) => [name, [] as Record<string, number>[]]))
  for (let turn = 0; turn < (quick ? 2 : 5); turn += 1)
    for (const [name, system] of systems) turns.get(name)!.push(await pagesOf(system, quick ? 20 : 50))
  const nsPerOperation: Record<string, number> = {}
  const measures: Measure[] = []
  for (const [name, { firstPage }] of systems) {
    nsPerOperation[`${name}: the first page`] = firstPage * 1e3
    for (const shape of Object.keys(turns.get(name)![0]!)) {
      const us = median(turns.get(name)!.map((each) => each[shape]!))
      nsPerOperation[`${name}: ${shape}`] = us * 1e3
      if (name !== 'weir') continue
      const ratio = us / 1e3 / pageCpuMaxMs
      measures.push({ name: `${shape}, of ${pageCpuMaxMs} ms of CPU`, ratio, bound: { atMost: 1 } })
    }
  }
  return { measures, nsPerOperation }
}

export const row: BenchRow = {
  name: 'changes',
  mustReach: `a page of 20 out of 10,000 changes in ${pageCpuMaxMs} ms of CPU, but for the first one of a process`,
  run: (tools) =>
    withClosers(async (closers) => {
      const count = tools.quick ? changes.quick : changes.all
      const { against } = tools
      const systems = new Map([['weir', await openSystem(closers, count, undefined)]])
      if (against !== undefined) systems.set(against, await openSystem(closers, count, serveOf(against)))
      return await measure(systems, tools)
    }),
}
