/** Sums of what a filter chooses, with more groups than one statement reads: the range is summed in parts. */
import t from 'tap'
import { compileCountFilter } from '../../../src/management/insight/decision-filter.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { patientReader } from '../../harness/patient-reader.js'
import { tempDir } from '../../harness/temp-dir.js'

const hourMs = 60 * 60_000
const begin = Date.parse('2026-11-20T00:00:00Z')
const range = { sinceMs: begin, untilMs: begin + 4 * hourMs }
const countries = ['DE', 'FR', '']
const decisions = ['allow', 'block', 'deny'] as const

/** Each row has a client of its own, so a group of its own. Most come within a minute, so that a part has too many again. */
const rowCount = 120_000
const crowded = 70_000
const crowdMs = 60_000
/** The border of two parts of the range lies within it, and most of it after that. */
const crowdBeginMs = 2 * hourMs - crowdMs / 10
const timeSql = `fromUnixTimestamp64Milli(toInt64(${begin} + if(number < ${crowded}, ${crowdBeginMs} + intDiv(number * ${crowdMs}, ${crowded}),
 intDiv((number - ${crowded}) * ${4 * hourMs}, ${rowCount - crowded}))), 'UTC')`
const timeOf = (n: number): number =>
  begin +
  (n < crowded
    ? crowdBeginMs + Math.floor((n * crowdMs) / crowded)
    : Math.floor(((n - crowded) * 4 * hourMs) / (rowCount - crowded)))

t.test('a filter about names with many values', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  await shapeLogTables(clickhouse, { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 })
  const insert = (accountId: string, time: string, count: number): Promise<void> =>
    clickhouse.command(
      `INSERT INTO decisions (account_id, time, record_id, type, edge_id, server_name, server_port, client_ip, country, asn, decision, decided_by,
 bytes_in, bytes_out, sequence, line)
SELECT '${accountId}', ${time}, toString(number), 'tcp_connection', 'edgtcp_1', 'ssh.example', 22, toIPv6(IPv4NumToString(toUInt32(184549376 + number))),
 ['DE', 'FR', ''][number % 3 + 1], 64500, ['allow', 'block', 'deny'][intDiv(number, 3) % 3 + 1], 'none', number % 7, 1, number, 0 FROM numbers(${count})`,
    )
  await insert('ac_1', timeSql, rowCount)
  const log = patientReader(clickhouse)
  const query = {
    accountId: 'ac_1',
    sources: ['record' as const],
    intervalMs: hourMs,
    valuesMax: 2,
    ...range,
  } as const
  /** 11.0.0.0 and 65,535 more, without those of 11.0.0.0/24. */
  const filter = "inCidrRange(conn.client_ip, '11.0.0.0/16') && !inCidrRange(conn.client_ip, '11.0.0.0/24')"

  for (const dimension of ['none', 'country'] as const)
    await t.test(`sums by ${dimension}`, async (t) => {
      const sums = new Map<string, number[]>()
      const sizes = new Map<string, number>()
      for (let n = 256; n < 65_536; n += 1) {
        const value = dimension === 'none' ? '' : countries[n % 3]!
        const key = `${Math.floor(timeOf(n) / hourMs) * hourMs} ${value}`
        const sum = sums.get(key) ?? [0, 0, 0, 0]
        sum[Math.floor(n / 3) % 3]! += 1
        sum[3]! += n % 7
        sums.set(key, sum)
        sizes.set(value, (sizes.get(value) ?? 0) + 1)
      }
      const listed = [...sizes]
        .toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
        .slice(0, 2)
        .map(([value]) => value)
      const statements = t.capture(clickhouse, 'rows', clickhouse.rows.bind(clickhouse))
      const { counts, valuesLeftOut, reachedMs } = await log.filteredCounts(
        { ...query, dimension },
        compileCountFilter(filter, dimension !== 'none'),
      )
      const lengths = statements().flatMap(({ args: [, { since, until } = {}] }) =>
        typeof since === 'number' && typeof until === 'number' ? [until - since] : [],
      )
      statements.restore()
      // A part gets longer after one that was quick, so their number is the machine's.
      t.ok(Math.min(...lengths) < crowdMs, `${lengths.length} parts: also the crowded minute is parted`)
      t.strictSame(
        counts.map(({ at, value, bytes_in, ...sum }) => [
          `${at} ${value}`,
          [...decisions.map((decision) => sum[decision]), bytes_in],
        ]),
        [...sums].filter(([key]) => listed.includes(key.slice(key.indexOf(' ') + 1))).toSorted(bySize),
      )
      t.equal(valuesLeftOut, sizes.size - listed.length)
      t.equal(reachedMs, undefined, 'all is counted')
    })

  await t.test('too many within a second are refused', async (t) => {
    await insert('ac_2', `fromUnixTimestamp64Milli(toInt64(${begin}), 'UTC')`, 50_001)
    const refused = log.filteredCounts(
      { ...query, accountId: 'ac_2', dimension: 'none' },
      compileCountFilter(filter, false),
    )
    await t.rejects(refused, {
      code: 'ERR_INVALID_REQUEST',
      message: /The "filter" is about client_ip, .*more than 50000 in a second/,
    })
  })
})

/** Oldest first; those with the most decisions of an interval first. */
function bySize([one, sum]: [string, number[]], [other, otherSum]: [string, number[]]): number {
  const sizeOf = ([allow = 0, block = 0, deny = 0]: number[]): number => allow + block + deny
  return (
    Number.parseInt(one, 10) - Number.parseInt(other, 10) ||
    sizeOf(otherSum) - sizeOf(sum) ||
    (one < other ? -1 : 1)
  )
}
