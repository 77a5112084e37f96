/** No secrets are shown, callers without a key get no information, and client addresses can't be forged. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { auditStream } from '../../../src/delivery/wire/names.js'
import { now } from '../../../src/ground/core/clock.js'
import { requestBodyBytesMax } from '../../../src/ground/core/limits.js'
import { forTerminal } from '../../../src/ground/core/text/terminal.js'
import { callerAddress, loginSource } from '../../../src/management/access/caller.js'
import { openAdminServer } from '../../../src/management/process/running-service.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { openTestStore, type TestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { certificateBody } from '../../harness/certificates.js'
import { Checks } from '../../harness/checks.js'
import { Estate, servedResources } from './estate.js'

/** More failed logins than an address may have within a minute. */
const manyTries = 40

t.test('security', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()

  // First: of the many failed logins below, only some are logged.
  t.test('forged client data does not reach the log', async (t) => {
    const guarded = await store.api({ trustedProxies: ['10.0.0.0/8'] })
    const claims = ['<script>', '\u001b[2Jcleared', `"}\t{"level":60,"msg":"forged"`, 'x'.repeat(8000)]
    const before = guarded.log().length
    for (const claim of claims) {
      const headers = { 'x-forwarded-for': claim }
      await guarded.stranger('guess').raw.send('GET', '/ip_policies', { from: '10.0.0.2', headers })
    }
    const lines = guarded.log().slice(before).trimEnd().split('\n')
    t.equal(lines.length, claims.length)
    for (const line of lines) t.match(JSON.parse(line), { address: 'unknown', msg: /login/i })
  })

  t.test('refusals do not reveal what exists', async (t) => {
    const checks = new Checks()
    const shut = await api.account()
    const { id } = await shut.ipPolicy.create({})
    for (const cidr of ['127.0.0.1/32', '10.0.0.0/8'])
      await shut.ipPolicyRule.create({ ip_policy_id: id, cidr, action: 'allow' })
    await shut.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [id] })
    // Signing in needs no key; `console-session.test.ts` has its refusals.
    const paths = Object.keys(api.app.swagger().paths ?? {})
      .filter((path) => path !== '/console/session')
      .map((path) => path.replaceAll(/\{\w+\}/g, id))
    const refusals = new Set<string>()
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
    for (const path of [...paths, '/nowhere', '/docs/x', '/%zz', '/ip_policies?x=1', '/ip_policies/']) {
      for (const method of methods) {
        const sent = { body: '{', headers: { 'service-version': '1', 'content-type': 'text/plain' } }
        for (const [caller, status, from] of [
          [api.stranger(), 401, `2001:db8:${refusals.size}::${paths.indexOf(path) + 2}`],
          [shut, 403, '192.0.2.1'],
        ] as const) {
          const headers = { ...sent.headers, ...(status === 401 ? { authorization: undefined } : {}) }
          const answer = await caller.raw.send(method, path, { ...sent, headers, from })
          checks.equal(answer.status, status, `${method} ${path}`)
          // OTLP has errors of another form.
          if (method !== 'HEAD') refusals.add(answer.body.msg ?? answer.body.message)
        }
      }
    }
    checks.equal(refusals.size, 2, 'one sentence each')
    checks.report(t)
  })

  t.test(
    'failed logins of an IPv6 network count together, those behind a trusted proxy by client',
    async (t) => {
      const guarded = await store.api({ trustedProxies: ['10.0.0.0/8'] })
      const fail = async (addressOf: (tries: number) => object): Promise<void> => {
        for (let tries = 0; tries < manyTries; tries += 1)
          await guarded.stranger('guess').raw.send('GET', '/ip_policies', addressOf(tries))
      }
      const statusOf = async (sent: object) =>
        (await guarded.stranger('guess').raw.send('GET', '/ip_policies', sent)).status
      await fail((tries) => ({ from: `2001:db8:1:2:${tries.toString(16)}::1` }))
      t.equal(await statusOf({ from: '2001:db8:1:2:ffff::9' }), 429, 'the same /64')
      t.equal(await statusOf({ from: '2001:db8:1:3::1' }), 401, 'the next one')
      const behind = (address: string) => ({ from: '10.0.0.1', headers: { 'x-forwarded-for': address } })
      await fail(() => behind('203.0.113.7'))
      t.equal(await statusOf(behind('203.0.113.7')), 429)
      t.equal(await statusOf(behind('203.0.113.8')), 401, 'the proxy itself is not shut out')
      await fail((tries) => behind(`nonsense-${tries}`))
      t.equal(
        await statusOf(behind('more nonsense')),
        429,
        'all clients without a valid address count as one',
      )
    },
  )

  t.test("answers can't be sniffed, cached or framed", async (t) => {
    const { id } = await me.ipPolicy.create({})
    const asked = [
      ['GET', `/ip_policies/${id}`, 200],
      ['GET', '/ip_policies/%zz', 404],
      ['GET', '/nowhere', 404],
      ['POST', '/ip_policies?x', 400],
    ] as const
    for (const [method, path, status] of asked) {
      const { headers, status: answered } = await me.raw.send(method, path)
      t.equal(answered, status)
      t.equal(headers['x-content-type-options'], 'nosniff', path)
      t.equal(headers['cache-control'], 'no-store', path)
    }
    for (const path of ['/docs', '/docs/start.js', '/openapi.json', '/nowhere']) {
      const { headers } = await api.app.inject(path)
      t.equal(headers['x-content-type-options'], 'nosniff', path)
      t.equal(headers['x-frame-options'], 'SAMEORIGIN', path)
      const policy = String(headers['content-security-policy'])
      t.match(policy, "default-src 'none';", path)
      t.match(policy, 'frame-ancestors ', path)
      if (path !== '/docs') t.notMatch(policy, 'unsafe', path)
      t.equal(headers['access-control-allow-origin'], undefined, 'no page of another site reads it')
    }
  })

  t.test('answers that are ready have the headers of those that are not', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const headersOf = async (path: string) => {
      const { headers } = await me.raw.send('GET', path)
      const { 'content-length': length, 'operation-id': operation, date, ...others } = headers
      t.match(operation, /^op_/, path)
      t.match(length, /^\d+$/, path)
      return others
    }
    const made = await headersOf(`/ip_policies/${id}/changes`)
    for (const path of [`/ip_policies/${id}`, '/ip_policies?limit=1', '/ip_policies?limit=1'])
      t.strictSame(await headersOf(path), made, path)
  })

  t.test('values that JSON.parse would change are refused; harmless ones are kept', async (t) => {
    const metadata = (number: string) =>
      `{"policies": {"inbound": [{"actions": [{"type": "log", "config": {"Metadata": {"n": ${number}}}}]}]}}`
    for (const number of ['1e400', '-1e400', '9007199254740993', '1'.repeat(1000)]) {
      const answer = await me.raw.send('POST', '/edges/tcp', { body: metadata(number) })
      t.equal(answer.status, 400, number)
      t.match(answer.body.msg, /the number .* can't be stored exactly: send it as text\.$/)
      t.ok(answer.body.msg.length < 200)
    }
    for (const number of ['9007199254740992', '0.1', '-0', '1e300', '5e-324']) {
      const answer = await me.raw.send('POST', '/edges/tcp', { body: metadata(number) })
      t.equal(answer.status, 201, number)
      t.equal(
        answer.body.policies.inbound[0].actions[0].config.Metadata.n,
        JSON.parse(JSON.stringify(Number(number))),
      )
    }
    const labels = '{"labels": {"__proto__": "polluted", "constructor": "x", "toString": "y"}}'
    const made = await me.raw.send('POST', '/backends/tunnel_group', { body: labels })
    t.equal(made.status, 201, made.text)
    t.equal(
      JSON.stringify(made.body.labels),
      JSON.stringify(JSON.parse(labels).labels),
      'kept as it was sent',
    )
    t.equal(({} as Record<string, unknown>)['polluted'], undefined)
    t.equal((await me.tunnelGroupBackend.get(made.body.id)).labels.constructor, 'x')
  })

  t.test('messages stay one short line for any key that a client sends', async (t) => {
    for (const key of ['two\nlines', '\u001b[31m', 'x'.repeat(5000), 'a "b" c', '']) {
      const msg = await me.raw.refused(400, 'POST', '/backends/tunnel_group', { labels: { [key]: 5 } })
      t.ok(msg.length < 300, msg.slice(0, 300))
      t.notMatch(msg, /\p{Cc}/u)
      t.match(msg, /"labels/)
    }
  })

  t.test('admin commands need loopback and the token', async (t) => {
    const admin = await openAdminServer((command) => runAdminCommand(api.parts, command))
    t.teardown(() => admin.close())
    t.match(admin.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const body = JSON.stringify({ command: 'sql', query: 'select 1 as n', format: 'csv' })
    const ask = (authorization: string | undefined, more: RequestInit = {}) =>
      fetch(admin.url, {
        method: 'POST',
        body,
        ...more,
        headers: authorization === undefined ? {} : { authorization },
      })
    const right = `Bearer ${admin.token}`
    for (const wrong of [undefined, '', 'Bearer', `Bearer ${me.token}`, `${right}x`, right.toUpperCase()]) {
      const refused = await ask(wrong)
      t.equal(refused.status, 403, wrong ?? 'none')
      t.equal(await refused.text(), 'The admin token is missing or wrong.')
    }
    t.equal((await ask(right, { method: 'PUT' })).status, 403, 'another method')
    t.equal(await (await ask(right)).text(), '"n"\n1\n')
    for (const bad of ['null', '{', '{"command": "__proto__"}', 'x'.repeat(requestBodyBytesMax + 1)])
      t.equal((await ask(right, { body: bad })).status, 400, bad.slice(0, 30))
  })

  t.test('files are readable by their owner only', (t) => {
    for (const name of ['', 'nats', 'clickhouse'])
      t.equal(statSync(join(store.dir, name)).mode & 0o077, 0, `the data directory, ${name}`)
    t.equal(statSync(join(store.dir, 'secret.key')).mode & 0o777, 0o600)
    t.end()
  })

  t.test('the address of a request', (t) => {
    const cases = [
      ['203.0.113.7', '203.0.113.7', '203.0.113.7'],
      ['::ffff:203.0.113.7', '203.0.113.7', '203.0.113.7'],
      ['::ffff:cb00:7107', '203.0.113.7', '203.0.113.7'],
      ['2001:DB8:0:1::2', '2001:db8:0:1::2', '2001:db8:0:1::/64'],
      ['::1', '::1', '::/64'],
      ['fe80::1%eth0', 'fe80::1', 'fe80::/64'],
      ['203.0.113.7%eth0', 'unknown', 'unknown'],
      ['203.0.113.7:4711', '203.0.113.7', '203.0.113.7'],
      ['[2001:db8:0:1::2]:4711', '2001:db8:0:1::2', '2001:db8:0:1::/64'],
      ['[2001:db8:0:1::2]', '2001:db8:0:1::2', '2001:db8:0:1::/64'],
      ['[::ffff:203.0.113.7]:4711', '203.0.113.7', '203.0.113.7'],
      ['[fe80::1%eth0]:4711', 'fe80::1', 'fe80::/64'],
      ['[203.0.113.7]:4711', 'unknown', 'unknown'],
      ['203.0.113.7:', 'unknown', 'unknown'],
      ['203.0.113.7:x', 'unknown', 'unknown'],
      ['[::1', 'unknown', 'unknown'],
      ['[]', 'unknown', 'unknown'],
      ['', 'unknown', 'unknown'],
      [undefined, 'unknown', 'unknown'],
    ] as const
    for (const [text, address, source] of cases) {
      t.equal(callerAddress(text), address, text ?? 'a connection that is gone')
      t.equal(loginSource(callerAddress(text)), source)
    }
    t.end()
  })

  t.test('output contains no terminal control sequences', (t) => {
    t.equal(forTerminal('a\tb\n'), 'a\tb\n')
    for (const order of ['\u001b[2J', '\r', '\u0007', '\u009b31m', '\u007f'])
      t.equal(forTerminal(`┌${order}é`), `┌\uFFFD${order.slice(1)}é`)
    t.end()
  })

  t.test('secrets are shown once or never', async (t) => {
    const secret = `secret-of-${now()}`
    const estate = new Estate(me, 'estate')
    for (const { kind } of servedResources) if (kind !== 'abuse_report') await estate.one(kind)
    const tokens = ['api_key', 'tunnel_credential'].map(async (kind) =>
      String((await estate.one(kind))['token']),
    )
    await me.eventDestination.create({
      target: {
        kinesis: {
          stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
          auth: { creds: { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: secret } },
        },
      },
    })
    const [, pemLine = ''] = certificateBody('rsa').private_key_pem.split('\n')
    const secrets = [me.token, secret, pemLine, 'PRIVATE KEY', ...(await Promise.all(tokens))]
    for (const [where, text] of Object.entries(await everywhere(store, me, api.log())))
      for (const each of secrets) t.equal(text.includes(each), false, `${where} has no ${each.slice(0, 12)}…`)
  })
})

/** Everything that is stored, shown or logged, by place. */
async function everywhere(
  { parts, dir }: TestStore,
  me: Caller,
  log: string,
): Promise<Record<string, string>> {
  const tables = await parts.clickhouse.rows<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = currentDatabase()',
  )
  const texts: Record<string, string> = { log }
  for (const { name } of tables)
    texts[`ClickHouse ${name}`] = await parts.clickhouse.text(`SELECT * FROM "${name}"`, 'JSONEachRow')
  for (const { path, operations } of servedResources)
    if (!path.includes('{') && operations === undefined) texts[path] = (await me.raw.send('GET', path)).text
  // Files of streams and buckets, which nats-server neither compresses nor encrypts.
  const nats = join(dir, 'nats')
  texts['NATS'] = readdirSync(nats, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.blk'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('')
  if (!texts['NATS'].includes(me.accountId))
    throw new Error(`No files of ${auditStream} were found in ${nats}.`)
  return texts
}
