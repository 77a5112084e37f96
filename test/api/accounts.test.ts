/** Accounts as the command line makes them, and what they may do. */
import t from 'tap'
import { runAdminCommand } from '../../src/admin.js'
import { bootstrapAccount } from '../../src/api/accounts.js'
import { openTestStore } from '../harness/api.js'

t.test('accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { parts } = store
  const run = (command: string, args: Record<string, string> = {}) =>
    runAdminCommand(parts, { command, ...args })

  t.test('the first one is made once', async (t) => {
    const token = 'chosen-by-the-operator'
    const made = await Promise.all([1, 2, 3].map(() => bootstrapAccount(parts.store, parts.writes, token)))
    t.equal(made.filter(Boolean).length, 1)
    t.equal(await bootstrapAccount(parts.store, parts.writes, undefined), undefined)
    const [first] = (await api.stranger(token).get('/api_keys')).keys
    t.equal(first.token, null)
  })

  t.test('account create tells the key, once', async (t) => {
    const text = await run('account create', { name: 'acme' })
    const [, accountId = '', keyId = '', token = ''] =
      /^account: (ac_\w+)\nkey: (ak_\w+)\ntoken: (\S+)\n$/.exec(text) ?? []
    t.strictSame(
      (await api.stranger(token).get('/api_keys')).keys.map(({ id }: { id: string }) => id),
      [keyId],
    )
    const stored = await parts.clickhouse.text('SELECT * FROM api_keys', 'JSONEachRow')
    t.match(stored, accountId)
    t.notMatch(stored, token, 'tokens are stored as hashes')
    t.notMatch(api.log(), token)
  })

  t.test('account grant', async (t) => {
    const { accountId } = await api.account()
    t.match(await run('account grant', { account: accountId, right: 'abuse_reports' }), 'abuse_reports')
    t.match(await run('account grant', { account: accountId, right: 'abuse_reports' }), 'abuse_reports')
    await t.rejects(run('account grant', { account: accountId, right: 'all' }), { message: /abuse_reports/ })
    const unknown = run('account grant', { account: 'ac_nobody', right: 'abuse_reports' })
    await t.rejects(unknown, { message: /ac_nobody/ })
  })

  t.test('names', async (t) => {
    for (const name of ['', ' ', 'é'.repeat(128)])
      await t.rejects(run('account create', { name }), { message: /1 to 255 bytes/ })
  })
})
