/**
 * Searches and sums by own times, compared with a plain look at the same rows: late ones, loaded ones, and those whose time
 * does not count.
 */
import t from 'tap'
import type { DecisionRow } from '../../../src/delivery/wire/decision-rows.js'
import { openClickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import type { LogPosition } from '../../../src/management/store/logs/log-windows.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { patientReader } from '../../harness/patient-reader.js'
import { tempDir } from '../../harness/temp-dir.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const stored = Date.parse('2026-11-20T00:00:00Z')
const lastYear = stored - 365 * dayMs

/** Records as they come, most of them soon after they began; and a log of a week of last year, loaded within a minute. */
const rows: readonly DecisionRow[] = [
  ...Array.from({ length: 400 }, (_, n) => {
    const at = stored + n * 7 * minuteMs
    const lateMs = [0, 1_500, 3 * hourMs, -4 * minuteMs][n % 4]!
    const isAsked = n % 10 === 9
    return decisionRow({
      accountId: n % 40 === 39 ? 'ac_2' : 'ac_1',
      at,
      recordId: `r${n}`,
      sequence: n,
      ownAt: isAsked ? at : at - lateMs,
      source: isAsked ? 'asked' : 'record',
      decision: n % 7 === 0 ? 'deny' : 'allow',
      ...(n % 50 === 1 && { ownAt: at, ownTime: n % 100 === 1 ? 'ahead' : 'past' }),
      serverName: `s${n % 3}.example`,
    })
  }),
  ...Array.from({ length: 500 }, (_, n) =>
    decisionRow({
      accountId: 'ac_1',
      at: stored + hourMs + n * 10,
      recordId: `h${n}`,
      sequence: 1_000 + n,
      ownAt: lastYear + n * 20 * minuteMs,
      source: 'history',
      serverName: 'old.example',
      ruleId: ['older rule', 'old rule'][Math.min(n, 1)]!,
    }),
  ),
]

const mine = rows.filter(({ accountId }) => accountId === 'ac_1')
const within = ({ ownAt }: DecisionRow, sinceMs: number, untilMs: number) =>
  ownAt >= sinceMs && ownAt < untilMs

t.test('by own times', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  await shapeLogTables(clickhouse, { retentionMs: 50 * 365 * dayMs, bytesMax: 2 ** 30 })
  for (const source of ['record', 'asked', 'history'])
    await clickhouse.insertBlocks('decisions', [rowBytes(rows.filter((row) => row.source === source))])
  const log = patientReader(clickhouse)
  const ranges = [
    ['all', 0, stored + 10 * dayMs],
    ['a day of last year', lastYear + dayMs, lastYear + 2 * dayMs],
    ['an hour', stored + 5 * hourMs, stored + 6 * hourMs],
    ['before the first was stored', stored - 4 * hourMs, stored],
    ['nothing', stored - 30 * dayMs, stored - 20 * dayMs],
  ] as const

  for (const [name, sinceMs, untilMs] of ranges) {
    await t.test(`${name}: the list, in pages`, async (t) => {
      const query = { accountId: 'ac_1', time: 'own', values: {}, sinceMs, untilMs } as const
      const found: string[] = []
      for (let before: LogPosition | undefined; ; ) {
        const page = await log.page({ ...query, before, limit: 37 })
        found.push(...page.rows.map(({ recordId }) => recordId))
        before = page.next
        if (before === undefined) break
      }
      const wanted = mine
        .filter((row) => within(row, sinceMs, untilMs))
        .toSorted((one, other) => other.ownAt - one.ownAt || other.at - one.at)
      t.strictSame(
        found,
        wanted.map(({ recordId }) => recordId),
      )
    })

    for (const sources of [['record', 'history'], ['history'], ['record']] as const)
      for (const dimension of ['none', 'server_name', 'edge'])
        await t.test(`${name}: sums of ${sources.join(' and ')} by ${dimension}`, async (t) => {
          const range = { sinceMs: Math.max(sinceMs, lastYear - dayMs), untilMs }
          const { counts } = await log.counts({
            accountId: 'ac_1',
            time: 'own',
            dimension,
            sources,
            intervalMs: hourMs,
            valuesMax: 10,
            ...range,
          })
          const sums = new Map<string, number>()
          for (const row of mine) {
            if (!within(row, range.sinceMs, untilMs) || !(sources as readonly string[]).includes(row.source))
              continue
            const value = { none: '', server_name: row.serverName, edge: row.edgeId }[dimension]!
            const key = `${Math.floor(row.ownAt / hourMs) * hourMs} ${value} ${row.decision}`
            sums.set(key, (sums.get(key) ?? 0) + 1)
          }
          const found = counts.flatMap((count) =>
            (['allow', 'block', 'deny'] as const).flatMap((decision) =>
              count[decision] === 0
                ? []
                : [[`${count.at} ${count.value} ${decision}`, count[decision]] as const],
            ),
          )
          t.strictSame(found.toSorted(), [...sums].toSorted())
        })
  }

  await t.test('as they were stored, what was loaded counts for nothing', async (t) => {
    const query = { accountId: 'ac_1', sources: ['record'], intervalMs: hourMs, valuesMax: 10 } as const
    const range = { sinceMs: stored, untilMs: stored + 3 * dayMs }
    for (const dimension of ['none', 'server_name']) {
      const { counts } = await log.counts({ ...query, ...range, dimension })
      const records = mine.filter(({ source }) => source === 'record').length
      t.equal(
        counts.reduce((sum, { allow, deny }) => sum + allow + deny, 0),
        records,
        dimension,
      )
      t.notOk(counts.some(({ value }) => value === 'old.example'))
    }
  })

  await t.test('what decisions named, as for findings', async (t) => {
    const range = { accountId: 'ac_1', sinceMs: lastYear + dayMs }
    const { rule, policy, edge, firstStoredMs } = await log.reachedByOwnTime(range.accountId, range.sinceMs)
    const ofRange = mine.filter(({ ownAt }) => ownAt >= range.sinceMs)
    const expected = (name: 'ruleId' | 'policy' | 'edgeId') =>
      new Set(ofRange.map((row) => row[name]).filter((value) => value !== ''))
    t.strictSame(
      { rule, policy, edge },
      {
        rule: expected('ruleId'),
        policy: expected('policy'),
        edge: expected('edgeId'),
      },
    )
    t.ok(rule.has('old rule'), 'of a loaded record')
    t.notOk(rule.has('older rule'))
    t.equal(firstStoredMs, Math.min(...ofRange.map(({ at }) => at)))
  })

  await t.test('times that do not count are known', async (t) => {
    const outside = mine.filter(({ ownTime }) => ownTime !== 'implied').length
    t.ok(outside > 3)
    const range = { accountId: 'ac_1', sinceMs: 0, untilMs: stored + 10 * dayMs }
    t.equal(await log.outsideTimes(range), outside)
    t.equal(await log.outsideTimes({ ...range, untilMs: stored }), 0)
    const { at, sequence, line, partition, ownAt } = rows[450]!
    t.equal(await log.ownTimeAt('ac_1', { at, sequence, line, partition }), ownAt)
    t.equal(await log.ownTimeAt('ac_2', { at, sequence, line, partition }), undefined)
  })
})
