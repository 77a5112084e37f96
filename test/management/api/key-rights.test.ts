/** Keys with less than everything: each operation needs one right, a key may have an end, and shows its last use. */
import t from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { now } from '../../../src/ground/core/clock.js'
import { type KeyRight, keyRights } from '../../../src/words/resource/api-key.js'
import { rowKey } from '../../../src/words/view/keys.js'
import { openTestStore } from '../../harness/api.js'
import { all, newest, statusOf } from '../../harness/caller.js'
import { Checks } from '../../harness/checks.js'
import { until } from '../../harness/weir.js'
import { filled, unknownId } from './operations.js'

const dayMs = 24 * 60 * 60_000
const rfc3339 = (ms: number): string => new Date(ms).toISOString()

/** The operations that a key with one right may use. */
const included: Readonly<Record<KeyRight, readonly KeyRight[]>> = {
  read: ['read'],
  write: ['read', 'write'],
  skip_tests: ['skip_tests'],
  decide: ['decide'],
  publish: ['publish'],
  all: keyRights,
}

/** Operations whose right does not follow from their method. */
const special: Readonly<Record<string, KeyRight>> = {
  'post /decide': 'decide',
  'post /records': 'publish',
  'post /v1/logs': 'publish',
  'post /edges/tcp/{id}/policies/try': 'read',
  'post /edges/https/{id}/policies/try': 'read',
  'post /edges/https/{edge_id}/routes/{id}/policies/try': 'read',
  'post /edges/tcp/{id}/ip_restriction/try': 'read',
  'post /edges/https/{edge_id}/routes/{id}/ip_restriction/try': 'read',
  'post /ip_restrictions/{id}/try': 'read',
  'post /event_subscriptions/try': 'read',
  'post /tries': 'read',
  'delete /tries/{id}': 'read',
  'post /policy_tests/run': 'read',
  'post /api_keys': 'all',
  'patch /api_keys/{id}': 'all',
  'delete /api_keys/{id}': 'all',
  'post /api_keys/{id}/restore': 'all',
}

