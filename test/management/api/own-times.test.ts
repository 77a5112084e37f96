/**
 * Decisions by the own times of records, over the management API: lists, pages, sums, and what they say of times that do not
 * count.
 */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'

const hourMs = 60 * 60_000
const stored = Math.floor((Date.now() - 24 * hourMs) / hourMs) * hourMs
const lastYear = stored - 365 * 24 * hourMs
const iso = (ms: number) => new Date(ms).toISOString()

t.test('records of now and of the past', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const me = await (await openApi()).account('me')
  await shapeLogTables(parts.clickhouse, { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 })
  const common = { accountId: me.accountId, recordId: '', edgeId: '' }
  const rows = [
    decisionRow({ ...common, at: stored, ownAt: stored - 2 * hourMs, recordId: 'late', sequence: 1 }),
    decisionRow({
      ...common,
      at: stored + 1,
      ownAt: stored + 1,
      ownTime: 'ahead',
      recordId: 'ahead',
      sequence: 2,
    }),
    decisionRow({ ...common, at: stored + 2, recordId: 'silent', ownAt: stored + 2, sequence: 3 }),
  ]
  const past = [0, 1, 2].map((n) =>
    decisionRow({
      ...common,
      at: stored + 10,
      sequence: 9,
      line: n + 1,
      recordId: `past ${n}`,
      ownAt: lastYear + n * hourMs,
      source: 'history',
      decision: 'deny',
    }),
  )
  await parts.clickhouse.insertBlocks('decisions', [rowBytes(rows), rowBytes(past)])
  const list = async (query: string) => (await me.raw.get(`/decisions?${query}`)).decisions
  const ids = async (query: string) =>
    (await list(query)).map(({ record_id }: { record_id: string }) => record_id)

  await t.test('both times are shown', async (t) => {
    t.match(await list('source=record'), [
      { record_id: 'silent', own_at: null, own_at_refused: null },
      { record_id: 'ahead', at: iso(stored + 1), own_at: null, own_at_refused: 'ahead' },
      { record_id: 'late', at: iso(stored), own_at: iso(stored - 2 * hourMs), own_at_refused: null },
    ])
    t.match(await list('record_id=past%201'), [
      { source: 'history', at: iso(stored + 10), own_at: iso(lastYear + hourMs) },
    ])
  })

  await t.test('since, until and the order go by the times that are asked for', async (t) => {
    const all = ['silent', 'ahead', 'late', 'past 2', 'past 1', 'past 0']
    t.strictSame(await ids('time=own'), all)
    t.strictSame(await ids(''), ['past 2', 'past 1', 'past 0', 'silent', 'ahead', 'late'])
    t.strictSame(await ids(`time=own&until=${iso(stored)}&source=record`), ['late'])
    t.strictSame(await ids(`until=${iso(stored)}&source=record`), [])
    t.strictSame(
      await ids(`source=history&since=${iso(lastYear + hourMs)}&until=${iso(lastYear + 2 * hourMs)}`),
      ['past 1'],
    )
    t.strictSame(await ids(`source=history&time=stored&since=${iso(stored)}`), ['past 2', 'past 1', 'past 0'])
    const found: string[] = []
    for (let path = '/decisions?time=own&limit=1'; path !== ''; ) {
      const { decisions, next_page_uri } = await me.raw.get(path)
      found.push(...decisions.map(({ record_id }: { record_id: string }) => record_id))
      path = next_page_uri === null ? '' : `/decisions${new URL(next_page_uri).search}`
    }
    t.strictSame(found, all, 'in pages')
    const [, ahead] = await list('time=own')
    t.strictSame(await ids(`time=own&before_id=${ahead.id}`), all.slice(2), 'an id is a place in every list')
    t.match(await me.raw.send('GET', '/decisions?time=own&before_id=1-2-3'), { status: 400 })
    t.match(await me.raw.send('GET', '/decisions?time=mine'), {
      status: 400,
      body: { msg: /stored, own are allowed/ },
    })
  })

  await t.test('sums', async (t) => {
    const sums = async (query: string) => {
      const { counts } = await me.raw.get(`/stats?interval=hour&${query}`)
      return counts.map(({ at, allow, deny }: { at: string; allow: number; deny: number }) => [
        at,
        allow,
        deny,
      ])
    }
    const at = (ms: number) => iso(ms).replace('.000', '')
    const year = `since=${iso(lastYear)}&until=${iso(lastYear + 24 * hourMs)}`
    const hours = [0, 1, 2].map((n) => [at(lastYear + n * hourMs), 0, 1])
    t.strictSame(await sums(`time=own&${year}`), hours, 'records of the past are in their place')
    t.strictSame(await sums(`source=history&${year}`), hours)
    t.strictSame(await sums(year), [])
    t.strictSame(await sums(`time=own&source=record&${year}`), [])
    const now = `since=${iso(stored - 3 * hourMs)}&until=${iso(stored + hourMs)}`
    t.strictSame(await sums(now), [[at(stored), 3, 0]], 'what was loaded is no traffic of now')
    t.strictSame(await sums(`time=own&${now}`), [
      [at(stored - 2 * hourMs), 1, 0],
      [at(stored), 2, 0],
    ])
    t.strictSame(await sums(`time=own&filter=${encodeURIComponent("decision == 'deny'")}&${year}`), hours)
    const answer = await me.raw.send('GET', `/stats?interval=hour&time=own&${now}`)
    t.match(JSON.stringify(answer.headers), /1 records of this range say a time/)
    t.match(await me.raw.send('GET', '/stats?by=destination&time=own'), { status: 400 })
  })
})
