/**
 * The resources of an empty `weir serve` while nothing is to be done, over all of its processes, nats-server included: CPU,
 * and resident memory (private memory of each process, and pages of programs and libraries once, because processes share
 * them). It is measured three minutes after the start, when V8 has compiled what runs and tidied up. With `--against DIR`,
 * the build of another checkout runs at the same time. A machine that is busy with other things makes each wake-up dearer.
 */
import { sleep } from '../../../src/ground/core/clock.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { type Serve, startWeir } from '../../harness/weir.js'
import type { BenchRow, BenchTools, Measure } from '../bench.js'
import { cpuUsed, difference, totalCpu } from '../cpu-meter.js'
import { residentOf } from '../memory-meter.js'
import { serveOf } from '../serve-of.js'

const settleMs = 180_000
const measureMs = 30_000
const residentBytesMax = 500 * 1024 * 1024

interface Closers {
  teardown(close: () => unknown): void
}

async function processesOf(closers: Closers, serve?: Serve): Promise<readonly TreeProcess[]> {
  const weir = await startWeir(tempDir(closers), {}, '', serve)
  closers.teardown(() => weir.stop())
  const { pid } = weir.process
  return [{ pid, role: 'serve' }, ...processesBelow(pid)]
}

async function measure(contenders: ReadonlyMap<string, readonly TreeProcess[]>, { quick }: BenchTools) {
  await sleep(settleMs / (quick ? 12 : 1))
  const before = [...contenders.values()].map(cpuUsed)
  const seconds = measureMs / (quick ? 3 : 1) / 1000
  await sleep(seconds * 1000)
  const measures: Measure[] = []
  const nsPerSecond: Record<string, number> = {}
  for (const [index, [name, processes]] of [...contenders].entries()) {
    const spent = difference(cpuUsed(processes), before[index]!)
    const { privateBytes, fileBytes } = residentOf(processes)
    measures.push(
      {
        name: `${name}: percent of a core`,
        ratio: totalCpu(spent) / 1e4 / seconds,
        bound: { atMost: 1 },
      },
      {
        name: `${name}: resident, of 500 MiB`,
        ratio: (privateBytes + fileBytes) / residentBytesMax,
        bound: { atMost: 1 },
      },
    )
    for (const [role, us] of Object.entries(spent))
      nsPerSecond[`${name}: ${role}, CPU per second`] = (us * 1e3) / seconds
  }
  return { measures, nsPerOperation: nsPerSecond }
}

export const row: BenchRow = {
  name: 'idle',
  mustReach: 'at most 1 % of a core and 500 MiB, over all processes',
  async run(tools) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const contenders = new Map([['weir', await processesOf(closers)]])
      const { against } = tools
      if (against !== undefined) contenders.set(against, await processesOf(closers, serveOf(against)))
      return await measure(contenders, tools)
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
