/**
 * Sums over time by network, server name and client, compared with a plain count of the same rows: any range, interval and
 * selection, in tables whose first rows are of an earlier version, and after rows were deleted and dropped.
 */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { DecisionRow } from '../../../src/delivery/wire/decision-rows.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import type { CountsQuery } from '../../../src/management/store/logs/count-query.js'
import { dropOldestRows } from '../../../src/management/store/logs/log-space.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'
import { tempDir } from '../../harness/temp-dir.js'

const isFull = process.argv.includes('--full')
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }
const begin = Date.parse('2026-11-20T00:00:00Z')
const minutes = 30 * 60
const edgeIds = ['', 'edgtcp_1', 'edgtcp_2']
const asns = [0, 64_500, 64_501, 64_502, 4_294_967_295]
const names = ['', 'a.example', 'b.example', 'Größe', "it's"]
const ipv4 = ['198.51.100.7', '198.51.100.8', '198.51.100.9', '203.0.113.1']
/** Two of one network, one whose number is in its lower half, and one without a number. */
const ipv6 = ['2001:db8::7', '2001:db8::8', 'ff02::1', '::7', '::']
const clientsOf: Readonly<Record<string, readonly string[]>> = {
  ac_mixed: [...ipv4, ...ipv6],
  ac_ipv4: ipv4,
  ac_ipv6: ipv6,
}
const accounts = Object.keys(clientsOf)

/** Numbers that look random, the same in each run. */
const hashOf = (n: number): number => {
  const mixed = Math.imul(n ^ (n >>> 15), 0x2c1b3c6d)
  const more = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (more ^ (more >>> 15)) >>> 0
}

/** Some rows lie a millisecond before a minute, so before a quarter, an hour or a day, too. */
const rows = Array.from({ length: 3_000 }, (_, n) => {
  const pick = <T>(values: readonly T[], salt: number): T => values[hashOf(n * 31 + salt) % values.length]!
  const accountId = pick(accounts, 1)
  const source = pick(['record', 'record', 'record', 'asked'] as const, 2)
  return decisionRow({
    accountId,
    at: begin + (hashOf(n) % minutes) * minuteMs + pick([-1, 0, 30_000], 3),
    recordId: `r${n}`,
    sequence: n,
    clientIp: pick(clientsOf[accountId]!, 4),
    asn: pick(asns, 5),
    serverName: pick(names, 6),
    edgeId: pick(edgeIds, 7),
    decision: pick(['allow', 'block', 'deny'], 8),
    source,
    weight: source === 'asked' ? pick([1, 9], 9) : 1,
    bytesIn: hashOf(n + 1) % 1_000,
    bytesOut: 2 ** 33 + n,
  })
})

const shownBy: Readonly<Record<string, (row: DecisionRow) => string>> = {
  none: () => '',
  asn: ({ asn }) => (asn === 0 ? '' : String(asn)),
  server_name: ({ serverName }) => serverName,
  client_ip: ({ clientIp }) => (clientIp.includes(':') ? clientIp : `::ffff:${clientIp}`),
}

/** By the bytes of a text, as ClickHouse sorts. */
const inOrder = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

interface Chosen {
  readonly asn?: number[]
  readonly server_name?: string[]
  readonly decision?: string[]
  readonly edge_id?: string[]
}

const isChosen =
  (chosen: Chosen) =>
  ({ asn, serverName, decision, edgeId }: DecisionRow): boolean =>
    (chosen.asn?.includes(asn) ?? true) &&
    (chosen.server_name?.includes(serverName) ?? true) &&
    (chosen.decision?.includes(decision) ?? true) &&
    (chosen.edge_id?.includes(edgeId) ?? true)

/**
 * The number of values that are not listed, and the sums of the others: [at, value, allow, block, deny, bytes, bytes,
 * asked].
 */
