/** Sums of rows of the decision log, compared with a plain count of the same rows: ranges that begin and end anywhere. */
import t from 'tap'
import type { DecisionRow } from '../../../src/delivery/wire/decision-rows.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'
import { tempDir } from '../../harness/temp-dir.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const begin = Date.parse('2026-11-20T00:00:00Z')
/** Two of one network, one whose number is in its lower half, and one without a number. */
const clients = ['198.51.100.7', '198.51.100.8', '2001:db8::7', '2001:db8::8', '::7', '::']

/** Rows of two days, also at the borders of partitions: each value is missing somewhere. */
const rows = Array.from({ length: 600 }, (_, n) => {
  const pick = <T>(values: readonly T[], salt: number): T => values[(n * salt + (n >> 3)) % values.length]!
  const source = pick(['record', 'record', 'asked'] as const, 5)
  return decisionRow({
    accountId: n % 50 === 49 ? 'ac_2' : 'ac_1',
    at: begin + n * 5 * minuteMs - (n % 3 === 0 ? 1 : 0),
    recordId: `r${n}`,
    sequence: n,
    clientIp: pick(clients, 5),
    asn: pick([0, 64_500, 64_501, 64_502], 3),
    serverName: pick(['', 'a.example', 'b.example'], 7),
    decision: pick(['allow', 'block', 'deny'], 1),
    source,
    // Each record has a row, and questions are sampled.
    weight: source === 'asked' && n % 2 === 0 ? 3 : 1,
  })
})

const shownBy: Readonly<Record<string, (row: DecisionRow) => string>> = {
  asn: ({ asn }) => (asn === 0 ? '' : String(asn)),
  server_name: ({ serverName }) => serverName,
  client_ip: ({ clientIp }) => (clientIp.includes(':') ? clientIp : `::ffff:${clientIp}`),
}

/** Values with the most decisions, then their number by interval. */
function plainCounts(dimension: string, sinceMs: number, untilMs: number, intervalMs: number, most: number) {
  const found = rows.filter(({ accountId, at }) => accountId === 'ac_1' && at >= sinceMs && at < untilMs)
  const sizes = new Map<string, number>()
  for (const row of found)
    sizes.set(shownBy[dimension]!(row), (sizes.get(shownBy[dimension]!(row)) ?? 0) + row.weight)
  // A missing system is ranked by its number, 0.
  const shown = (value: string) => (dimension === 'asn' ? value || '0' : value)
  const listed = [...sizes]
    .toSorted(([one, a], [other, b]) => b - a || (shown(one) < shown(other) ? -1 : 1))
    .slice(0, most)
    .map(([value]) => value)
  const sums = new Map<string, number>()
  for (const row of found.filter((each) => listed.includes(shownBy[dimension]!(each)))) {
    const key = `${Math.floor(row.at / intervalMs) * intervalMs} ${shownBy[dimension]!(row)}`
    sums.set(key, (sums.get(key) ?? 0) + (row.source === 'asked' ? 2 : 1) * row.weight)
  }
  return { sums: [...sums].toSorted(), valuesLeftOut: sizes.size - listed.length }
}

t.test('sums of rows', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  await shapeLogTables(clickhouse, { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 })
  for (const source of ['record', 'asked'])
    await clickhouse.insertBlocks('decisions', [rowBytes(rows.filter((row) => row.source === source))])
  const log = patientReader(clickhouse)
  const ranges = [
    { name: 'whole partitions', from: 0, to: 24 * hourMs, intervalMs: hourMs },
    { name: 'rows before whole partitions', from: hourMs, to: 24 * hourMs, intervalMs: hourMs },
    { name: 'rows after them', from: 0, to: 27 * hourMs, intervalMs: 30 * minuteMs },
    { name: 'rows before and after', from: 3.5 * hourMs, to: 38.5 * hourMs, intervalMs: 30 * minuteMs },
    { name: 'within one partition', from: hourMs, to: 2 * hourMs, intervalMs: minuteMs },
    { name: 'the border of two partitions', from: 3 * hourMs, to: 5 * hourMs, intervalMs: 15 * minuteMs },
    { name: 'nothing', from: -9 * hourMs, to: -8 * hourMs, intervalMs: hourMs },
  ]
  for (const { name, from, to, intervalMs } of ranges)
    for (const dimension of Object.keys(shownBy))
      for (const valuesMax of [2, 20])
        await t.test(`${name}, ${valuesMax} values of ${dimension}`, async (t) => {
          const [sinceMs, untilMs] = [begin + from, begin + to]
          const sources = ['record'] as const
          const query = {
            accountId: 'ac_1',
            dimension,
            sources,
            intervalMs,
            sinceMs,
            untilMs,
            valuesMax,
          } as const
          const { counts, valuesLeftOut } = await log.counts(query)
          // Questions are not counted by decision; twice here, to tell them from records.
          const sums = counts.map(({ at, value, allow, block, deny, asked }) => [
            `${at} ${value}`,
            allow + block + deny + 2 * asked,
          ])
          t.strictSame(
            { sums: sums.toSorted(), valuesLeftOut },
            plainCounts(dimension, sinceMs, untilMs, intervalMs, valuesMax),
          )
        })
})
