/** Abuse reports: who may create them, what they contain, and decisions of the response team. */
import t from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { answerDecision } from '../../../src/management/write/abuse-reports.js'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { base, openTestStore, type TestApi } from '../../harness/api.js'
import { type Caller, refused } from '../../harness/caller.js'

const path = '/abuse_reports'
const unknownId = 'abrp_01M7Y46P1SGDTCFAVEJ96D4PD7'

const granted = async (api: TestApi, name = 'reporter'): Promise<Caller> => {
  const client = await api.account(name)
  await runAdminCommand(api.parts, {
    command: 'account grant',
    account: client.accountId,
    right: 'abuse_reports',
  })
  return client
}

t.test('abuse reports', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { parts } = store
  const me = await granted(api)
  const run = (command: string, args: Record<string, string> = {}) =>
    runAdminCommand(parts, { command, ...args })

  t.test('refused without the right, before anything else is checked', async (t) => {
    const { id } = await me.abuseReport.create({ urls: ['http://a.example'] })
    const other = await api.account('other')
    for (const body of [{ urls: ['http://a.example'] }, { urls: 5 }, '{', undefined])
      t.match(await other.raw.refused(403, 'POST', path, body), /lacks the right "abuse_reports"/)
    for (const each of [id, unknownId, 'ipp_1']) await refused(403, other.abuseReport.get(each))
    await run('account grant', { account: other.accountId, right: 'abuse_reports' })
    t.match(await refused(404, other.abuseReport.get(id)), id, "another account's is an unknown one")
    await other.abuseReport.create({ urls: ['http://a.example'] })
  })

  t.test('create and get a report', async (t) => {
    const urls = [
      'https://Evil.Example/login?a=1#b',
      'http://bücher.example:8080/',
      'http://user:word@evil.example/other',
      'HTTP://[2001:DB8:0::1]:81/',
      'http://0x7f.1/',
    ]
    const answer = await me.raw.send('POST', path, { body: { urls, metadata: '{"case": 7}' } })
    t.equal(answer.status, 201)
    const { id, created_at, ...rest } = answer.body
    t.match(id, /^abrp_\w{26}$/)
    t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    t.equal(answer.headers['location'], `${base}${path}/${id}`)
    t.strictSame(rest, {
      uri: `${base}${path}/${id}`,
      metadata: '{"case": 7}',
      urls,
      status: 'PENDING',
      hostnames: ['evil.example', 'xn--bcher-kva.example', '[2001:db8::1]', '127.0.0.1'].map((hostname) => ({
        hostname,
        status: 'PENDING',
      })),
    })
    t.strictSame(await me.abuseReport.get(id), answer.body)
    const bare = await me.abuseReport.create({ urls: Array(100).fill('http://a.example/'), metadata: null })
    t.notOk('metadata' in bare, 'unset fields are left out')
    t.equal(bare.hostnames.length, 1)
  })

  t.test('bad requests', async (t) => {
    const cases: [string, unknown, RegExp][] = [
      ['nothing', {}, /"urls" is required/],
      ['null', { urls: null }, /"urls" is required/],
      ['a URL as text', { urls: 'http://a.example' }, /"urls" is "http:\/\/a.example", but must be a list/],
      ['an empty list', { urls: [] }, /"urls" has 0 entries, but must have at least 1/],
      ['101 URLs', { urls: Array(101).fill('http://a.example') }, /101 entries: at most 100/],
      ['a number', { urls: [5] }, /"urls\[0\]" is 5, but must be a string/],
      ['empty text', { urls: [''] }, /"urls\[0\]" is "": a URL that begins with "http/],
      ['a host alone', { urls: ['http://a.example', 'a.example'] }, /"urls\[1\]" is "a.example": a URL/],
      ['another scheme', { urls: ['ftp://a.example'] }, /"urls\[0\]" is "ftp:/],
      ['a script', { urls: ['javascript:alert(1)'] }, /"urls\[0\]"/],
      ['no host', { urls: ['http://'] }, /"urls\[0\]"/],
      ['a port too large', { urls: ['http://a.example:65536'] }, /"urls\[0\]"/],
      ['a host that is none', { urls: ['http://a b.example'] }, /"urls\[0\]"/],
      ['8001 bytes', { urls: [`http://a.example/${'x'.repeat(8000)}`] }, /"urls\[0\]" .*at most 8000/],
      ['4097 bytes', { urls: ['http://a.example'], metadata: 'x'.repeat(4097) }, /"metadata" .*at most 4096/],
      ['a description', { urls: ['http://a.example'], description: 'x' }, /has no field "description"/],
      ['a status', { urls: ['http://a.example'], status: 'PROCESSED' }, /has no field "status"/],
      ['hostnames', { urls: ['http://a.example'], hostnames: [] }, /has no field "hostnames"/],
      ['256 KiB', { urls: Array(60).fill(`http://a.example/${'x'.repeat(7_900)}`) }, /at most 262144/],
    ]
    for (const [name, body, says] of cases) t.match(await me.raw.refused(400, 'POST', path, body), says, name)
    const { id } = await me.abuseReport.create({ urls: ['http://a.example'] })
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', `${path}/${id}`],
      ['DELETE', `${path}/${id}`],
      ['GET', `${path}/${unknownId}`],
      ['GET', `${path}/ipp_01M7Y46P1SGDTCFAVEJ96D4PD7`],
    ] as const)
      await me.raw.refused(404, method, at)
  })

  t.test('no audit events', async (t) => {
    const audits = await api.auditsOf(me.accountId, async () => {
      const { id } = await me.abuseReport.create({ urls: ['http://a.example'] })
      await run('abuse decide', { report: id, hostname: 'a.example', status: 'BANNED' })
    })
    t.strictSame(audits, [])
  })

  t.test('decisions, from the command line', async (t) => {
    const urls = ['http://a.example', 'http://b.example', 'http://bücher.example']
    const { id } = await me.abuseReport.create({ urls })
    const decide = (hostname: string, status: string) => run('abuse decide', { report: id, hostname, status })
    const steps: [hostname: string, status: string, report: string, statuses: string[]][] = [
      ['b.example', 'BANNED', 'PARTIALLY_PROCESSED', ['PENDING', 'BANNED', 'PENDING']],
      ['B.Example', 'unbanned', 'PARTIALLY_PROCESSED', ['PENDING', 'UNBANNED', 'PENDING']],
      ['a.example', 'IGNORE', 'PARTIALLY_PROCESSED', ['IGNORE', 'UNBANNED', 'PENDING']],
      ['bücher.example', 'BANNED', 'PROCESSED', ['IGNORE', 'UNBANNED', 'BANNED']],
      ['a.example', 'BANNED', 'PROCESSED', ['BANNED', 'UNBANNED', 'BANNED']],
      ['a.example', 'BANNED', 'PROCESSED', ['BANNED', 'UNBANNED', 'BANNED']],
    ]
    for (const [hostname, decided, status, statuses] of steps) {
      const text = await decide(hostname, decided)
      t.match(text, `${id}  ${status}`, `${hostname} is ${decided}`)
      const report = await me.abuseReport.get(id)
      t.equal(report.status, status)
      t.strictSame(
        report.hostnames.map((each: { status: string }) => each.status),
        statuses,
      )
    }
    await t.rejects(decide('c.example', 'BANNED'), {
      message: /"hostname" is "c.example".*"a.example","b.ex/,
    })
    await t.rejects(decide('a.example/x', 'BANNED'), { message: /"hostname" is "a.example\/x"/ })
    await t.rejects(decide('a.example', 'PENDING'), { message: /"BANNED", "UNBANNED", "IGNORE"/ })
    const unknown = run('abuse decide', { report: unknownId, hostname: 'a.example', status: 'BANNED' })
    await t.rejects(unknown, { message: `There is no abuse report "${unknownId}".` })
    const rows = await parts.clickhouse.text(
      `SELECT changed_by, status FROM abuse_reports_history WHERE id = '${id}' ORDER BY version`,
      'TSVWithNames',
    )
    const [, made = '', ...changes] = rows.trim().split('\n')
    t.match(made, /^ak_\w+\tPENDING$/)
    t.strictSame(changes.length, 5, 'a decision that changes nothing is no change')
    t.ok(changes.every((line) => line.startsWith('cli\t')))
  })

  t.test('concurrent decisions are all recorded', async (t) => {
    const hosts = Array.from({ length: 12 }, (_, at) => `h${at}.example`)
    const { id } = await me.abuseReport.create({ urls: hosts.map((host) => `http://${host}`) })
    await Promise.all(
      hosts.map((hostname) => run('abuse decide', { report: id, hostname, status: 'BANNED' })),
    )
    t.equal((await me.abuseReport.get(id)).status, 'PROCESSED')
  })

  t.test('the list of pending reports', async (t) => {
    const reporter = await granted(api, 'second')
    const first = await reporter.abuseReport.create({ urls: ['http://a.example'] })
    const second = await reporter.abuseReport.create({ urls: ['http://a.example', 'http://b.example'] })
    await run('abuse decide', { report: first.id, hostname: 'a.example', status: 'IGNORE' })
    await run('abuse decide', { report: second.id, hostname: 'b.example', status: 'BANNED' })
    const waiting = await run('abuse list')
    t.notMatch(waiting, first.id)
    t.match(waiting, `${second.id}  PARTIALLY_PROCESSED  ${second.created_at}  ${reporter.accountId}\n`)
    t.match(waiting, /\n {2}PENDING {3}a\.example\n {2}BANNED {4}b\.example\n/)
    const hostnames = [
      { hostname: 'a.example', status: 'PENDING' },
      { hostname: 'b.example', status: 'BANNED' },
    ]
    const { id, created_at } = second
    const { accountId: account_id } = reporter
    const shown = { id, account_id, created_at, status: 'PARTIALLY_PROCESSED', hostnames }
    t.ok((await run('abuse list', { json: 'yes' })).split('\n').includes(JSON.stringify(shown)), 'as JSON')
    const all = await run('abuse list', { all: 'yes' })
    t.ok(all.indexOf(first.id) < all.indexOf(second.id) && all.includes(first.id), 'the oldest first')
  })

  t.test('answers to refused requests', async (t) => {
    const lines: string[] = []
    const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(line) })
    const occurrences = createOccurrences({ logger, registry: createRegistry() })
    const ask = async (request: unknown) => {
      const text = typeof request === 'string' ? request : JSON.stringify(request)
      return JSON.parse(await answerDecision(parts, Buffer.from(text), occurrences))
    }
    const { id: report_id } = await me.abuseReport.create({ urls: ['http://a.example'] })
    const good = { report_id, hostname: 'a.example', status: 'BANNED' }
    const cases: [string, unknown, string, RegExp][] = [
      ['no JSON', '{', 'ERR_INVALID_JSON', /JSON/],
      ['nothing', '', 'ERR_INVALID_REQUEST', /must be an object/],
      ['a list', [good], 'ERR_INVALID_REQUEST', /must be an object/],
      ['null', 'null', 'ERR_INVALID_REQUEST', /must be an object/],
      ['no report', { ...good, report_id: undefined }, 'ERR_INVALID_REQUEST', /"report_id" is required/],
      ['no hostname', { ...good, hostname: undefined }, 'ERR_INVALID_REQUEST', /"hostname" is required/],
      ['no status', { ...good, status: undefined }, 'ERR_INVALID_REQUEST', /"status" is required/],
      ['back to pending', { ...good, status: 'PENDING' }, 'ERR_INVALID_REQUEST', /"status" is "PENDING"/],
      ['another case', { ...good, status: 'banned' }, 'ERR_INVALID_REQUEST', /"status" is "banned"/],
      ['a number', { ...good, hostname: 5 }, 'ERR_INVALID_REQUEST', /"hostname" is 5/],
      ['an unknown field', { ...good, reason: 'x' }, 'ERR_INVALID_REQUEST', /has no field "reason"/],
      ['another kind', { ...good, report_id: 'ipp_1' }, 'ERR_NOT_FOUND', /no abuse report "ipp_1"/],
      ['an unknown report', { ...good, report_id: unknownId }, 'ERR_NOT_FOUND', /no abuse report/],
      ['a prototype', { ...good, report_id: '__proto__' }, 'ERR_NOT_FOUND', /no abuse report/],
      [
        'an unknown hostname',
        { ...good, hostname: 'b.example' },
        'ERR_NOT_FOUND',
        /reports \["a\.example"\]/,
      ],
    ]
    for (const [name, request, error_code, msg] of cases) {
      const answer = await ask(request)
      t.strictSame(Object.keys(answer), ['error_code', 'msg'], name)
      t.match(answer, { error_code, msg }, name)
    }
    t.equal((await me.abuseReport.get(report_id)).status, 'PENDING', 'and nothing was decided')
    t.strictSame(await ask(good), await me.abuseReport.get(report_id), 'a good one brings the report')
    t.strictSame(lines, [])
  })
})
