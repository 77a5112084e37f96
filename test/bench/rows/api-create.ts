/**
 * Creates of IP policies in one account, each answered once it is durable: the rate of 64 clients and the CPU of all
 * processes for each; and how long one client alone waits, against a bare insert of one such row into an embedded
 * ClickHouse that syncs as Weir's does. They take turns. What must be reached in absolute terms was set where `node -e 0`
 * takes 40 ms, so it is scaled by what that takes here.
 */
import { join } from 'node:path'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { createTableSql, rowEncoder, tableOf } from '../../../src/management/store/clickhouse/tables.js'
import { ipPolicy } from '../../../src/words/resource/ip-policy.js'
import { anyResource, type Row } from '../../../src/words/resource/kind/define.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import { startWeir } from '../../harness/weir.js'
import { type BenchRow, median } from '../bench.js'
import { CpuMeter, type Turn, totalCpu } from '../cpu-meter.js'
import { nodeStartMs, slowness } from '../slowness.js'

const clients = 64
const createsPerSecond = 500
const cpuMsPerCreate = 3

interface Closers {
  teardown(close: () => unknown): void
}

/** Milliseconds for each, one after the other. */
async function msEach(count: number, work: (n: number) => Promise<unknown>): Promise<number> {
  const begunMs = monotonicMs()
  for (let n = 0; n < count; n += 1) await work(n)
  return (monotonicMs() - begunMs) / count
}

async function openBareInsert(closers: Closers): Promise<(n: number) => Promise<void>> {
  const clickhouse = await openClickhouse({ directory: join(tempDir(closers), 'clickhouse') })
  closers.teardown(() => clickhouse.close())
  const resource = anyResource(ipPolicy)
  await clickhouse.command(createTableSql(resource))
  const encode = rowEncoder(resource, { changedAt: Date.now(), changedBy: 'cli' })
  const row = (n: number): Row => ({ id: `ipp_${n}`, account_id: 'ac_1', version: n, created_at: Date.now() })
  return (n) => clickhouse.insert(tableOf(resource.kind), [encode(row(n), false)])
}

async function openWeir(closers: Closers) {
  const env = { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' }
  const weir = await startWeir(tempDir(closers), env)
  closers.teardown(() => weir.stop())
  const meter = new CpuMeter(() => processesBelow(weir.process.pid))
  const create = (n: number) => weir.api.ipPolicy.create({ description: `policy ${n}` })
  const together = (count: number) =>
    meter.turn(count, async () => {
      let begun = 0
      const client = async () => {
        while (begun < count) await create(begun++)
      }
      await Promise.all(Array.from({ length: clients }, client))
    })
  await msEach(20, create)
  await together(200)
  await meter.measureIdle()
  return { create, together }
}

export const row: BenchRow = {
  name: 'api-create',
  mustReach: `64 clients, one account: ${createsPerSecond}/s and ${cpuMsPerCreate} ms of CPU each, scaled; one client: 2.5 bare inserts`,
  async run({ quick }) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const [weir, insert] = [await openWeir(closers), await openBareInsert(closers)]
      const many: Turn[] = []
      const [alone, bare]: [number[], number[]] = [[], []]
      for (let turn = 0; turn < (quick ? 3 : 5); turn += 1) {
        many.push(await weir.together(quick ? 500 : 2_000))
        alone.push(await msEach(20, weir.create))
        bare.push(await msEach(20, insert))
      }
      const scale = slowness()
      const rate = median(many.map(({ recordsPerSecond }) => recordsPerSecond))
      const cpuMs = median(many.map(({ cpu }) => totalCpu(cpu))) / 1e3
      const byRole = Object.keys(many[0]!.cpu).map(
        (role) => [`CPU of ${role}`, median(many.map(({ cpu }) => cpu[role] ?? 0)) * 1e3] as const,
      )
      return {
        measures: [
          {
            name: 'rate of 64 clients, scaled',
            ratio: (rate * scale) / createsPerSecond,
            bound: { atLeast: 1 },
          },
          { name: 'CPU for each, scaled', ratio: cpuMs / scale / cpuMsPerCreate, bound: { atMost: 1 } },
          {
            name: 'one client, of a bare insert',
            ratio: median(alone) / median(bare),
            bound: { atMost: 2.5 },
          },
        ],
        nsPerOperation: {
          'create, of 64 clients': 1e9 / rate,
          'create, of one client': median(alone) * 1e6,
          'bare insert': median(bare) * 1e6,
          'CPU for each': cpuMs * 1e6,
          ...Object.fromEntries(byRole),
          'node -e 0': scale * nodeStartMs * 1e6,
        },
      }
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
