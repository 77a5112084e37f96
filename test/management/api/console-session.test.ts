/** Sessions of the web console: signing in and out, the cookie, what ends a session, and what other sites can't do. */
import t, { type Test } from 'tap'
import { sessionsBucket } from '../../../src/delivery/wire/names.js'
import { now } from '../../../src/ground/core/clock.js'
import { hashToken } from '../../../src/ground/core/ids.js'
import { openSessions, sessionLifetimeMs } from '../../../src/management/access/sessions.js'
import { codeLifetimeMs, SignInCodes } from '../../../src/management/access/sign-in-codes.js'
import { Usage } from '../../../src/management/access/usage.js'
import { base, fromConsole, openTestStore, signIn, type TestApi, type TestStore } from '../../harness/api.js'
import { all, type Caller, refused, statusOf } from '../../harness/caller.js'
import type { Headers } from '../../harness/raw-client.js'
import { until } from '../../harness/weir.js'

const path = '/console/session'

/** Sends without a key, with these headers of a browser. */
const send = (caller: Caller, method: string, headers: Headers, body?: unknown, from?: string) =>
  caller.raw.send(method, path, {
    headers: { ...fromConsole, ...headers },
    ...(body === undefined ? {} : { body }),
    ...(from === undefined ? {} : { from }),
  })

const tokenIn = (cookie: string): string => cookie.split('=')[1]!

