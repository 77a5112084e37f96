/** Accounts created from the command line, and their rights. */
import t from 'tap'
import { bootstrapAccount } from '../../../src/management/write/accounts.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { openTestStore } from '../../harness/api.js'
import { all, newest, statusOf } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'

const dayMs = 24 * 60 * 60_000

t.test('accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { parts } = store
  const run = (command: string, args: Record<string, string> = {}) =>
    runAdminCommand(parts, { command, ...args })

  t.test('the first one is created once', async (t) => {
    const token = 'chosen-by-the-operator'
    const made = await Promise.all([1, 2, 3].map(() => bootstrapAccount(parts.store, parts.writes, token)))
    t.equal(made.filter(Boolean).length, 1)
    t.equal(await bootstrapAccount(parts.store, parts.writes, undefined), undefined)
    const first = await newest(api.stranger(token).apiKey.list())
    t.equal(first.token, null)
  })

  t.test('account create shows the key once', async (t) => {
    const text = await run('account create', { name: 'acme' })
    const [, accountId = '', keyId = '', token = ''] =
      /^account: (ac_\w+)\nkey: (ak_\w+)\ntoken: (\S+)\n$/.exec(text) ?? []
    t.strictSame(
      (await all(api.stranger(token).apiKey.list())).map(({ id }) => id),
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

  t.test('account revoke', async (t) => {
    const me = await api.account()
    const { accountId: account } = me
    const right = 'abuse_reports'
    const report = () => statusOf(me.abuseReport.create({ urls: ['http://a.example'] }))
    await run('account grant', { account, right })
    t.equal(await report(), 'ok')
    t.equal(await run('account revoke', { account, right }), `account: ${account}\nrights: none\n`)
    t.equal(await report(), 403)
    t.match(await run('account revoke', { account, right }), 'none', 'taken back twice')
    await t.rejects(run('account revoke', { account, right: 'all' }), { message: /"all".*abuse_reports/ })
    await t.rejects(run('account revoke', { account: 'ac_nobody', right }), { message: /ac_nobody/ })
    t.equal(await run('account grant', { account, right }), `account: ${account}\nrights: abuse_reports\n`)
  })

  t.test('account list', async (t) => {
    const first = await api.account('the first')
    await first.apiKey.create({})
    const second = await api.account('the second')
    await run('account grant', { account: second.accountId, right: 'abuse_reports' })
    let lines: string[] = []
    const lineOf = ({ accountId }: { accountId: string }) => lines.find((line) => line.startsWith(accountId))
    await until('the view has both keys of the first account and the key of the second', async () => {
      lines = (await run('account list')).split('\n')
      return / 2 keys /.test(lineOf(first) ?? '') && / 1 key /.test(lineOf(second) ?? '')
    })
    t.match(lineOf(first), /^ac_\w+ {2}\d{4}-\S+Z {2}2 keys {4}- {14}the first$/)
    t.match(lineOf(second), /^ac_\w+ {2}\d{4}-\S+Z {2}1 key {5}abuse_reports {2}the second$/)
    t.ok(lines.indexOf(lineOf(first)!) < lines.indexOf(lineOf(second)!), 'the oldest first')
  })

  t.test('the same as JSON', async (t) => {
    const json = 'yes'
    const linesOf = async (command: string, args: Record<string, string> = {}): Promise<object[]> =>
      (await run(command, { ...args, json }))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const [made] = await linesOf('account create', { name: 'made for a program' })
    t.match(made, { account_id: /^ac_/, key_id: /^ak_/, token: /^weir_/ })
    const { account_id: account } = made as { account_id: string }
    const right = 'abuse_reports'
    t.strictSame(await linesOf('account grant', { account, right }), [
      { account_id: account, rights: [right] },
    ])
    // A new key is listed, and counted, once it was compared with ClickHouse.
    let listed: { readonly keys?: number } | undefined
    await until('the first key', async () => {
      listed = (await linesOf('account list')).find((line) => 'id' in line && line.id === account)
      return listed?.keys === 1
    })
    t.match(listed, { created_at: /Z$/, keys: 1, rights: [right], name: 'made for a program' })
    t.match(await linesOf('key create', { account, rights: 'read', expiresIn: '1d' }), [{ token: /^weir_/ }])
    let keys: object[] = []
    await until('both keys', async () => {
      keys = await linesOf('key list', { account })
      return keys.length === 2
    })
    t.match(keys, [
      { account_id: account, rights: null, expires_at: null, last_used: null },
      { account_id: account, rights: ['read'], expires_at: /Z$/, last_used: null },
    ])
    t.strictSame(await linesOf('account revoke', { account, right }), [{ account_id: account, rights: [] }])
  })

  t.test('an account whose last key is lost gets another one', async (t) => {
    const me = await api.account('forgetful')
    const { accountId: account } = me
    const events = await api.auditsOf(account, async () => {
      const text = await run('key create', { account, description: 'the new one' })
      const [, accountId, keyId, token = ''] =
        /^account: (ac_\w+)\nkey: (ak_\w+)\ntoken: (\S+)\n$/.exec(text) ?? []
      t.equal(accountId, account)
      const keys = await all(api.stranger(token).apiKey.list())
      t.match(keys, [{ id: keyId, description: 'the new one', token: null }, {}])
      t.match(
        await run('key list', { account }),
        new RegExp(
          `^ak_.*never used .*\n${keyId} .*Z {2}all +expires never +used \\S+Z from 127.0.0.1 +the new one\n$`,
        ),
      )
      const stored = await parts.clickhouse.text('SELECT * FROM api_keys', 'JSONEachRow')
      t.notMatch(stored, token, 'tokens are stored as hashes')
      t.notMatch(api.log(), token)
    })
    t.match(events, [
      {
        event_type: 'api_key_created.v0',
        principal: { id: account, subject: 'forgetful', source: 'CLI', credential: null },
        object: { description: 'the new one', token: null },
      },
    ])
    t.equal(events.length, 1)
    for (const command of ['key create', 'key list'])
      await t.rejects(run(command, { account: 'ac_nobody' }), { message: /There is no account "ac_nobody"/ })
    const long = run('key create', { account, description: 'x'.repeat(256) })
    await t.rejects(long, { message: /"description" is too long/ })
  })

  t.test('a key from the command line with less than everything', async (t) => {
    const { accountId: account } = await api.account('careful')
    const text = await run('key create', { account, rights: 'read, decide', expiresIn: '90d' })
    const [, keyId = '', token = ''] = /^key: (ak_\w+)\ntoken: (\S+)\n$/m.exec(text) ?? []
    const key = await api.stranger(token).apiKey.get(keyId)
    t.strictSame(key.rights, ['read', 'decide'])
    const days = (Date.parse(key.expires_at!) - Date.parse(key.created_at)) / dayMs
    t.equal(Math.round(days), 90)
    const line = new RegExp(
      `^${keyId}  ${account}  \\S+Z {2}read,decide {8}expires ${key.expires_at} {2}used \\S+Z from 127.0.0.1$`,
      'm',
    )
    t.match(await run('key list', { account }), line)
    t.match(await run('key list'), line, 'of all accounts')
    const refusals: [Record<string, string>, RegExp][] = [
      [{ rights: 'read,everything' }, /"rights\[1\]" .* must be one of "read", "write"/],
      [{ rights: '' }, /"rights" has 0 entries, but must have at least 1/],
      [{ rights: ' , ' }, /"rights" has 0 entries/],
      [{ expiresIn: '' }, /can't expire in ""/],
      [{ expiresIn: 'soon' }, /can't expire in "soon": a time such as 12h or 90d/],
      [{ expiresIn: '4000d' }, /can't expire in "4000d".*at most 3650d/],
      [{ expiresIn: '0s' }, /"expires_at" is .* but must be later than now/],
    ]
    for (const [args, message] of refusals)
      await t.rejects(run('key create', { account, ...args }), { message }, JSON.stringify(args))
  })

  t.test('names', async (t) => {
    for (const name of ['', ' ', 'é'.repeat(128)])
      await t.rejects(run('account create', { name }), { message: /1 to 255 bytes/ })
  })
})
