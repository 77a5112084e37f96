/**
 * Sums of a week for a chart, at every zoom and by everything that can be counted apart, with 10 million decisions in
 * embedded ClickHouse: the slowest answer of each kind, in milliseconds, and first pages of searches.
 *
 * On a busy machine an answer waits for the cores. It takes no longer than its CPU time on an idle one, so the shorter of
 * both counts, and searches have a minute.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monotonicMs, now } from '../../../src/ground/core/clock.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { LogReader } from '../../../src/management/store/logs/log-reader.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import type { DecisionsQuery } from '../../../src/management/store/logs/log-windows.js'
import { dimensions } from '../../../src/words/shape/stats.js'
import { type BenchRow, type BenchTools, median } from '../bench.js'
import { filledAccount, fillLog } from '../systems/filled-log.js'
import { type Closers, withClosers } from '../systems/system.js'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const days = 8
const searchTimeoutMs = 60_000
const answerMaxMs = 500
const pageMaxMs = 1_000
const pageLimit = 50

/** The intervals of a week, a day and half a day, each with as many as a chart shows. */
const zooms = [
  { intervalMs: dayMs, rangeMs: 7 * dayMs },
  { intervalMs: 60 * minuteMs, rangeMs: 7 * dayMs },
  { intervalMs: 30 * minuteMs, rangeMs: 7 * dayMs },
  { intervalMs: 5 * minuteMs, rangeMs: dayMs },
  { intervalMs: minuteMs, rangeMs: dayMs / 2 },
]

const edge = 'edgtcp_00000000000000000000000007'
const searches: Readonly<Record<string, Omit<DecisionsQuery, 'accountId' | 'limit'>>> = {
  all: { values: {} },
  edge_id: { values: { edge_id: [edge] } },
  decision: { values: { decision: ['deny'] } },
  decided_by: { values: { decided_by: ['ip_restriction'] } },
  policy: { values: { policy: ['policy 3'] } },
  rule_id: { values: { rule_id: ['ipr_00000000000000000000000021'] } },
  country: { values: { country: ['BA'] } },
  asn: { values: { asn: [2_900] } },
  client: { values: {}, clients: ['11.0.1.0', '11.0.1.255'] },
  'record_id, unknown': { values: { record_id: ['unknown'] } },
  'policy, unknown': { values: { policy: ['unknown'] } },
}

async function filledLog(closers: Closers, rows: number): Promise<LogReader> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-stats-'))
  closers.teardown(() => rmSync(directory, { recursive: true }))
  const clickhouse = await openClickhouse({ directory: join(directory, 'clickhouse') })
  closers.teardown(() => clickhouse.close())
  await shapeLogTables(clickhouse, { retentionMs: (days + 1) * dayMs, bytesMax: 2 ** 40 })
  const untilMs = now()
  await fillLog(clickhouse, { rows, sinceMs: untilMs - days * dayMs, untilMs })
  return new LogReader(clickhouse, 'all', searchTimeoutMs)
}

/** The median of some answers, in milliseconds. */
async function timeOf(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    const begunMs = monotonicMs()
    const before = process.cpuUsage()
    await ask()
    const { user, system } = process.cpuUsage(before)
    times.push(Math.min(monotonicMs() - begunMs, (user + system) / 1000))
  }
  return median(times)
}

async function measured(log: LogReader): Promise<ReadonlyMap<string, number>> {
  const untilMs = Math.ceil(now() / dayMs) * dayMs
  const query = { accountId: filledAccount, sources: ['record'], valuesMax: 10, untilMs } as const
  const times = new Map<string, number>()
  for (const dimension of dimensions.filter((each) => each !== 'destination')) {
    const ofZooms: number[] = []
    for (const { intervalMs, rangeMs } of zooms)
      ofZooms.push(
        await timeOf(() => log.counts({ ...query, dimension, intervalMs, sinceMs: untilMs - rangeMs })),
      )
    times.set(`sums by ${dimension}`, Math.max(...ofZooms))
  }
  for (const [name, search] of Object.entries(searches)) {
    const sums = () =>
      log.counts({
        ...query,
        dimension: 'none',
        intervalMs: 60 * minuteMs,
        sinceMs: untilMs - 7 * dayMs,
        selection: search,
      })
    times.set(`histogram of ${name}`, await timeOf(sums))
    const page = { ...search, accountId: filledAccount, limit: pageLimit }
    times.set(`page of ${name}`, await timeOf(() => log.page(page)))
  }
  return times
}

export const row: BenchRow = {
  name: 'stats-week',
  mustReach: 'a week at any zoom in 500 ms, a first page of a search in 1 s, with 10 million decisions',
  run: (tools: BenchTools) =>
    withClosers(async (closers) => {
      const log = await filledLog(closers, tools.quick ? 1_000_000 : 10_000_000)
      const times = await measured(log)
      const slowest = (head: string): number =>
        Math.max(...[...times].filter(([name]) => name.startsWith(head)).map(([, ms]) => ms))
      return {
        measures: [
          { name: 'sums of a week, of 500 ms', ratio: slowest('sums') / answerMaxMs, bound: { atMost: 1 } },
          {
            name: 'histogram of a search, of 500 ms',
            ratio: slowest('histogram') / answerMaxMs,
            bound: { atMost: 1 },
          },
          {
            name: 'first page of a search, of 1 s',
            ratio: slowest('page') / pageMaxMs,
            bound: { atMost: 1 },
          },
        ],
        nsPerOperation: Object.fromEntries([...times].map(([name, ms]) => [name, ms * 1e6])),
      }
    }),
}