t.test('rights of keys', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const holders = new Map<KeyRight, { id: string; client: typeof me }>()
  for (const right of keyRights) {
    const { id, token } = await me.apiKey.create({ rights: [right] })
    holders.set(right, { id, client: me.withToken(token) })
  }
  const operations = Object.entries(api.app.swagger().paths ?? {})
    // Signing in and out of the web console needs no right: `console-session.test.ts`.
    .filter(([path]) => path !== '/console/session')
    .flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Described>).map(([method, operation]) => ({
        name: `${method} ${path}`,
        method,
        path,
        operation,
      })),
    )

  t.test('every operation of the document names the right that it needs', (t) => {
    for (const { name, method, operation } of operations) {
      const right = special[name] ?? (method === 'get' ? 'read' : 'write')
      t.strictSame(operation.security, [{ key: [right] }], name)
      t.match(operation.description, new RegExp(`The key needs the right \`${right}\`\\.$`), name)
    }
    const names = operations.map(({ name }) => name)
    for (const name of Object.keys(special)) t.ok(names.includes(name), `${name} exists`)
    t.end()
  })

  t.test('and refuses a key without it, whatever it sends; any other key passes', async (t) => {
    const checks = new Checks()
    for (const { name, method, path, operation } of operations) {
      const [right] = operation.security[0]!.key
      const url = await filled(path, unknownId)
      for (const [held, { id, client }] of holders) {
        const mayPass = included[held].includes(right!)
        // A stream never ends: `live.test.ts` reads it.
        if (mayPass && path === '/live') continue
        const body = method === 'get' ? undefined : mayPass ? { unheard: 'of' } : 'not JSON'
        const { status, body: answer } = await client.raw.send(method.toUpperCase(), url, { body })
        const msg: string | undefined = answer?.msg ?? answer?.message
        const isLacking = status === 403 && msg?.startsWith('The API key') === true
        checks.equal(isLacking, !mayPass, `${name} with the right ${held}: ${msg}`)
        if (!mayPass)
          checks.equal(msg, `The API key ${id} lacks the right "${right}": its rights are ${held}.`)
      }
    }
    checks.report(t)
  })

  t.test('a path that does not exist is judged by its method', async (t) => {
    const cases: [KeyRight, string, number][] = [
      ['read', 'GET', 404],
      ['read', 'POST', 403],
      ['write', 'POST', 404],
      ['decide', 'GET', 403],
    ]
    for (const [held, method, status] of cases) {
      const { client } = holders.get(held)!
      t.equal((await client.raw.send(method, '/nowhere')).status, status, `${held} ${method}`)
    }
  })

  t.test('several rights add up', async (t) => {
    const { token, rights } = await me.apiKey.create({ rights: ['decide', 'read'] })
    t.strictSame(rights, ['decide', 'read'])
    const client = me.withToken(token)
    t.ok(await newest(client.apiKey.list()))
    await client.decide({ type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } })
    t.match(
      await client.raw.refused(403, 'POST', '/ip_policies', {}),
      /lacks the right "write": its rights are decide, read\.$/,
    )
  })

  t.test('an empty list of rights is refused, not taken for all', async (t) => {
    const empty = /"rights" has 0 entries, but must have at least 1/
    t.match(await me.raw.refused(400, 'POST', '/api_keys', { rights: [] }), empty)
    t.match(await me.raw.refused(400, 'POST', '/api_keys', { rights: null }), /"rights" is null, but/)
    t.match(await me.raw.refused(400, 'POST', '/api_keys?validate_only=true', { rights: null }), /"rights"/)
    t.match(await me.raw.refused(400, 'POST', '/api_keys', { rights: '' }), /"rights"/)
    t.match(await me.raw.refused(400, 'POST', '/api_keys', { rights: {} }), /"rights"/)
    t.match(await me.raw.refused(400, 'POST', '/api_keys?validate_only=true', { rights: [] }), empty)
    t.equal((await me.apiKey.create({})).rights, undefined)
    for (const { id } of holders.values())
      t.match(
        await me.raw.refused(400, 'PATCH', `/api_keys/${id}`, { rights: [] }),
        /"rights" is \[\], but can't be changed after creation/,
      )
  })

  t.test('a key with an end', async (t) => {
    const soon = rfc3339(now() + dayMs)
    const made = await me.apiKey.create({ expires_at: soon })
    t.equal(made.expires_at, `${soon.slice(0, 19)}Z`, 'in whole seconds')
    t.equal((await me.apiKey.get(made.id)).expires_at, made.expires_at)
    t.equal((await me.apiKey.create({ expires_at: null })).expires_at, null)
    t.equal((await me.apiKey.create({})).expires_at, null)
    const refusals: [name: string, value: unknown, says: RegExp][] = [
      ['the past', rfc3339(now() - 1_000), /"expires_at" is .* but must be later than now/],
      ['far away', rfc3339(now() + 3651 * dayMs), /by at most 3650 days; null: the key never expires/],
      ['no time', 'tomorrow', /"expires_at" is "tomorrow": an RFC 3339 time/],
      ['a number', 1_900_000_000, /"expires_at" is 1900000000/],
    ]
    for (const [name, expires_at, says] of refusals)
      t.match(await me.raw.refused(400, 'POST', '/api_keys', { expires_at }), says, name)
    const later = { expires_at: rfc3339(now() + 2 * dayMs) }
    t.match(
      await me.raw.refused(400, 'PATCH', `/api_keys/${made.id}`, later),
      /can't be changed after creation/,
    )
    const shown = await me.raw.get(`/api_keys/${made.id}`)
    await me.raw.expect(200, 'PATCH', `/api_keys/${made.id}`, { ...shown, description: 'sent back' })

    const heir = me.withToken(made.token)
    for (const expires_at of [null, later.expires_at])
      t.match(
        await heir.raw.refused(400, 'POST', '/api_keys', { expires_at }),
        new RegExp(`"expires_at" must be at most "${made.expires_at}": the API key ${made.id} expires then`),
      )
    t.ok((await heir.apiKey.create({ expires_at: made.expires_at })).token, 'as long as itself')
  })

  t.test('an expired key is refused, still listed, and can be deleted', async (t) => {
    const expiry = rfc3339(now() + 2_000)
    const { id, token, expires_at } = await me.apiKey.create({ expires_at: expiry })
    const client = me.withToken(token)
    await until('it has expired', async () => (await statusOf(all(client.apiKey.list()))) === 401)
    t.ok(now() >= Date.parse(expires_at!), 'not earlier')
    const { error_code, msg } = await client.raw.expect(401, 'GET', '/edges/tcp')
    t.equal(error_code, 'ERR_UNAUTHENTICATED')
    t.equal(msg, 'The API key is not valid.', 'as for an unknown key')
    t.ok((await all(me.apiKey.list())).some((key) => key.id === id))
    await me.apiKey.delete(id)
    t.match(await client.raw.refused(401, 'GET', '/edges/tcp'), /not valid/)
  })

  t.test('the last use of a key is shown, also of a request that was refused', async (t) => {
    const made = await me.apiKey.create({ rights: ['read'] })
    t.match(made, { last_used_at: null, last_used_from: null })
    const path = `/api_keys/${made.id}`
    const client = me.withToken(made.token)
    const events = await api.auditsOf(me.accountId, async () => {
      const before = now()
      await client.raw.send('GET', '/edges/tcp', { from: '203.0.113.9' })
      const shown = await me.apiKey.get(made.id)
      t.ok(Date.parse(shown.last_used_at!) > before - 1_000 && Date.parse(shown.last_used_at!) <= now())
      t.equal(shown.last_used_from, '203.0.113.9')
      await client.raw.send('POST', '/ip_policies', { from: '2001:db8::1', body: {} })
      const [listed] = await all(me.apiKey.list({ filter: 'last_used_from == "2001:db8::1"' }))
      t.equal(listed?.id, made.id)
      const sentBack = { ...shown, description: 'used since it was read' }
      t.match(await me.raw.expect(200, 'PATCH', path, sentBack), { last_used_from: '2001:db8::1' })
    })
    t.equal(events.length, 1, 'only the change is announced')
    t.match(events[0]!.object, { id: made.id, expires_at: null })
    t.notOk(Object.keys(events[0]!.object).some((name) => name.startsWith('last_used')))
    const rows = await store.parts.clickhouse.text(
      `SELECT count() AS rows FROM api_keys_history WHERE id = '${made.id}'`,
      'JSONEachRow',
    )
    t.match(rows, /"rows":"?2"?/, 'and stored')
    const { changes } = await me.raw.get(`${path}/changes`)
    t.notMatch(JSON.stringify(changes), 'last_used')
    t.match(await me.raw.refused(400, 'POST', '/api_keys', { last_used_at: null }), /no field "last_used_at"/)
  })

  t.test('rights and expiry that another program wrote into the bucket do not count', async (t) => {
    const config = (await store.admin.findBucket(bucketNames.config))!
    const forgeries = [{ rights: null }, { expires_at: null }]
    for (const forgery of forgeries) {
      const { id, token } = await me.apiKey.create({
        rights: ['read'],
        expires_at: rfc3339(now() + dayMs),
      })
      const stored = JSON.parse(Buffer.from((await config.get(rowKey('api_key', id)))!.value!).toString())
      await config.put(rowKey('api_key', id), JSON.stringify({ ...stored, ...forgery }))
      await until(
        `a key with forged ${Object.keys(forgery)} is refused`,
        async () => (await statusOf(all(me.withToken(token).tcpEdge.list()))) === 401,
      )
      t.pass()
    }
  })
})

interface Described {
  readonly description: string
  readonly security: readonly { readonly key: readonly KeyRight[] }[]
}
