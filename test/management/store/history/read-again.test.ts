/**
 * The history of an account that goes on, read again and again: what a process remembers of it must never show in its
 * answers. A random history is compared with what was written, in the order of its versions.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Clickhouse, openClickhouse } from '../../../../src/management/store/clickhouse/clickhouse.js'
import { migrate } from '../../../../src/management/store/clickhouse/migrate.js'
import { rowEncoder, tableOf } from '../../../../src/management/store/clickhouse/tables.js'
import {
  History,
  type HistoryDetail,
  type HistoryEntry,
} from '../../../../src/management/store/history/history.js'
import type { HistoryQuery } from '../../../../src/management/store/history/history-query.js'
import type { Row } from '../../../../src/words/resource/kind/define.js'
import { resourceOf, resources } from '../../../../src/words/resource/registry.js'
import { ViewState } from '../../../../src/words/view/view-state.js'
import { tempDir } from '../../../harness/temp-dir.js'
import { FollowedView } from './followed-view.js'

const firstMs = 1_790_000_000_000
const kinds = resources.map(({ kind }) => kind)
const writtenKinds = [
  'account',
  'ip_policy',
  'ip_policy_rule',
  'tcp_edge',
  'domain',
  'tunnel_credential',
  'api_key',
]

interface Written {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly deleted: boolean
  readonly changedAt: number
}

type Query = Pick<HistoryQuery, 'before' | 'sinceMs' | 'untilMs' | 'limit'>

const newestFirst = (one: { version: number; id: string }, other: { version: number; id: string }) =>
  other.version - one.version || (one.id < other.id ? 1 : -1)

/** The entries of a page, from all that was written. */
function expected(written: readonly Written[], { before, sinceMs, untilMs, limit }: Query) {
  const policyOf = ({ kind, id }: Written) => (kind === 'ip_policy_rule' ? 'ipp_0' : id)
  const groups = new Map<string, Written[]>()
  for (const each of written) {
    const { version, changedAt } = each
    const id = policyOf(each)
    if (sinceMs !== undefined && changedAt < sinceMs) continue
    if (untilMs !== undefined && changedAt >= untilMs) continue
    if (before !== undefined && (version > before.version || (version === before.version && id >= before.id)))
      continue
    const key = `${version} ${id}`
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  const found = [...groups.values()].map((group) => {
    const [first] = group
    const own =
      group.find(({ kind }) => kind !== 'ip_policy_rule') ?? (group.length === 1 ? first : undefined)
    const place = { id: policyOf(first!), version: first!.version }
    const last = own && written.filter(({ id, version }) => id === own.id && version < own.version).at(-1)
    const previous = last === undefined || last.deleted ? undefined : last.version
    return {
      position: place,
      kind: own?.kind ?? 'ip_policy',
      id: own?.id ?? 'ipp_0',
      verb:
        own === undefined ? 'update' : own.deleted ? 'delete' : previous === undefined ? 'create' : 'update',
      previous: own === undefined ? undefined : previous,
      rules:
        own?.kind === 'ip_policy_rule' ? 0 : group.filter(({ kind }) => kind === 'ip_policy_rule').length,
    }
  })
  return found.sort((one, other) => newestFirst(one.position, other.position)).slice(0, limit)
}

const shown = ({ position, kind, id, verb, previous, rules }: HistoryEntry) => ({
  position,
  kind,
  id,
  verb,
  previous,
  rules,
})

const writes = fc.array(
  fc.record({
    kind: fc.constantFrom(...writtenKinds),
    name: fc.integer({ min: 0, max: 2 }),
    deleted: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
)

type Page = typeof page extends fc.Arbitrary<infer T> ? T : never

/** Times are seconds; the clock of the process that wrote may go back. */
const page = fc.record({
  back: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
  since: fc.option(fc.integer({ min: -3, max: 14 }), { nil: undefined }),
  until: fc.option(fc.integer({ min: 0, max: 14 }), { nil: undefined, freq: 3 }),
  limit: fc.integer({ min: 1, max: 8 }),
})

const queryOf = ({ back, since, until, limit }: Page, version: number): Query => ({
  before: back === undefined ? undefined : { version: Math.max(1, version - back), id: 'ipp_0' },
  sinceMs: timeOf(since),
  untilMs: timeOf(until),
  limit,
})

const timeOf = (seconds: number | undefined) =>
  seconds === undefined ? undefined : firstMs + seconds * 1_000

function checkDetail({ id, version, verb, previous, rules }: HistoryEntry, { before, after }: HistoryDetail) {
  if (rules > 0 && verb === 'update') return
  assert.deepEqual([after?.id, after?.version], verb === 'delete' ? [undefined, undefined] : [id, version])
  assert.equal(before?.version, previous)
}

const step = fc.record({
  clock: fc.integer({ min: -2, max: 2 }),
  writes,
  pages: fc.array(page, { maxLength: 3 }),
})

/** ClickHouse, with the statements that it was asked. */
async function openHistory(t: Test) {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  await migrate(clickhouse, resources, 'fingerprint')
  const asked: string[] = []
  const rows: Clickhouse['rows'] = (sql, ...rest) => {
    asked.push(sql)
    return clickhouse.rows(sql, ...rest)
  }
  const write = async (accountId: string, { kind, id, version, deleted, changedAt }: Written) => {
    const ofRule = kind === 'ip_policy_rule' ? { ip_policy_id: 'ipp_0', cidr: '::/0' } : {}
    const row = { account_id: accountId, id, version, created_at: 1_000, ...ofRule } as Row
    const encode = rowEncoder(resourceOf(kind), { changedAt, changedBy: 'cli' })
    await clickhouse.insert(tableOf(kind), [encode(row, deleted)])
  }
  /** The tables that were asked since the last call, each as often as it was named. */
  const tables = () =>
    asked.splice(0).flatMap((sql) => [...sql.matchAll(/FROM (\w+)_versions/g)].map(([, kind]) => kind))
  return { clickhouse: { rows } as Clickhouse, write, tables }
}

t.test('a history that is read while it goes on', async (t) => {
  const { clickhouse, write } = await openHistory(t)
  let accounts = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      accounts += 1
      const accountId = `ac_${accounts}`
      const view = new FollowedView()
      const history = new History(clickhouse, view)
      const written: Written[] = []
      for (const [index, { clock, writes, pages }] of steps.entries()) {
        const version = index + 1
        const changedAt = firstMs + (version + clock) * 1_000
        const rows = new Map(
          writes.map(({ kind, name, deleted }): [string, Written] => {
            const id = `${resourceOf(kind).idPrefix}${name}`
            return [id, { kind, id, version, deleted, changedAt }]
          }),
        )
        await Promise.all([...rows.values()].map((row) => write(accountId, row)))
        written.push(...rows.values())
        // As in the bucket: the rows first, the version last.
        for (const { kind } of rows.values()) view.touch(kind)
        view.reach(accountId, version)
        for (const page of pages) {
          const query = queryOf(page, version)
          const entries = await history.entries({ accountId, kinds, ...query })
          assert.deepEqual(entries.map(shown), expected(written, query))
          const details = await history.details(accountId, entries)
          for (const [place, entry] of entries.entries()) checkDetail(entry, details[place]!)
        }
      }
    }),
    { numRuns: 10 },
  )
})