function plainCounts(stored: readonly DecisionRow[], query: CountsQuery, chosen: Chosen) {
  const { accountId, dimension, sinceMs, untilMs, intervalMs, valuesMax, sources } = query
  const shownOf = shownBy[dimension]!
  const found = stored
    .filter((row) => row.accountId === accountId && row.at >= sinceMs && row.at < untilMs)
    .filter(isChosen(chosen))
  const sizes = new Map<string, number>()
  for (const row of found) sizes.set(shownOf(row), (sizes.get(shownOf(row)) ?? 0) + row.weight)
  // A missing system is ranked by its number, 0.
  const ranked = (value: string) => (dimension === 'asn' ? value || '0' : value)
  const listed = [...sizes]
    .toSorted(([one, a], [other, b]) => b - a || inOrder(ranked(one), ranked(other)))
    .slice(0, valuesMax)
    .map(([value]) => value)
  const sums = new Map<string, [number, string, ...number[]]>()
  for (const row of found.filter((each) => listed.includes(shownOf(each)))) {
    const at = Math.floor(row.at / intervalMs) * intervalMs
    const sum = sums.get(`${at} ${shownOf(row)}`) ?? [at, shownOf(row), 0, 0, 0, 0, 0, 0]
    sums.set(`${at} ${shownOf(row)}`, sum)
    const add = (index: number, amount: number): void => {
      sum[index] = Number(sum[index]) + amount
    }
    if (row.source === 'asked') add(7, row.weight)
    if (!sources.includes(row.source)) continue
    add(2 + ['allow', 'block', 'deny'].indexOf(row.decision), row.weight)
    add(5, row.bytesIn)
    add(6, row.bytesOut)
  }
  return { valuesLeftOut: sizes.size - listed.length, sums: sorted([...sums.values()]) }
}

const sorted = (sums: readonly (readonly [number, string, ...number[]])[]) =>
  sums.toSorted(([at, value], [otherAt, other]) => at - otherAt || inOrder(value, other))

const chosen = fc.oneof(
  fc.constant<Chosen>({}),
  fc.record<Chosen>(
    {
      asn: fc.subarray(asns, { minLength: 1 }),
      server_name: fc.subarray(names, { minLength: 1 }),
      decision: fc.subarray(['allow', 'block', 'deny'], { minLength: 1 }),
      edge_id: fc.subarray(edgeIds, { minLength: 1 }),
    },
    { requiredKeys: [] },
  ),
)

/** Whole hours half of the time. */
const minute = fc.oneof(
  fc.integer({ min: -60, max: minutes + 60 }),
  fc.integer({ min: -1, max: 31 }).map((hour) => hour * 60),
)

const asked = fc.record({
  accountId: fc.constantFrom(...accounts),
  dimension: fc.constantFrom('none', 'asn', 'server_name', 'client_ip'),
  sources: fc.constantFrom(['record' as const], ['asked' as const]),
  intervalMs: fc.constantFrom(...[1, 10, 15, 30, 60, 360, 1_440].map((each) => each * minuteMs)),
  range: fc.uniqueArray(minute, { minLength: 2, maxLength: 2 }).map((both) => both.toSorted((a, b) => a - b)),
  valuesMax: fc.integer({ min: 1, max: 10 }),
  chosen,
})

