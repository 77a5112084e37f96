/**
 * Sessions of the web console under abuse: floods, neighbours that plant cookies, proxies, and access that is taken away.
 */
import t, { type Test } from 'tap'
import { openSessions } from '../../../src/management/access/sessions.js'
import { SignInCodes } from '../../../src/management/access/sign-in-codes.js'
import { Usage } from '../../../src/management/access/usage.js'
import { fromConsole, openTestStore, type TestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import type { Headers } from '../../harness/raw-client.js'

const path = '/console/session'

const send = (caller: Caller, method: string, headers: Headers, body?: object, from?: string) =>
  caller.raw.send(method, path, {
    headers: { ...fromConsole, ...headers },
    ...(body === undefined ? {} : { body }),
    ...(from === undefined ? {} : { from }),
  })

t.test('abuse of sessions', async (t) => {
  const store = await openTestStore(t)
  await floods(t, store)
  await planted(t, store)
  await refusedProxies(t, store)
  await takenAway(t, store)
})

const floods = (t: Test, store: TestStore) =>
  t.test('floods', async (t) => {
    const { parts } = store
    // A bucket of its own: an API of another test would end sessions of keys that it knows not to exist.
    const openBucket: typeof store.admin.openBucket = (_, ...limits) =>
      store.admin.openBucket('weir_sessions_of_floods', ...limits)
    const sessions = await openSessions({ openBucket }, 1024 * 1024, {
      sealer: parts.sealer,
      occurrences: { sessionForeign: () => {}, sessionsUnswept: () => {} },
      isDeleted: () => false,
      bounds: { perKeyMax: 3, perAccountMax: 6, max: 10 },
    })
    t.teardown(() => sessions.close())
    const begin = async (id: string, account_id: string) =>
      (await sessions.begin({ id, account_id, version: 1, created_at: 1 })).token
    const lasting = async (tokens: readonly string[]) => {
      const found = await Promise.all(tokens.map((token) => sessions.find(token)))
      return found.filter((each) => each !== undefined).length
    }
    const quiet = await Promise.all(['ak_1', 'ak_2'].map((key) => begin(key, 'ac_quiet')))
    const atOnce = await Promise.all(Array.from({ length: 20 }, () => begin('ak_many', 'ac_loud')))
    t.equal(await lasting(atOnce), 3, 'the bound of a key holds for sign-ins at the same time')
    const keys = Array.from({ length: 20 }, (_, index) => `ak_loud_${index}`)
    const ofAccount: string[] = []
    for (const key of keys) ofAccount.push(await begin(key, 'ac_loud'))
    t.equal(await lasting(ofAccount), 6, 'that of an account for all of its keys')
    const others: string[] = []
    for (const key of keys.slice(0, 4)) others.push(await begin(key.replace('loud', 'other'), 'ac_other'))
    t.equal(await lasting(others), 4)
    t.equal(
      await lasting(ofAccount),
      4,
      'when the deployment has too many, those of the account with the most end',
    )
    t.equal(await lasting(quiet), 2, 'and those of a quiet account go on')
  })

const planted = (t: Test, store: TestStore) =>
  t.test('over TLS, a neighbouring domain can plant no session', async (t) => {
    const api = await store.api({ baseUrl: 'https://weir.example' })
    const [me, foreign] = [await api.account('mine'), await api.account('foreign')]
    const origin = 'https://weir.example'
    const host = 'weir.example'
    const cookieOf = async (caller: Caller, headers: Headers) => {
      const { status, headers: given, text } = await send(caller, 'POST', headers, { token: caller.token })
      t.equal(status, 201, text)
      return given['set-cookie']!
    }
    const secure = await cookieOf(me, { origin, host })
    t.match(
      secure,
      /^__Host-weir_console=[\w-]{43}; Path=\/; .*; Secure$/,
      'browsers take it from the host only',
    )
    const [mine] = secure.split(';')
    const [other] = (await cookieOf(foreign, { origin: 'http://127.0.0.1:1', host: '127.0.0.1:1' })).split(
      ';',
    )
    t.match(other, /^weir_console=/, 'without TLS, as on this machine, browsers refuse such a cookie')
    const whoIs = async (cookie: string, to = host) => {
      const { status, body } = await send(me, 'GET', { cookie, host: to })
      return status === 200 ? body.account_name : status
    }
    t.equal(await whoIs(mine!), 'mine')
    t.equal(await whoIs(`${other}; ${mine}`), 'mine', 'a planted cookie beside it')
    t.equal(await whoIs(other!), 204, 'a planted cookie alone')
    t.equal(await whoIs(other!, '127.0.0.1:1'), 'foreign', 'on this machine it is the right one')
    const out = await send(me, 'DELETE', { cookie: mine, origin, host })
    t.match(out.headers['set-cookie'], /^__Host-weir_console=; .*Max-Age=0; Secure$/)
  })

const refusedProxies = (t: Test, store: TestStore) =>
  t.test('what a proxy or a container in between is told', async (t) => {
    const signInCodes = new SignInCodes()
    const api = await store.api({ signInCodes })
    const me = await api.account()
    const { token } = me
    const rewritten = await send(
      me,
      'POST',
      { origin: 'https://weir.example', host: 'backend:8080' },
      { token },
    )
    t.equal(rewritten.status, 403)
    t.match(rewritten.body.msg, /"weir\.test:8080".*set WEIR_BASE_URL to it, or let the proxy pass on "Host"/)
    const sandboxed = await send(me, 'POST', { origin: 'null', host: '' }, { token })
    t.equal(sandboxed.status, 403, 'no origin is not the missing host')
    t.notMatch(sandboxed.body.msg, 'WEIR_BASE_URL')
    const code = signInCodes.make(me.accountId)
    const mapped = await send(me, 'POST', {}, { code }, '172.17.0.1')
    t.equal(mapped.status, 403)
    t.match(mapped.body.msg, /from the address 172\.17\.0\.1.*container.*"weir key create/)
    const proxied = await send(me, 'POST', { via: '1.1 proxy' }, { code }, '127.0.0.1')
    t.match(proxied.body.msg, 'through a proxy, which sent "Via"')
  })

const takenAway = (t: Test, store: TestStore) =>
  t.test('access that is taken away', async (t) => {
    const api = await store.api({})
    const away = '198.51.100.20'

    t.test('a session can be ended from where it may do nothing else', async (t) => {
      const me = await api.account()
      const { cookie } = await api.signedIn(me)
      const { id } = await me.ipPolicy.create({})
      await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '127.0.0.1/32', action: 'allow' })
      await me.ipRestriction.create({ type: 'dashboard', enforced: true, ip_policy_ids: [id] })
      t.equal((await send(me, 'GET', { cookie }, undefined, away)).status, 403, 'refused')
      t.equal((await send(me, 'DELETE', { cookie, 'weir-console': undefined }, undefined, away)).status, 403)
      t.equal((await send(me, 'DELETE', { cookie }, undefined, away)).status, 204)
      t.equal((await send(me, 'GET', { cookie })).status, 401, 'it has ended')
    })

    t.test('and when the account made too many requests', async (t) => {
      const limited = await store.api({ usage: new Usage(3) })
      const me = await limited.account()
      const { cookie } = await limited.signedIn(me)
      const statuses: number[] = []
      for (let count = 0; count < 4; count += 1) statuses.push((await send(me, 'GET', { cookie })).status)
      t.equal(statuses.at(-1), 429)
      t.equal((await send(me, 'DELETE', { cookie })).status, 204)
    })

    t.test('a guess to end a session counts as a failed login', async (t) => {
      const limited = await store.api({ usage: new Usage(0) })
      const statuses = new Set<number>()
      for (let tries = 0; tries < 40; tries += 1) {
        const cookie = `weir_console=${String(tries).padStart(43, 'g')}`
        statuses.add((await send(limited.stranger(), 'DELETE', { cookie }, undefined, away)).status)
      }
      t.strictSame([...statuses], [401, 429])
    })

    t.test('a stream ends when a restriction refuses its address', async (t) => {
      const listening = await store.api({})
      const url = await listening.app.listen({ host: '127.0.0.1', port: 0 })
      const me = await listening.account()
      const { cookie } = await listening.signedIn(me)
      const ways: readonly Headers[] = [{ cookie }, { authorization: `Bearer ${me.token}` }]
      const readers = await Promise.all(
        ways.map(async (way) => {
          const stream = await fetch(`${url}/live`, {
            headers: { ...way, 'service-version': '2' } as Record<string, string>,
          })
          t.equal(stream.status, 200)
          return stream.body!.getReader()
        }),
      )
      const { id } = await me.ipPolicy.create({})
      await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '192.0.2.1/32', action: 'allow' })
      const body = { type: 'api', enforced: true, ip_policy_ids: [id] }
      const closed = await me.raw.send('POST', '/ip_restrictions', { body, from: '192.0.2.1' })
      t.equal(closed.status, 201, closed.text)
      for (const reader of readers) while (!(await reader.read()).done);
      t.pass('both have ended')
    })
  })