t.test('sessions', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('mine')

  t.test('signing in by key', async (t) => {
    const { id, token } = await me.apiKey.create({ description: 'night shift', rights: ['read'] })
    const before = now()
    const made = await send(me, 'POST', {}, { token }, '203.0.113.77')
    t.equal(made.status, 201, made.text)
    t.match(made.body, {
      account_id: me.accountId,
      account_name: 'mine',
      account_rights: [],
      api_key_id: id,
      api_key_description: 'night shift',
      rights: ['read'],
    })
    const lastsMs = Date.parse(made.body.expires_at) - before
    t.ok(Math.abs(lastsMs - sessionLifetimeMs) < 60_000, made.body.expires_at)
    t.match(
      made.headers['set-cookie'],
      /^weir_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800$/,
    )
    t.match(made.headers, { 'cache-control': 'no-store' })
    t.equal((await me.apiKey.get(id)).last_used_from, '203.0.113.77', 'the key is used')
    const [cookie] = made.headers['set-cookie']!.split(';')
    const shown = await send(me, 'GET', { cookie })
    t.equal(shown.status, 200)
    t.strictSame(shown.body, made.body)
    t.notMatch(api.log(), token)
    t.notMatch(api.log(), tokenIn(cookie!))
  })

  t.test('refused sign-ins', async (t) => {
    const { token } = me
    const cases: [name: string, status: number, says: RegExp, body: unknown, headers?: Headers][] = [
      ['a wrong key', 401, /API key is not valid/, { token: 'weir_nobody' }],
      ['a wrong code', 401, /link was used, or is older/, { code: 'nothing' }],
      ['neither', 400, /"token".*or "code"/, {}],
      ['both', 400, /one of them/, { token, code: 'x' }],
      ['a number', 400, /"token" must be a string/, { token: 5 }],
      ['too long', 400, /"code" must be a string/, { code: 'x'.repeat(201) }],
      ['something else', 400, /has no field "password"/, { password: 'x' }],
      ['a list', 400, /must be a JSON object/, []],
      ['too large', 413, /too large/, { token: 'x'.repeat(5_000) }],
      ['a form', 415, /content type/, 'token=x', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['no header', 403, /"Weir-Console: 1"/, { token }, { 'weir-console': undefined }],
      ['another origin', 403, /evil\.example/, { token }, { origin: 'https://evil.example' }],
      ['a sandboxed page', 403, /"null"/, { token }, { origin: 'null' }],
      ['another site', 403, /another site/, { token }, { 'sec-fetch-site': 'cross-site' }],
      ['a neighbour', 403, /another origin/, { token }, { 'sec-fetch-site': 'same-site' }],
    ]
    for (const [name, status, says, body, headers = {}] of cases) {
      const answer = await send(me, 'POST', headers, body)
      t.equal(answer.status, status, `${name}: ${answer.text}`)
      t.match(answer.body.msg, says, name)
      t.equal(answer.headers['set-cookie'], undefined, name)
      t.notMatch(answer.text, token, `${name}: no secret is repeated`)
    }
    const { token: expired } = await me.apiKey.create({ expires_at: new Date(now() + 1_500).toISOString() })
    await until(
      'the key has expired',
      async () => (await send(me, 'POST', {}, { token: expired })).status === 401,
    )
  })

  t.test('failed sign-ins count as failed logins', async (t) => {
    const limited = await store.api({ usage: new Usage(0) })
    const nobody = limited.stranger()
    const from = '198.51.100.7'
    const statuses = new Set<number>()
    for (let tries = 0; tries < 40; tries += 1)
      statuses.add((await send(nobody, 'POST', {}, { token: `weir_${tries}` }, from)).status)
    t.strictSame([...statuses], [401, 429])
    const guess = `weir_console=${'g'.repeat(43)}`
    t.equal((await send(nobody, 'GET', { cookie: guess }, undefined, from)).status, 429, 'also by cookie')
    t.equal((await send(nobody, 'POST', {}, { code: 'guess' }, '127.0.0.1')).status, 401, 'of one address')
    t.equal((await send(nobody, 'POST', {}, { token: me.token }, from)).status, 201, 'a valid key passes')
  })

  t.test('a session stands for its key', async (t) => {
    const { id, token } = await me.apiKey.create({ rights: ['read'] })
    const reader = await api.signedIn(me.withToken(token))
    await all(reader.ipPolicy.list())
    t.match(
      await refused(403, reader.ipPolicy.create({})),
      new RegExp(`API key ${id} lacks the right "write"`),
    )
    const writer = await api.signedIn(me)
    const events = await api.auditsOf(me.accountId, () => writer.ipPolicy.create({}))
    const [own] = await api.auditsOf(me.accountId, () => me.ipPolicy.create({}))
    t.strictSame(events[0]!.principal, own!.principal, 'the same author as with the token')
    const theirs = await (await api.account()).ipPolicy.create({})
    t.equal(await statusOf(writer.ipPolicy.get(theirs.id)), 404, 'of another account')
    const { headers, status, body } = await writer.raw.send('GET', '/ip_policies', {
      headers: { 'service-version': undefined },
    })
    t.equal(status, 400, 'other operations need the version')
    t.equal(body.error_code, 'ERR_VERSION')
    t.equal(headers['cache-control'], 'no-store')
    const session = { authorization: 'Bearer weir_nobody', cookie: writer.cookie }
    t.equal((await me.raw.send('GET', '/ip_policies', { headers: session })).status, 401, 'the token counts')
  })

  t.test('other sites can do nothing', async (t) => {
    const { cookie } = await api.signedIn(me)
    const request = (method: string, headers: Headers) =>
      me.raw.send(method, '/ip_policies', {
        headers: { authorization: undefined, cookie, ...headers },
        ...(method === 'GET' ? {} : { body: {} }),
      })
    const own = { 'weir-console': '1' }
    const host = new URL(base).host
    const cases: [name: string, method: string, status: number, headers: Headers][] = [
      ['a read', 'GET', 200, {}],
      [
        'a read of a neighbour, which the browser hides from it',
        'GET',
        200,
        { 'sec-fetch-site': 'same-site' },
      ],
      ['a read of another site', 'GET', 403, { 'sec-fetch-site': 'cross-site' }],
      ['a write without the header', 'POST', 403, {}],
      ['with another value', 'POST', 403, { 'weir-console': 'true' }],
      ['a write', 'POST', 201, own],
      [
        'of this origin',
        'POST',
        201,
        { ...own, origin: `http://${host}`, host, 'sec-fetch-site': 'same-origin' },
      ],
      [
        'of this origin, by another name',
        'POST',
        201,
        { ...own, origin: 'http://127.0.0.1:9', host: '127.0.0.1:9' },
      ],
      ['of another origin', 'POST', 403, { ...own, origin: 'https://evil.example' }],
      ['of another port', 'POST', 403, { ...own, origin: 'http://127.0.0.1:9', host: '127.0.0.1:8' }],
      ['of a sandboxed page', 'POST', 403, { ...own, origin: 'null' }],
      ['of a neighbour', 'POST', 403, { ...own, 'sec-fetch-site': 'same-site' }],
      ['of another site', 'POST', 403, { ...own, 'sec-fetch-site': 'cross-site' }],
      ['of a forged proxy', 'POST', 403, { ...own, origin: 'http://x', 'x-forwarded-host': 'x' }],
    ]
    for (const [name, method, status, headers] of cases) {
      const answer = await request(method, headers)
      t.equal(answer.status, status, `${name}: ${answer.text}`)
      if (status === 403) t.equal(answer.body.error_code, 'ERR_FORBIDDEN', name)
    }
    t.match((await request('POST', {})).body.msg, '"Weir-Console: 1"', 'the message names the header')
    const twice = `${cookie}; weir_console=${'x'.repeat(43)}`
    t.equal((await request('GET', { cookie: twice })).status, 401, 'a neighbour adds a cookie')
    t.equal((await request('GET', { cookie: `a=b; ${cookie} ; c=d` })).status, 200, 'among others')
  })

  t.test('a proxy that is trusted', async (t) => {
    const proxied = await store.api({ trustedProxies: ['127.0.0.1/32'], baseUrl: 'https://weir.example' })
    const { token } = me
    const forwarded = {
      'x-forwarded-host': 'weir.example',
      'x-forwarded-for': '192.0.2.4',
      'x-forwarded-proto': 'https',
    }
    const caller = proxied.stranger()
    const made = await send(caller, 'POST', { ...forwarded, origin: 'https://weir.example' }, { token })
    t.equal(made.status, 201, made.text)
    t.match(made.headers['set-cookie'], /^__Host-weir_console=.*; Secure$/)
    t.equal(
      (await send(caller, 'POST', { origin: 'https://weir.example' }, { token })).status,
      201,
      'the base URL, if the proxy does not pass on the host',
    )
    t.equal(
      (await send(caller, 'POST', { ...forwarded, origin: 'https://x.example' }, { token })).status,
      403,
    )
    const rebound = { ...forwarded, 'x-forwarded-host': 'x.example', origin: 'https://x.example' }
    t.equal(
      (await send(caller, 'POST', rebound, { token })).status,
      403,
      'a name that was made to lead to the proxy',
    )
    const plain = await send(me, 'POST', {}, { token })
    t.notMatch(plain.headers['set-cookie'], 'Secure')
    const secure = await store.api({ baseUrl: 'https://weir.example' })
    t.match(
      (await send(secure.stranger(), 'POST', { host: 'weir.example' }, { token })).headers['set-cookie'],
      /; Secure$/,
    )
  })

  t.test('signing out', async (t) => {
    const caller = await api.signedIn(me)
    const { cookie } = caller
    t.equal((await send(me, 'DELETE', { cookie, 'weir-console': undefined })).status, 403, 'needs the header')
    const out = await send(me, 'DELETE', { cookie })
    t.equal(out.status, 204)
    t.match(out.headers['set-cookie'], /^weir_console=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/)
    t.equal((await send(me, 'GET', { cookie })).status, 401)
    t.equal((await send(me, 'GET', {})).status, 204, 'without a cookie no one is signed in')
    t.equal(await statusOf(all(caller.ipPolicy.list())), 401)
    t.equal((await send(me, 'DELETE', { cookie })).status, 401)
  })

  t.test('two API processes', async (t) => {
    const other = await store.api({})
    const status = async (at: TestApi, cookie: string) =>
      (await send(at.stranger(), 'GET', { cookie })).status
    const { cookie } = await api.signedIn(me)
    t.equal(await status(other, cookie), 200, 'known at once in the other one')
    t.equal((await send(other.stranger(), 'DELETE', { cookie })).status, 204)
    await until('ended in the first one', async () => (await status(api, cookie)) === 401)
    const { id, token } = await me.apiKey.create({})
    const second = await api.signedIn(me.withToken(token))
    t.equal(await status(other, second.cookie), 200)
    await me.apiKey.delete(id)
    t.equal(await status(api, second.cookie), 401, 'the key is deleted')
    await until('in the other one, too', async () => (await status(other, second.cookie)) === 401)
    const third = await api.signedIn(me)
    const restarted = await store.api({})
    t.equal(await status(restarted, third.cookie), 200, 'a process that starts knows it')
  })

  t.test('a session ends with its key', async (t) => {
    const expires_at = new Date(now() + 2_500).toISOString()
    const made = await me.apiKey.create({ expires_at })
    const answer = await send(me, 'POST', {}, { token: made.token })
    t.equal(answer.body.expires_at, made.expires_at)
    const [, seconds] = /Max-Age=(\d+)/.exec(answer.headers['set-cookie']!)!
    t.ok(Number(seconds) <= 2, `${seconds} s`)
    const [cookie] = answer.headers['set-cookie']!.split(';')
    await until('it has ended', async () => (await send(me, 'GET', { cookie })).status === 401)
    t.ok(now() >= Date.parse(made.expires_at!))
  })

  t.test('a stream ends with its session', async (t) => {
    const listening = await store.api({})
    const url = await listening.app.listen({ host: '127.0.0.1', port: 0 })
    const { cookie } = await listening.signedIn(me)
    const stream = await fetch(`${url}/live`, { headers: { cookie, 'service-version': '2' } })
    t.equal(stream.status, 200)
    const reader = stream.body!.getReader()
    t.equal((await reader.read()).done, false, 'it streams')
    const out = await fetch(`${url}${path}`, { method: 'DELETE', headers: { cookie, 'weir-console': '1' } })
    t.equal(out.status, 204)
    while (!(await reader.read()).done);
    t.pass('it has ended')
  })

  await bounded(t, store)
  await stored(t, store, api, me)
  await links(t, store)
})

