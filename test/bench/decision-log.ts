/**
 * The cost of the decision log in embedded ClickHouse: CPU and bytes per row, and how long its questions take.
 *
 *     node dist/test/bench/decision-log.js [ROWS, default 1000000]
 *
 * Rows of one account lie in three days and have ids with 80 random bits, 100,000 clients of which some come often, 40
 * edges, and a block in twenty. Of each question, the first time counts, too: ClickHouse remembers granules in which
 * it found nothing.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DecisionRows } from '../../src/delivery/wire/decision-rows.js'
import { parseAddress } from '../../src/ground/core/address/ip.js'
import { openClickhouse } from '../../src/management/store/clickhouse/clickhouse.js'
import { LogReader } from '../../src/management/store/logs/log-reader.js'
import { shapeLogTables } from '../../src/management/store/logs/log-tables.js'
import { decisionRow, writtenRow } from '../harness/decision-rows.js'

const rowsTotal = Number(process.argv[2] ?? 1_000_000)
/** As many as under load. */
const rowsPerInsert = 100_000
const hourMs = 60 * 60_000
const countries = ['US', 'DE', 'CN', 'IN', 'ZA', 'BR', 'FR', 'GB', 'JP', 'NL']
const accountId = 'ac_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ'
const hours = 72
const startMs = Date.now() - hours * hourMs

const skewed = (max: number): number => Math.floor(Math.random() ** 3 * max)

/** Rows are stored in the order of time. */
function batch(from: number, random: Buffer): Uint8Array[] {
  const rows = new DecisionRows()
  const blocks: Uint8Array[] = []
  for (let index = 0; index < rowsPerInsert; index += 1) {
    const sequence = from + index
    const client = skewed(100_000)
    const edgeId = `edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFG${String(skewed(40)).padStart(2, '0')}`
    const isBlocked = sequence % 20 === 0
    const row = decisionRow({
      accountId,
      at: startMs + Math.floor((sequence / rowsTotal) * hours * hourMs),
      recordId: `01KAJ${random.toString('hex', index * 10, index * 10 + 10)}`,
      edgeId,
      country: countries[client % 10]!,
      asn: 1000 + (client >>> 8),
      ...(isBlocked && { decision: 'block', decidedBy: 'ip_restriction', decidedById: edgeId }),
      bytesIn: skewed(10_000),
      bytesOut: skewed(100_000),
      sequence: Math.floor(sequence / 100),
      line: 1 + (sequence % 100),
    })
    rows.add(writtenRow(row), parseAddress(`11.${client >>> 16}.${(client >>> 8) & 255}.${client & 255}`))
    if (rows.isFull) blocks.push(rows.take())
  }
  blocks.push(rows.take())
  return blocks
}

const directory = mkdtempSync(join(tmpdir(), 'weir-log-'))
const clickhouse = await openClickhouse({ directory: join(directory, 'clickhouse') })
await shapeLogTables(clickhouse, { retentionMs: (hours + 24) * hourMs, bytesMax: 2 ** 40 })
let cpuMicros = 0
for (let from = 0; from < rowsTotal; from += rowsPerInsert) {
  const blocks = batch(from, randomBytes(rowsPerInsert * 10))
  const before = process.cpuUsage()
  await clickhouse.insertBlocks('decisions', blocks)
  const { user, system } = process.cpuUsage(before)
  cpuMicros += user + system
}
const sizes = await clickhouse.rows<{ table: string; rows: number; bytes: number }>(
  `SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts
WHERE database = currentDatabase() AND active AND table LIKE 'decision%' GROUP BY table ORDER BY table DESC`,
)
for (const { table, rows, bytes } of sizes) console.log(table, { rows, bytes_per_record: bytes / rowsTotal })
console.log('CPU of inserts, merges included', { micros_per_row: (cpuMicros / rowsTotal).toFixed(2) })

const reader = new LogReader(clickhouse, 'all')
const [middle] = await reader.decisions({
  accountId,
  values: {},
  before: { at: startMs + (hours / 2) * hourMs, sequence: 0, line: 0, partition: 0 },
  limit: 1,
})
const list = (values: Record<string, string[]>, more: object = {}) =>
  reader.decisions({ accountId, values, limit: 101, ...more })
const clients = (first: string, last = first) => ({ clients: [first, last] as const })
const counts = (dimension: string, intervalMs: number, back = hours) => {
  const untilMs = Math.ceil(Date.now() / hourMs) * hourMs
  return reader.counts({
    accountId,
    dimension,
    sources: ['record'] as const,
    intervalMs,
    valuesMax: 20,
    sinceMs: untilMs - back * hourMs,
    untilMs,
  })
}
const rareEdge = 'edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFG39'
const questions: Readonly<Record<string, () => Promise<unknown>>> = {
  'the newest': () => list({}),
  'a page in the middle': () => list({}, { before: middle }),
  'a record by its id': () => list({ record_id: [middle!.recordId] }),
  'a record that never came': () => list({ record_id: ['01KAJ'] }),
  'a client of one row in fifty': () => list({}, clients('11.0.0.0')),
  'a client of one row in 100,000': () => list({}, clients('11.0.16.0')),
  'a client of one row in 300,000': () => list({}, clients('11.1.134.159')),
  'a client that never came': () => list({}, clients('192.0.2.1')),
  'a client among others that never came': () => list({}, clients('11.1.134.160')),
  'a range of many clients': () => list({}, clients('11.0.0.0', '11.0.255.255')),
  'a range of four clients': () => list({}, clients('11.1.134.0', '11.1.134.3')),
  'a range that never came': () => list({}, clients('192.0.2.0', '192.0.2.255')),
  'an IPv6 range that never came': () => list({}, clients('2001:db8::', '2001:db8::ffff')),
  'a range, a country and a decision': () =>
    list({ country: ['NL'], decision: ['block'] }, clients('11.0.0.0', '11.0.0.255')),
  'a range and a country that never came': () =>
    list({ country: ['XX'] }, clients('11.0.0.0', '11.0.255.255')),
  'a country that never came': () => list({ country: ['XX'] }),
  'a policy that never denied': () => list({ policy: ['nothing'] }),
  'a frequent edge': () => list({ edge_id: [middle!.edgeId] }),
  'an edge of one row in a hundred': () => list({ edge_id: [rareEdge] }),
  'an edge and a client that never met': () => list({ edge_id: [rareEdge] }, clients('11.1.134.160')),
  'what was blocked': () => list({ decision: ['block', 'deny'] }),
  'what was denied': () => list({ decision: ['deny'] }),
  'sums by minute, of an hour': () => counts('none', 60_000, 1),
  'sums by minute and edge': () => counts('edge', 60_000, 16),
  'sums by hour and country': () => counts('country', hourMs),
  'sums by hour and policy': () => counts('policy', hourMs),
  'sums by day and edge': () => counts('edge', 24 * hourMs),
}
for (const [question, ask] of Object.entries(questions)) {
  const times: number[] = []
  const before = process.cpuUsage()
  let cpuMs = 0
  for (let round = 0; round < 7; round += 1) {
    const began = performance.now()
    await ask()
    times.push(Math.round(performance.now() - began))
    const { user, system } = process.cpuUsage(before)
    if (round === 0) cpuMs = Math.round((user + system) / 1000)
  }
  const sorted = times.toSorted((a, b) => a - b)
  console.log(question, { first_ms: times[0], first_cpu_ms: cpuMs, median_ms: sorted[3], max_ms: sorted[6] })
}
await clickhouse.close()
rmSync(directory, { recursive: true })
