/** Numbers of many edges in one request: of each that is named, of no other account's, and within the limits. */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, failureBytes, failureRow, rowBytes } from '../../harness/decision-rows.js'

const bounds = { retentionMs: 50 * 365 * 24 * 60 * 60_000, bytesMax: 2 ** 30 }
const day = Date.parse('2026-11-20T00:00:00Z')
const range = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' }
const edgeCount = 25

t.test('more edges than the busiest that are listed by default', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  const { clickhouse } = parts
  await shapeLogTables(clickhouse, bounds)
  const api = await openApi()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const { accountId } = mine
  const idsOf = async (client: typeof mine, count: number, name: string): Promise<string[]> => {
    const ids: string[] = []
    for (let index = 0; index < count; index++)
      ids.push((await client.tcpEdge.create({ hostports: [`several-${name}-${index}.example:22`] })).id)
    return ids
  }
  const ids = await idsOf(mine, edgeCount, 'mine')
  const [foreign = ''] = await idsOf(theirs, 1, 'theirs')
  // The edge at each index has so many decisions and one more, and fewer failures.
  const rows = ids.flatMap((edgeId, index) =>
    Array.from({ length: index + 1 }, (_, line) =>
      decisionRow({ accountId, edgeId, at: day + line, sequence: index, line, recordId: `${index}-${line}` }),
    ),
  )
  const foreignRow = decisionRow({ accountId: theirs.accountId, edgeId: foreign, at: day, recordId: 'their' })
  await clickhouse.insertBlocks('decisions', [rowBytes(rows), rowBytes([foreignRow])])
  await clickhouse.insertBlocks('expression_failures', [
    failureBytes(
      ids
        .slice(1)
        .map((edgeId, index) => failureRow({ accountId, edgeId, policy: 'p', failures: index + 1 })),
    ),
  ])

  t.test('each has its own sums, the least busy ones, too', async (t) => {
    const quiet = ids.slice(0, 22)
    const sumsOf = async (more: Parameters<typeof mine.stats>[0] = {}) =>
      new Map(
        (await mine.stats({ ...range, interval: 'day', by: 'edge', ...more })).counts.map(
          ({ value, allow }) => [value, allow],
        ),
      )
    const wanted = (of: readonly string[]) => new Map(of.toReversed().map((id) => [id, ids.indexOf(id) + 1]))
    t.strictSame(await sumsOf({ edgeId: quiet.join(), values: 100 }), wanted(quiet))
    t.strictSame(await sumsOf({ values: 100 }), wanted(ids))
    t.strictSame(await sumsOf({ edgeId: `${ids[0]},${ids[0]}` }), wanted(ids.slice(0, 1)), 'named twice')
    t.match(await mine.stats({ ...range, interval: 'day', by: 'edge', edgeId: quiet.join(), values: 5 }), {
      values_left_out: 17,
    })
    const together = await mine.stats({ ...range, interval: 'day', edgeId: `${ids[0]},${ids[4]}` })
    t.match(together.counts, [{ value: null, allow: 6 }], 'both together, from the sums')
    const { counts } = await mine.stats({
      ...range,
      interval: 'day',
      by: 'edge',
      edgeId: `${ids[0]},${ids[4]}`,
      filter: 'true',
    })
    t.strictSame(
      counts.map(({ value, allow }) => [value, allow]),
      [
        [ids[4], 5],
        [ids[0], 1],
      ],
      'the same from rows',
    )
  })

  t.test('decisions and failures of several', async (t) => {
    const two = `${ids[1]},${ids[2]}`
    const found: string[] = []
    for await (const { record_id } of mine.decisions({ edgeId: two, limit: 2 })) found.push(record_id)
    t.strictSame(found.sort(), ['1-0', '1-1', '2-0', '2-1', '2-2'], 'in pages')
    const { expression_failures } = await mine.expressionFailures({ edgeId: two })
    t.strictSame(
      expression_failures.map(({ place, count }) => [place.edge_id, count]),
      [
        [ids[2], 2],
        [ids[1], 1],
      ],
    )
    t.strictSame((await mine.expressionFailures({ edgeId: ids[0]! })).expression_failures, [])
  })

  t.test('what may not be named is refused, as if it did not exist', async (t) => {
    const unknown = foreign.replace(/.{4}$/, '0000')
    for (const path of ['/stats', '/decisions', '/expression_failures']) {
      for (const id of [foreign, unknown, 'edgtcp_1'])
        for (const edges of [id, `${ids[0]},${id}`, `${id},${ids[0]}`])
          t.match(
            await mine.raw.send('GET', `${path}?edge_id=${edges}`),
            { status: 404, body: { msg: `"edge_id" names "${id}", which does not exist.` } },
            `${path} ${edges}`,
          )
      for (const edges of ['', `${ids[0]},`, `,${ids[0]}`])
        t.match(
          await mine.raw.send('GET', `${path}?edge_id=${edges}`),
          { status: 400, body: { msg: /"edge_id" must have 1 to 255 characters/ } },
          `${path} ${edges}`,
        )
      const many = Array.from({ length: 101 }, (_, index) => `edgtcp_${index}`)
      t.match(await mine.raw.send('GET', `${path}?edge_id=${many}`), {
        status: 400,
        body: { msg: /"edge_id" names 101 values: at most 100 are allowed/ },
      })
    }
    t.match(await mine.raw.send('GET', '/stats?by=edge&values=101'), {
      status: 400,
      body: { msg: /"values" is "101".*1 to 100/ },
    })
    t.equal((await theirs.raw.send('GET', `/stats?edge_id=${foreign},${ids[0]}`)).status, 404)
    t.match((await theirs.stats({ ...range, interval: 'day', by: 'edge', values: 100 })).counts, [
      { value: foreign, allow: 1 },
    ])
  })
})
