/** Decisions as NDJSON or CSV: over pages, and what ends such an answer before it is complete. */
import t from 'tap'
import { unavailable } from '../../../src/ground/core/errors.js'
import { boundsAtOnce } from '../../../src/management/http/bounds/at-once.js'
import type { PageQuery } from '../../../src/management/store/logs/log-reader.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { decisionRow } from '../../harness/decision-rows.js'
import { portOf } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

t.test('an answer of many pages', { timeout: 300_000 }, async (t) => {
  const store = await openTestStore(t)
  /** How many rows there are, and the page that can't be read. */
  let rows = 0
  let brokenPage = 0
  let pages = 0
  const page = async ({ limit, before }: PageQuery) => {
    pages += 1
    if (pages === brokenPage) throw unavailable('ClickHouse does not answer.')
    const first = (before?.line ?? 0) + 1
    const last = Math.min(rows, first + limit - 1)
    const found = Array.from({ length: last - first + 1 }, (_, n) =>
      decisionRow({ line: first + n, policy: 'x'.repeat(200) }),
    )
    return { rows: found, next: last < rows ? found.at(-1) : undefined }
  }
  const api = await store.api({ log: { ...store.parts.log, page } as never })
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const me = await api.account()
  const begin = ({ token }: Caller, query = '') =>
    fetch(`http://127.0.0.1:${portOf(api.app)}/decisions${query}`, {
      headers: { authorization: `Bearer ${token}`, 'service-version': '2', accept: 'application/x-ndjson' },
    })
  const refusal = async (): Promise<number> => {
    const answer = await begin(me)
    // A connection with an unread answer stays open.
    await answer.text()
    return answer.status
  }
  const linesOf = (text: string): number[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).line)
  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

  await t.test('has all rows once, up to its limit', async (t) => {
    rows = 2_500
    t.strictSame(linesOf(await (await begin(me)).text()), upTo(2_500))
    t.strictSame(linesOf(await (await begin(me, '?limit=1200')).text()), upTo(1_200))
    rows = 150_000
    t.equal(linesOf(await (await begin(me)).text()).length, 100_000, 'never more than this')
  })

  await t.test('breaks off if a page cannot be read', async (t) => {
    rows = 150_000
    brokenPage = pages + 1
    t.equal(await refusal(), 503, 'the first page is answered as usual')
    brokenPage = pages + 3
    const broken = await begin(me)
    t.equal(broken.status, 200)
    await t.rejects(broken.text(), 'the client sees that it is not complete')
  })

  await t.test('is read no faster than its client does, and ends with it', async (t) => {
    rows = Number.MAX_SAFE_INTEGER
    const before = pages
    const { perAccount } = boundsAtOnce.log_search
    const answers = []
    for (let n = 0; n < perAccount; n += 1) answers.push(await begin(me))
    t.equal(await refusal(), 503, 'they count while they last')
    for (const { body } of answers) await body?.cancel()
    await until('none counts any more', async () => {
      const { status, body } = await begin(me, '?limit=1')
      await body?.cancel()
      return status === 200
    })
    t.ok(pages - before < perAccount * 100, `${pages - before} pages were read`)
  })

  await t.test('ends when the API stops', async (t) => {
    const answer = await begin(me)
    t.equal(answer.status, 200)
    const closed = api.app.close()
    await t.rejects(answer.text())
    // `fetch` keeps connections of the other answers.
    api.app.server.closeAllConnections()
    await closed
  })
})