t.test('what a process knows of the history', async (t) => {
  const { clickhouse, write, tables } = await openHistory(t)
  const accountId = 'ac_1'
  const view = new FollowedView()
  const history = new History(clickhouse, view)
  const change = async (kind: string, id: string, version: number): Promise<void> => {
    await write(accountId, { kind, id, version, deleted: false, changedAt: firstMs + version * 1_000 })
    view.touch(kind)
    view.reach(accountId, version)
  }
  const page = async (options: Partial<HistoryQuery> = {}) => {
    const entries = await history.entries({ accountId, kinds, limit: 2, ...options })
    await history.details(accountId, entries)
    return entries.map(({ version }) => version)
  }
  for (const [index, kind] of ['account', 'api_key', 'domain', 'policy_test', 'tcp_edge'].entries())
    await change(kind, `${resourceOf(kind).idPrefix}1`, index + 1)
  for (const version of [6, 7, 8]) await change('tcp_edge', 'edgtcp_1', version)

  t.test('a page that was read is not read again, but for tables that may have a newer change', async (t) => {
    t.strictSame(await page(), [8, 7])
    t.ok(tables().length > kinds.length, 'at first, every table')
    t.strictSame(await page(), [8, 7])
    t.notMatch(tables(), ['account'], 'no table without a change on the page, and no row')
  })

  t.test('a kind that was changed is read again, also if another account changed it', async (t) => {
    await page()
    tables()
    view.touch('domain')
    t.strictSame(await page(), [8, 7])
    t.ok(tables().includes('domain'))
    await change('domain', 'rd_2', 9)
    t.strictSame(await page(), [9, 8])
    // Of the new version, it is asked once whether a promotion made it.
    const needed: readonly (string | undefined)[] = ['domain', 'tcp_edge', 'challenger']
    t.strictSame(
      tables().filter((kind) => !needed.includes(kind)),
      [],
    )
  })

  t.test('pages since a time read only kinds with changes after it', async (t) => {
    const sinceMs = firstMs + 8_000
    t.strictSame(await page({ sinceMs }), [9, 8])
    tables()
    t.strictSame(await page({ sinceMs: sinceMs + 500, limit: 9 }), [9])
    tables()
    t.strictSame(await page({ sinceMs: sinceMs + 600, limit: 9 }), [9])
    t.strictSame(tables(), ['domain'])
    t.strictSame(await page({ sinceMs: firstMs, limit: 9 }), [9, 8, 7, 6, 5, 4, 3, 2, 1], 'an earlier time')
  })

  t.test('every table is read while the configuration in use is not the present one', async (t) => {
    await page()
    tables()
    view.latest = new ViewState()
    await page()
    t.ok(tables().length >= kinds.length)
    view.latest = view.state
  })

  t.test('a change whose rows are still being stored is read again', async (t) => {
    const rule = (id: string) => ({
      kind: 'ip_policy_rule',
      id,
      version: 10,
      deleted: false,
      changedAt: firstMs,
    })
    const counts = async () => {
      view.touch('ip_policy_rule')
      const entries = await history.entries({ accountId, kinds, limit: 1 })
      const [detail] = await history.details(accountId, entries)
      return detail?.rules
    }
    await write(accountId, rule('ipr_1'))
    await write(accountId, rule('ipr_2'))
    t.match(await counts(), { added: 2 })
    await write(accountId, rule('ipr_3'))
    view.reach(accountId, 10)
    t.match(await counts(), { added: 3 })
    tables()
    t.match(await counts(), { added: 3 })
    t.notOk(tables().some((kind) => kind === undefined))
  })
})
