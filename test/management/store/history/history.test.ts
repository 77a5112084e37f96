/** The history in its tables: rows stored twice, rows of an older Weir, and a ClickHouse that is away. */
import t from 'tap'
import { type Clickhouse, openClickhouse } from '../../../../src/management/store/clickhouse/clickhouse.js'
import { migrate } from '../../../../src/management/store/clickhouse/migrate.js'
import { rowEncoder, tableOf } from '../../../../src/management/store/clickhouse/tables.js'
import { History } from '../../../../src/management/store/history/history.js'
import type { Row } from '../../../../src/words/resource/kind/define.js'
import { resourceOf, resources } from '../../../../src/words/resource/registry.js'
import { tempDir } from '../../../harness/temp-dir.js'
import { FollowedView } from './followed-view.js'

const accountId = 'ac_1'
const kinds = resources.map(({ kind }) => kind)

t.test('the history in its tables', async (t) => {
  const clickhouse = await openClickhouse({ directory: tempDir(t) })
  t.teardown(() => clickhouse.close())
  await migrate(clickhouse, resources, 'fingerprint')
  // Merges would remove repeated rows at any time.
  await clickhouse.command(`SYSTEM STOP MERGES`)
  const view = new FollowedView()
  const history = new History(clickhouse, view)
  const write = async (kind: string, row: Partial<Row>, deleted = false, operationId?: string) => {
    const whole = { account_id: accountId, created_at: 1_000, ...row } as Row
    const encode = rowEncoder(resourceOf(kind), { changedAt: 2_000, changedBy: 'ak_1', operationId })
    await clickhouse.insert(tableOf(kind), [encode(whole, deleted)])
    view.touch(kind)
  }
  const rule = (id: string, version: number) => ({ id, version, ip_policy_id: 'ipp_1', cidr: '::/0' })

  t.test('a change that was written twice after a crash is one', async (t) => {
    for (let times = 0; times < 2; times += 1) {
      await write('ip_policy', { id: 'ipp_1', version: 1 }, false, 'op_1')
      await write('ip_policy_rule', rule('ipr_1', 2), false, 'op_2')
      await write('ip_policy_rule', rule('ipr_1', 3), false, 'op_3')
      await write('ip_policy_rule', rule('ipr_2', 3), false, 'op_3')
      await write('ip_policy_rule', rule('ipr_2', 4), true, 'op_4')
    }
    const entries = await history.entries({ accountId, kinds, limit: 100 })
    t.match(entries, [
      { version: 4, kind: 'ip_policy_rule', id: 'ipr_2', verb: 'delete', previous: 3, operationId: 'op_4' },
      { version: 3, kind: 'ip_policy', id: 'ipp_1', verb: 'update', operationId: 'op_3' },
      { version: 2, kind: 'ip_policy_rule', id: 'ipr_1', verb: 'create', operationId: 'op_2' },
      { version: 1, kind: 'ip_policy', id: 'ipp_1', verb: 'create', operationId: 'op_1' },
    ])
    const details = await history.details(accountId, entries)
    t.strictSame(details[1]?.rules, { added: 1, updated: 1, removed: 0 })
    t.match(details[0], { before: { id: 'ipr_2', version: 3 }, after: undefined, rules: undefined })
  })

  t.test('rows of an older Weir have an author, and neither address nor operation', async (t) => {
    await write('tcp_edge', { id: 'edgtcp_1', version: 9 })
    const [entry] = await history.entries({ accountId, kinds: ['tcp_edge'], limit: 1 })
    t.match(entry, { verb: 'create', changedBy: 'ak_1', clientAddress: null, operationId: null })
  })

  t.test('a deleted id that came back was created again, and was not there in between', async (t) => {
    const id = 'bkdtg_1'
    await write('tunnel_group_backend', { id, version: 10 })
    await write('tunnel_group_backend', { id, version: 11 }, true)
    await write('tunnel_group_backend', { id, version: 13 })
    const entries = await history.entries({ accountId, kinds: ['tunnel_group_backend'], id, limit: 9 })
    t.match(entries, [
      { verb: 'create', previous: undefined },
      { verb: 'delete', previous: 10 },
      { verb: 'create', previous: undefined },
    ])
    const backend = resourceOf('tunnel_group_backend')
    t.equal(await history.at(accountId, backend, id, 9), undefined)
    t.match(await history.at(accountId, backend, id, 10), { deleted: false, row: { version: 10 } })
    t.match(await history.at(accountId, backend, id, 12), { deleted: true, row: { version: 11 } })
    t.equal(await history.knows('ac_2', backend, id, {}), false, 'unknown to another account')
  })
})

t.test('while ClickHouse is away, a reader is asked to come again', async (t) => {
  const away = { rows: () => Promise.reject(new Error('connect ECONNREFUSED')) }
  const history = new History(away as unknown as Clickhouse, new FollowedView())
  await t.rejects(history.entries({ accountId, kinds, limit: 1 }), {
    code: 'ERR_UNAVAILABLE',
    message: 'The history was not read: ClickHouse does not answer, or takes too long.',
  })
})