const bounded = (t: Test, store: TestStore) =>
  t.test('bounds: the oldest session ends', async (t) => {
    const { parts } = store
    const occurrences = { sessionForeign: () => {}, sessionsUnswept: () => {} }
    const sessions = await openSessions(parts.nats, 1024 * 1024, {
      sealer: parts.sealer,
      occurrences,
      isDeleted: () => false,
      bounds: { perKeyMax: 3, perAccountMax: 1_000, max: 10_000 },
    })
    t.teardown(() => sessions.close())
    const row = (id: string) => ({ id, account_id: 'ac_1', version: 1, created_at: 1 })
    const tokens: string[] = []
    for (let count = 0; count < 5; count += 1) tokens.push((await sessions.begin(row('ak_many'))).token)
    const other = (await sessions.begin(row('ak_other'))).token
    const lasts = await Promise.all(tokens.map(async (token) => (await sessions.find(token)) !== undefined))
    t.strictSame(lasts, [false, false, true, true, true])
    t.ok(await sessions.find(other), 'of another key')
    const bucket = (await store.admin.findBucket(sessionsBucket))!
    t.equal((await bucket.get(hashToken(tokens[0]!)))?.value, undefined, 'in the bucket, too')
  })

const stored = (t: Test, store: TestStore, api: TestApi, me: Caller) =>
  t.test('what is stored', async (t) => {
    const caller = await api.signedIn(me)
    const token = tokenIn(caller.cookie)
    const bucket = (await store.admin.findBucket(sessionsBucket))!
    const entry = (await bucket.get(hashToken(token)))!
    const text = Buffer.from(entry.value!).toString()
    t.notMatch(text, token, 'not the token')
    t.notMatch(text, 'ak_', 'nothing readable')
    const forged = 'f'.repeat(43)
    await bucket.put(hashToken(forged), text)
    t.equal((await send(me, 'GET', { cookie: `weir_console=${forged}` })).status, 401, 'a copied entry')
    await until('it is reported', async () => api.log().includes('no API of this deployment wrote it'))
    await bucket.put(hashToken(token), JSON.stringify({ keyId: 'ak_1' }))
    t.equal(
      (await send(me, 'GET', { cookie: caller.cookie })).status,
      200,
      'an overwritten one changes nothing',
    )
  })