t.test('sums over time are those of the rows', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  const log = patientReader(clickhouse)
  let stored: readonly DecisionRow[] = []
  const insert = async (from: number, to: number): Promise<void> => {
    // Blocks about records lack the columns of questions.
    for (const source of ['record', 'asked'])
      await clickhouse.insertBlocks('decisions', [
        rowBytes(rows.slice(from, to).filter((row) => row.source === source)),
      ])
    stored = rows.slice(0, to)
  }
  /** The number of sums that were compared. */
  const compareOne = async (
    t: Test,
    query: Omit<CountsQuery, 'selection'>,
    chosen: Chosen,
  ): Promise<number> => {
    const { counts, valuesLeftOut } = await log.counts({ ...query, selection: { values: { ...chosen } } })
    const given = counts.map(({ at, value, allow, block, deny, bytes_in, bytes_out, asked }) => {
      return [at, value, allow, block, deny, bytes_in, bytes_out, asked] as const
    })
    const expected = plainCounts(stored, query, chosen)
    t.strictSame({ valuesLeftOut, sums: sorted(given) }, expected, JSON.stringify({ query, chosen }))
    return given.length
  }
  const compare = async (t: Test, numRuns: number): Promise<void> => {
    let sums = 0
    const property = fc.asyncProperty(asked, async ({ range: [since = 0, until = 0], chosen, ...one }) => {
      const range = { sinceMs: begin + since * minuteMs, untilMs: begin + until * minuteMs }
      sums += await compareOne(t, { ...one, ...range }, chosen)
    })
    await fc.assert(property, { numRuns })
    t.ok(sums > numRuns, `${sums} sums`)
  }
  /** Sums per minute keep what was deleted. */
  const compareApart = async (t: Test): Promise<void> => {
    for (const dimension of ['asn', 'server_name', 'client_ip'])
      for (const from of [0, 7])
        await compareOne(
          t,
          {
            accountId: 'ac_mixed',
            dimension,
            sources: ['record'],
            intervalMs: hourMs,
            sinceMs: begin + from * minuteMs,
            untilMs: begin + 32 * hourMs,
            valuesMax: 20,
          },
          {},
        )
  }
  const projections = async (): Promise<number> => {
    const [found] = await clickhouse.rows<{ parts: number }>(
      "SELECT count() AS parts FROM system.projection_parts WHERE table = 'decisions' AND active",
    )
    return found!.parts
  }

  await t.test('rows of an earlier version', async (t) => {
    await shapeLogTables(clickhouse, bounds)
    await clickhouse.command(
      'ALTER TABLE decisions DROP PROJECTION quarters_by_asn, DROP PROJECTION quarters_by_server_name',
    )
    await insert(0, 1_000)
    await compare(t, isFull ? 30 : 10)
    t.equal(await projections(), 0)
  })

  await t.test('these, and later rows of the same hours', async (t) => {
    await shapeLogTables(clickhouse, bounds)
    await insert(1_000, 2_000)
    await insert(2_000, 3_000)
    t.ok((await projections()) > 0, 'later parts have sums')
    const changes = t.capture(clickhouse, 'command', clickhouse.command.bind(clickhouse))
    await shapeLogTables(clickhouse, bounds)
    t.strictSame(changes().length, 0, 'a next start finds nothing to do')
    changes.restore()
    await compare(t, isFull ? 100 : 30)
  })

  await t.test('merged parts', async (t) => {
    await clickhouse.command('OPTIMIZE TABLE decisions FINAL')
    await compare(t, isFull ? 40 : 15)
  })

  await t.test('statements about whole quarters read sums', async (t) => {
    const cases: readonly [string, number, Chosen, begin: number, reads: readonly boolean[]][] = [
      ['asn', hourMs, {}, 0, [true, true]],
      ['server_name', 15 * minuteMs, {}, 7, [true, true]],
      ['asn', 5 * minuteMs, {}, 7, [true, false]],
      ['asn', hourMs, { decision: ['block'] }, 0, [true, true]],
      ['none', hourMs, { asn: [64_500] }, 0, [true]],
      ['asn', hourMs, { server_name: ['a.example'] }, 0, [false, false]],
      ['client_ip', hourMs, {}, 0, [false, false]],
    ]
    for (const [dimension, intervalMs, chosen, beginMinute, reads] of cases) {
      const statements = t.capture(clickhouse, 'rows', clickhouse.rows.bind(clickhouse))
      await log.counts({
        accountId: 'ac_mixed',
        dimension,
        sources: ['record'],
        intervalMs,
        sinceMs: begin + beginMinute * minuteMs,
        untilMs: begin + 6 * hourMs,
        valuesMax: 5,
        selection: { values: { ...chosen } },
      })
      const found: boolean[] = []
      const [...asked] = statements().map(({ args }) => args)
      statements.restore()
      for (const [sql, params] of asked.filter(([sql]) => !sql.includes('min(minute)'))) {
        const steps = await clickhouse.rows<{ explain: string }>(`EXPLAIN ${sql}`, params)
        found.push(steps.some(({ explain }) => explain.includes('quarters_by_')))
      }
      t.strictSame(
        found,
        reads,
        `${dimension} by ${intervalMs / minuteMs} min with ${JSON.stringify(chosen)}`,
      )
    }
  })

  await t.test('rows that an operator deleted', async (t) => {
    await clickhouse.command("DELETE FROM decisions WHERE asn = 64501 AND decision != 'deny'")
    stored = stored.filter(({ asn, decision }) => asn !== 64_501 || decision === 'deny')
    const left = await clickhouse.rows<{ rows: number }>('SELECT count() AS rows FROM decisions')
    t.equal(left[0]!.rows, stored.length)
    await compareApart(t)
  })

  await t.test('rows that were dropped because of their size', async (t) => {
    const [size] = await clickhouse.rows<{ bytes: number }>(
      "SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE table = 'decisions' AND active",
    )
    t.ok((await dropOldestRows(clickhouse, size!.bytes / 2)) > 0)
    const left = await clickhouse.rows<{ id: string }>('SELECT record_id AS id FROM decisions')
    const ids = new Set(left.map(({ id }) => id))
    t.ok(ids.size > 0 && ids.size < stored.length, `${ids.size} rows are left`)
    stored = stored.filter(({ recordId }) => ids.has(recordId))
    await compareApart(t)
  })
})