const links = (t: Test, store: TestStore) =>
  t.test('sign-in links', async (t) => {
    let nowMs = 0
    const signInCodes = new SignInCodes(() => nowMs)
    const api = await store.api({ signInCodes, trustedProxies: ['127.0.0.1/32', '192.0.2.0/24'] })
    const me = await api.account()
    const nobody = api.stranger()

    t.test('works once', async (t) => {
      const code = signInCodes.make(me.accountId)
      t.ok(Buffer.from(code, 'base64url').length >= 16, 'cannot be guessed')
      const cookie = await signIn(nobody.raw, { code })
      const { body } = await send(nobody, 'GET', { cookie })
      t.match(body, { account_id: me.accountId, rights: null })
      t.equal((await send(nobody, 'POST', {}, { code })).status, 401, 'a second time')
    })

    t.test('only on this machine', async (t) => {
      const code = signInCodes.make(me.accountId)
      const cases: [string, Headers, string?][] = [
        ['another address', {}, '198.51.100.9'],
        ['a proxy', { 'x-forwarded-for': '198.51.100.9' }, '127.0.0.1'],
        ['a proxy that names this machine', { 'x-forwarded-for': '127.0.0.1' }, '192.0.2.1'],
        ['a proxy here that names this machine', { 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1'],
        ['another header', { forwarded: 'for=127.0.0.1' }, '127.0.0.1'],
      ]
      for (const [name, headers, from] of cases) {
        const { status, body } = await send(nobody, 'POST', headers, { code }, from)
        t.equal(status, 403, name)
        t.match(body.msg, 'on the machine that runs Weir', name)
      }
      t.equal((await send(nobody, 'POST', {}, { code }, '::1')).status, 201, 'it was not used up')
    })

    t.test('expires', async (t) => {
      const [late, soon] = [signInCodes.make(me.accountId), signInCodes.make(me.accountId)]
      nowMs += codeLifetimeMs - 1
      t.equal((await send(nobody, 'POST', {}, { code: soon })).status, 201)
      nowMs += 1
      t.equal((await send(nobody, 'POST', {}, { code: late })).status, 401)
    })

    t.test('signs in as the oldest key that may do everything', async (t) => {
      const first = (await all(me.apiKey.list()))[0]!
      await me.apiKey.create({ rights: ['read'] })
      const heir = await me.apiKey.create({ description: 'the next one' })
      const keyOf = async () =>
        (await send(nobody, 'POST', {}, { code: signInCodes.make(me.accountId) })).body
      t.equal((await keyOf()).api_key_id, first.id)
      await me.withToken(heir.token).apiKey.delete(first.id)
      t.match(await keyOf(), { api_key_id: heir.id, api_key_description: 'the next one' })
      const lost = await send(nobody, 'POST', {}, { code: signInCodes.make('ac_nobody') })
      t.equal(lost.status, 401)
      t.match(lost.body.msg, 'no API key any more')
    })
  })
