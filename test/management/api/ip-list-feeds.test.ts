/**
 * IP lists with a source: they are fetched when they are due, by one process, and keep what they have if anything is wrong.
 */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { feedsBucket } from '../../../src/delivery/wire/names.js'
import { now, sleep } from '../../../src/ground/core/clock.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openFeedStates } from '../../../src/management/scheduled/feeds/feed-states.js'
import { FeedStatuses, newState } from '../../../src/management/scheduled/feeds/feed-status.js'
import { ListFeeds } from '../../../src/management/scheduled/feeds/list-feeds.js'
import type { IpListEntries } from '../../../src/management/write/ip-list-entries.js'
import type { IpListSource } from '../../../src/words/resource/fields/ip-list-source.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, newest, refused } from '../../harness/caller.js'
import { total } from '../../harness/metrics.js'
import { openWebServer } from '../../harness/web-server.js'
import { until } from '../../harness/weir.js'

const hourMs = 3_600_000
const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `10.0.${index}.0/24\n`).join('')

t.test('IP lists with a source', { timeout: 120_000 }, async (t) => {
  const store = await openTestStore(t)
  const { parts } = store
  const { view } = parts.store
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger: createLogger('test', 'silent'), registry })

  /** As an API process has it, on which the clock is what a test says. */
  const open = async (listEntries: Pick<IpListEntries, 'replace'> = parts.listEntries) => {
    const states = store.release.own(await openFeedStates(parts.nats, 1024 * 1024))
    const statuses = new FeedStatuses(states)
    const networks = new ReachableNetworks(['127.0.0.1/32'])
    const feeds = new ListFeeds({
      ...parts,
      listEntries,
      states,
      statuses,
      networks,
      directory: undefined,
      occurrences,
    })
    return { feeds: store.release.own(feeds), statuses, states }
  }
  const one = await open()
  const api = await store.api({ context: { ...parts, feeds: one.feeds, statuses: one.statuses } })

  const server = await openWebServer(t)
  /** By path: what the server answers. */
  const answers = new Map<string, (response: ServerResponse, ifNoneMatch: string | undefined) => void>()
  server.answer = ({ path, headers }, response) => answers.get(path)?.(response, headers['if-none-match'])
  const requestsTo = (path: string) => server.requests.filter((seen) => seen.path === path)
  let made = 0
  /** A list that is fed from a path of its own; the server answers with a text and an ETag. */
  const fed = async (me: Caller, text: string, source: { readonly shrink_guard?: number } = {}) => {
    made += 1
    const path = `/list-${made}`
    const answer = (body: string) =>
      answers.set(path, (response, ifNoneMatch) => {
        const etag = `"${body.length}"`
        if (ifNoneMatch === etag) response.writeHead(304).end()
        else response.writeHead(200, { etag }).end(body)
      })
    answer(text)
    const url = `${server.url}${path}`
    const { id } = await me.ipList.create({
      name: `fed-${made}`,
      source: { url, format: 'lines', ...source },
    })
    return { id, path, answer }
  }
  const rowOf = (id: string) => view.state.rows.get('ip_list')?.get(id) as Row
  const statusOf = (id: string, nowMs = now()) => one.statuses.of(rowOf(id), nowMs)
  const entriesOf = async (me: Caller, id: string) =>
    (await all(me.listEntries.list(id))).map(({ cidr }) => cidr)
  const versionOf = async (me: Caller) => (await newest(me.changes())).version

  /**
   * Looks until something was fetched: after a fetch that took long, as on a busy machine, its account rests for seconds.
   */
  const lookUntil = (nowMs: number, isDone: () => boolean): Promise<void> =>
    until('it was fetched', async () => {
      await one.feeds.look(nowMs)
      return isDone()
    })

  t.test('it is fetched when it is due, and only a change is a write', async (t) => {
    const me = await api.account()
    const { id, path, answer } = await fed(me, '192.0.2.0/24 # first\n')
    t.match(await me.ipList.get(id), {
      source: { file: null, format: 'lines', refresh_seconds: 3600, shrink_guard: 0.5 },
      source_status: { state: 'waiting', fetched_at: null, error: null },
    })
    const startMs = now()
    await one.feeds.look(startMs)
    t.strictSame(await entriesOf(me, id), ['192.0.2.0/24'])
    t.match(statusOf(id), { state: 'current', etag: '"21"', error: null })
    await until(
      'another process shows it',
      async () => (await me.ipList.get(id)).source_status?.state === 'current',
    )
    const version = await versionOf(me)
    await one.feeds.look(startMs + hourMs - 1_000)
    t.equal(requestsTo(path).length, 1, 'it is not due yet')
    await lookUntil(startMs + hourMs, () => requestsTo(path).length > 1)
    t.equal(requestsTo(path).length, 2)
    t.match(requestsTo(path)[1]?.headers, { 'if-none-match': '"21"', 'user-agent': /^weir\// })
    t.match(statusOf(id), { state: 'current', error: null })
    t.equal(await versionOf(me), version, 'an unchanged list is no write')
    answer('192.0.2.0/24\n198.51.100.0/24\n')
    await lookUntil(startMs + 2 * hourMs, () => requestsTo(path).length > 2)
    t.strictSame(await entriesOf(me, id), ['192.0.2.0/24', '198.51.100.0/24'])
    t.match(await newest(me.changes()), { kind: 'ip_list', by: 'feed', source: 'FEED', api_key_id: null })
    t.match((await api.audits(me.accountId)).at(-1), {
      event_type: 'ip_list_updated.v0',
      principal: { source: 'FEED', credential: null },
      object: { id, entries: 2 },
    })
  })

  t.test('a source whose answers have no ETag is not written again either', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, '')
    answers.set(path, (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('192.0.2.0/24\n'))
    })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', error: null, ip_list: { entries: 1 } })
    const version = await versionOf(me)
    t.match(await me.listEntries.refresh(id), { outcome: 'unchanged', error: null })
    t.equal(await versionOf(me), version)
    t.match(requestsTo(path)[1]?.headers, { 'if-none-match': undefined })
  })

  t.test('whatever is wrong with a fetch, the last good entries are kept', async (t) => {
    const me = await api.account()
    const { id, path, answer } = await fed(me, lines(100))
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' })
    const version = await versionOf(me)
    const text =
      (body: string | Buffer, headers = {}) =>
      (response: ServerResponse) =>
        response.writeHead(200, headers).end(body)
    const redirect = (location: string) => (response: ServerResponse) =>
      response.writeHead(302, { location }).end()
    const cases = [
      {
        name: 'an error of the server',
        answer: (r: ServerResponse) => r.writeHead(500).end('no'),
        code: 'http_status',
        says: /answered 500.*: no/,
      },
      {
        name: 'a wrong line',
        answer: text(`${lines(99)}oops\n`),
        code: 'invalid',
        says: /^Line 100: "oops" is not a range/,
      },
      {
        name: 'several wrong lines',
        answer: text('x\ny\n'),
        code: 'invalid',
        says: /1 more entry is wrong\.$/,
      },
      {
        name: 'a page for people',
        answer: text('\n<!DOCTYPE html>\n<title>Sign in</title>', { 'content-type': 'text/plain' }),
        code: 'invalid',
        says: /is a web page/,
      },
      {
        name: 'the same behind the mark of UTF-8',
        answer: text('\ufeff<!DOCTYPE html>\n<title>Sign in</title>', { 'content-type': 'text/plain' }),
        code: 'invalid',
        says: /is a web page/,
      },
      {
        name: 'a cut line',
        answer: text(`${lines(100)}198.51.100.0/2`),
        code: 'invalid',
        says: /^Line 101: "198.51.100.0\/2" has bits set after its prefix/,
      },
      {
        name: 'every address',
        answer: text(`${lines(100)}::/0\n`),
        code: 'invalid',
        says: /^Line 101: "::\/0" is every address/,
      },
      {
        name: 'too many addresses',
        answer: text(`${lines(99)}12.0.0.0/8\n`),
        code: 'grown',
        says: /covers 16802560 IPv4 addresses instead of 25600, more than .*\(10\)/,
      },
      {
        name: 'every address, by halves',
        answer: text(`${lines(98)}::/1\n8000::/1\n`),
        code: 'grown',
        says: /covers 2\^128 IPv6 addresses, as many as there are/,
      },
      { name: 'no entries', answer: text('# none\n'), code: 'shrunk', says: /no entries any more/ },
      { name: 'too few entries', answer: text(lines(49)), code: 'shrunk', says: /49 entries instead of 100/ },
      {
        name: 'a bomb',
        answer: text(gzipSync(Buffer.alloc(33 * 1024 * 1024)), { 'content-encoding': 'gzip' }),
        code: 'too_large',
        says: /at most 32 MiB/,
      },
      {
        name: 'too much',
        answer: text(Buffer.alloc(33 * 1024 * 1024)),
        code: 'too_large',
        says: /at most 32 MiB/,
      },
      {
        name: 'no gzip',
        answer: text('10.0.0.0/8', { 'content-encoding': 'gzip' }),
        code: 'invalid',
        says: /not valid gzip/,
      },
      {
        name: 'another coding',
        answer: text('10.0.0.0/8', { 'content-encoding': 'br' }),
        code: 'invalid',
        says: /another way than gzip/,
      },
      {
        name: 'a cut answer',
        answer: (r: ServerResponse) =>
          void r.writeHead(200, { 'content-length': 999 }).write('10.0.0.0/8\n', () => r.destroy()),
        code: 'timeout',
        says: /before it was complete/,
      },
      {
        name: 'a private network',
        answer: redirect('http://127.0.0.2:1/'),
        code: 'private_network',
        says: /WEIR_HTTP_PRIVATE_NETWORKS/,
      },
      {
        name: 'a file',
        answer: redirect('file:///etc/passwd'),
        code: 'redirect',
        says: /only http and https/,
      },
      { name: 'a loop', answer: redirect(path), code: 'redirect', says: /more than 3 times/ },
      {
        name: 'nowhere',
        answer: (r: ServerResponse) => r.writeHead(302).end(),
        code: 'redirect',
        says: /does not say/,
      },
    ] as const
    for (const { name, answer, code, says } of cases) {
      answers.set(path, answer)
      const { outcome, error, ip_list } = await me.listEntries.refresh(id)
      t.match(
        { outcome, code: error?.code, entries: ip_list.entries },
        { outcome: 'failed', code, entries: 100 },
        name,
      )
      t.match(error?.message, says, name)
    }
    t.equal(await versionOf(me), version, 'no write')
    t.equal((await entriesOf(me, id)).length, 100)
    t.match(statusOf(id), { state: 'failing', error: { code: 'redirect' } })
    t.match(statusOf(id, now() + 4 * hourMs), { state: 'stale' })
    answer(lines(100))
    t.match(
      await me.listEntries.refresh(id),
      { outcome: 'unchanged', error: null },
      'it goes on with the ETag of the last good ones',
    )
    t.equal(requestsTo(path).at(-1)?.headers['if-none-match'], `"${lines(100).length}"`)
    t.ok(total(await registry.metrics(), 'weir_ip_list_fetch_failures_total') >= cases.length)
  })

  t.test('what could not be read is not read again until it is something else', async (t) => {
    const me = await api.account()
    const { id, answer, path } = await fed(me, 'oops\n')
    const errorAfter = async () => (await me.listEntries.refresh(id)).error?.message ?? null
    const first = await errorAfter()
    t.match(first, /^Line 1: "oops" is not a range/)
    const again = `${first} The source still has the same, which was not read again.`
    t.strictSame([await errorAfter(), await errorAfter()], [again, again])
    answer('oops!\n')
    t.match(await errorAfter(), /"oops!".*\.$/)
    answers.set(path, (response) => response.writeHead(503).end())
    t.match(await errorAfter(), /answered 503/)
    answer('oops!\n')
    t.notMatch(await errorAfter(), /not read again/, 'the error of another fetch says nothing of it')
    answer(lines(3))
    t.equal(await errorAfter(), null)
    answer('oops\n')
    t.equal(await errorAfter(), first)
  })

  t.test(
    'a failed fetch is tried again soon, then more and more rarely, and when the server wants it',
    async (t) => {
      const me = await api.account()
      const { id, path } = await fed(me, '')
      const failWith = (headers = {}) =>
        answers.set(path, (response) => response.writeHead(503, headers).end())
      failWith()
      let atMs = now()
      const waits: number[] = []
      for (let tries = 0; tries < 4; tries += 1) {
        await one.feeds.look(atMs)
        const nextMs = Date.parse(statusOf(id)!.next_at)
        waits.push(Math.round((nextMs - atMs) / 60_000))
        atMs = nextMs + 1_000
      }
      t.strictSame(waits, [1, 2, 4, 8])
      failWith({ 'retry-after': '1800' })
      await one.feeds.look(atMs)
      t.equal(Math.round((Date.parse(statusOf(id)!.next_at) - atMs) / 60_000), 30)
      t.match(statusOf(id), { error: { code: 'http_status' } })
    },
  )

  t.test('a smaller list is taken if the guard allows it', async (t) => {
    const me = await api.account()
    const { id, answer } = await fed(me, lines(10))
    await me.listEntries.refresh(id)
    answer(lines(2))
    t.match(await me.listEntries.refresh(id), { outcome: 'failed', error: { code: 'shrunk' } })
    const { source } = await me.ipList.get(id)
    await me.ipList.update(id, { source: { ...source!, shrink_guard: 0.2 } })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 2 } })
    answer('')
    await me.ipList.update(id, { source: { ...source!, shrink_guard: 0 } })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 0 } })
  })

  t.test('a list may cover more addresses if the guard allows it', async (t) => {
    const me = await api.account()
    const { id, answer } = await fed(me, '192.0.2.0/24\n')
    await me.listEntries.refresh(id)
    answer('198.51.96.0/21\n203.0.112.0/23\n')
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' }, 'ten times as many')
    answer('10.0.0.0/8\n')
    const { source } = await me.ipList.get(id)
    t.equal(source?.grow_guard, 10)
    const smaller = { ...source!, shrink_guard: 0.1 }
    await me.ipList.update(id, { source: smaller })
    t.match(await me.listEntries.refresh(id), { outcome: 'failed', error: { code: 'grown' } })
    t.strictSame(await entriesOf(me, id), ['198.51.96.0/21', '203.0.112.0/23'])
    await me.ipList.update(id, { source: { ...smaller, grow_guard: 10_000 } })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 1 } })
    answer('0.0.0.0/1\n128.0.0.0/1\n')
    t.match(await me.listEntries.refresh(id), { outcome: 'failed', error: { code: 'grown' } })
    await me.ipList.update(id, { source: { ...smaller, grow_guard: 0 } })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 2 } })
    const half = me.ipList.update(id, { source: { ...smaller, grow_guard: 0.5 } })
    t.match(await refused(400, half), /grow_guard.*0 or at least 1 is allowed/)
  })

  t.test('a list may begin with another family, but not with most of it', async (t) => {
    const me = await api.account()
    const { id, answer } = await fed(me, lines(10))
    await me.listEntries.refresh(id)
    answer(`${lines(10)}2000::/3\n`)
    t.match(await me.listEntries.refresh(id), { outcome: 'failed', error: { code: 'grown' } })
    answer(`${lines(10)}2001:db8::/32\n`)
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 11 } })
    const other = await fed(me, '2001:db8::/32\n2001:db9::/32\n')
    await me.listEntries.refresh(other.id)
    other.answer('2001:db8::/32\n2001:db9::/32\n64.0.0.0/2\n')
    t.match(await me.listEntries.refresh(other.id), { outcome: 'failed', error: { code: 'grown' } })
  })

  t.test('304 says nothing of a list that Weir has nothing of', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, '')
    answers.set(path, (response) => response.writeHead(304).end())
    t.match(await me.listEntries.refresh(id), {
      outcome: 'failed',
      error: { code: 'http_status', message: /answers 304/ },
    })
    t.match(statusOf(id), { state: 'failing', fetched_at: null })
    answers.set(path, (response) => response.writeHead(200).end('192.0.2.0/24\n'))
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' })
    answers.set(path, (response) => response.writeHead(304).end())
    t.match(
      await me.listEntries.refresh(id),
      { outcome: 'failed' },
      'nor without a validator of what there is',
    )
  })

  t.test('its entries are those of its source alone', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    await me.listEntries.refresh(id)
    const entries = [{ cidr: '203.0.113.0/24' }]
    t.match(await refused(400, me.listEntries.replace(id, entries)), /come from its "source"/)
    const { source } = await me.ipList.get(id)
    await me.ipList.update(id, { source: null })
    t.match(await me.ipList.get(id), { source: null, source_status: null, entries: 2 })
    t.match(await refused(400, me.listEntries.refresh(id)), /has no "source"/)
    await me.listEntries.replace(id, entries)
    await me.ipList.update(id, { source: source! })
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 2 } })
    t.equal(
      requestsTo(path).at(-1)?.headers['if-none-match'],
      undefined,
      'the entries were not those of its ETag',
    )
  })

  t.test('another source is fetched at once, and nothing is known of it', async (t) => {
    const me = await api.account()
    const [first, second] = [await fed(me, lines(2)), await fed(me, lines(3))]
    const startMs = now()
    await one.feeds.look(startMs)
    const { source } = await me.ipList.get(second.id)
    await me.ipList.update(first.id, { source: source! })
    t.match(statusOf(first.id), { state: 'waiting', etag: null })
    await lookUntil(startMs + 1, () => statusOf(first.id)?.state === 'current')
    t.match(statusOf(first.id), { state: 'current' })
    t.equal((await entriesOf(me, first.id)).length, 3)
  })

  t.test('what its source has must keep the policy tests of the account', async (t) => {
    const me = await api.account()
    const { id, answer } = await fed(me, '192.0.2.0/24\n')
    await me.listEntries.refresh(id)
    const policy = await me.ipPolicy.create({})
    await me.ipPolicyRule.create({ ip_policy_id: policy.id, list_id: id, action: 'allow' })
    const hostport = 'ip-list-feeds.example:443'
    await me.tcpEdge.create({ hostports: [hostport], ip_restriction: { ip_policy_ids: [policy.id] } })
    const conn = { client_ip: '192.0.2.7', server_name: 'ip-list-feeds.example', server_port: 443 }
    await me.policyTest.create({
      given: { type: 'tcp_connection', conn },
      expect: { decision: 'allow' },
    } as never)
    answer('198.51.100.0/24\n')
    const refusal = await me.listEntries.refresh(id)
    t.match(refusal, {
      outcome: 'failed',
      error: { code: 'policy_test', message: /expects allow.*would get block/ },
    })
    t.strictSame(await entriesOf(me, id), ['192.0.2.0/24'])
  })

  t.test('what its source has must not lock out those who manage the account', async (t) => {
    const me = await api.account()
    const { id, answer } = await fed(me, '127.0.0.0/8\n')
    await me.listEntries.refresh(id)
    const policy = await me.ipPolicy.create({})
    await me.ipPolicyRule.create({ ip_policy_id: policy.id, list_id: id, action: 'allow' })
    await me.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [policy.id] })
    answer('192.0.2.0/24\n')
    t.match(await me.listEntries.refresh(id), {
      outcome: 'failed',
      error: { code: 'lockout', message: /would lock 127\.0\.0\.1, .* out of the API/ },
    })
    t.strictSame(await entriesOf(me, id), ['127.0.0.0/8'])
    answer('192.0.2.0/24\n127.0.0.1\n')
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 2 } })
  })

  t.test('of several processes, one fetches a list, and a restart changes nothing', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    const two = await open()
    const startMs = now()
    await Promise.all([one.feeds.look(startMs), two.feeds.look(startMs)])
    t.equal(requestsTo(path).length, 1)
    await two.feeds.close()
    const three = await open()
    t.match(three.statuses.of(rowOf(id), startMs), { state: 'current', etag: /"/ })
    await three.feeds.look(startMs + hourMs - 1_000)
    t.equal(requestsTo(path).length, 1, 'it is not due yet')
    await Promise.all([one.feeds.look(startMs + hourMs), three.feeds.look(startMs + hourMs)])
    t.equal(requestsTo(path).length, 2)
  })

  t.test('an account whose lists take long rests between them, and others do not wait', async (t) => {
    const [me, other] = [await api.account(), await api.account()]
    /** The account rests for as many times as long as its list took: long enough to be seen. */
    const slowMs = 260
    const slow = await open({
      replace: async (write) => {
        if (write.caller.accountId === me.accountId) await sleep(slowMs)
        return parts.listEntries.replace(write)
      },
    })
    const [first, second] = [await fed(me, lines(2)), await fed(me, lines(2))]
    const startMs = now()
    await one.states.replace(second.id, newState(rowOf(second.id)['source'] as IpListSource, startMs + 1), 0)
    await until('the process knows', async () => slow.states.get(second.id) !== undefined)
    await slow.feeds.look(startMs)
    t.equal(requestsTo(first.path).length, 1)
    const third = await fed(other, lines(2))
    await slow.feeds.look(startMs + 1)
    t.strictSame([requestsTo(second.path).length, requestsTo(third.path).length], [0, 1])
    await until('the account has rested', async () => {
      await slow.feeds.look(startMs + 1)
      return requestsTo(second.path).length === 1
    })
    t.match(slow.statuses.of(rowOf(second.id), now()), { state: 'current' })
  })

  t.test('a process that stops leaves its fetch to another one', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    const two = await open()
    answers.set(path, () => {})
    const startMs = now()
    const looked = two.feeds.look(startMs)
    await until('the fetch is under way', async () => requestsTo(path).length === 1)
    await one.feeds.look(startMs)
    t.match(await refused(503, me.listEntries.refresh(id)), /is being fetched/)
    t.equal(requestsTo(path).length, 1, 'the other process has claimed it')
    await two.feeds.close()
    await looked
    answers.set(path, (response) => response.writeHead(200).end(lines(2)))
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' })
  })

  t.test(
    'the list of a process that was killed is fetched within 15 s, whatever its clock said',
    async (t) => {
      const me = await api.account()
      const { id, path } = await fed(me, lines(2))
      const startMs = now()
      await one.feeds.look(startMs)
      const { state: good, revision } = await one.states.read(id)
      const claimed = await one.states.replace(
        id,
        { ...good!, next_ms: startMs, claimed_ms: startMs + 2 * hourMs },
        revision,
      )
      t.ok(claimed)
      await one.feeds.look(now())
      t.equal(requestsTo(path).length, 1, 'it may live')
      t.match(await refused(503, me.listEntries.refresh(id)), /is being fetched/)
      const begunMs = performance.now()
      await until('another process fetches it', async () => {
        await one.feeds.look(now())
        return requestsTo(path).length > 1
      })
      const waitedMs = performance.now() - begunMs
      t.ok(waitedMs > 8_000, `${waitedMs} ms`)
    },
  )

  t.test('a fetch that takes longer than a claim lasts keeps it', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    let finish = (): void => {}
    answers.set(path, (response) => {
      finish = () => void response.writeHead(200).end(lines(2))
    })
    const fetching = one.feeds.look(now())
    await until('the fetch is under way', async () => requestsTo(path).length === 1)
    const revisions = new Set<number>()
    await until('the claim was written again', async () => {
      const { revision, state } = await one.states.read(id)
      revisions.add(revision)
      t.ok(one.states.isClaimed(id, state))
      return revisions.size >= 3
    })
    finish()
    await fetching
    const { state } = await one.states.read(id)
    t.equal(state?.claimed_ms, null)
  })

  t.test('what is known of a list ends with it; an entry that no process wrote is none', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    const bucket = (await store.admin.findBucket(feedsBucket))!
    await bucket.put(id, 'no state')
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' })
    t.equal(requestsTo(path).length, 1)
    await me.ipList.delete(id)
    await one.feeds.look(now())
    t.not((await bucket.get(id))?.value, undefined, 'another process may know the list first')
    await one.feeds.look(now() + 2 * hourMs)
    t.equal(await bucket.get(id), undefined)
  })

  t.test('its secret headers are sent to its server alone, and never shown', async (t) => {
    const me = await api.account()
    const { id, path } = await fed(me, lines(2))
    const other = await openWebServer(t, (_, response) => response.writeHead(200).end(lines(3)))
    const { source } = await me.ipList.get(id)
    const secret = 'the-key-of-a-private-feed'
    const withKey = { ...source!, headers: { Accept: 'text/plain' }, secret_headers: { 'Api-Key': secret } }
    const set = await me.ipList.update(id, { source: withKey })
    t.match(set.source, { headers: { Accept: 'text/plain' }, secret_headers: { 'Api-Key': null } })
    const sent = () => requestsTo(path).at(-1)?.headers
    t.match(await me.listEntries.refresh(id), { outcome: 'changed' })
    t.match(sent(), { accept: 'text/plain', 'api-key': secret })

    const version = await versionOf(me)
    await me.ipList.update(id, { source: set.source! })
    await me.ipList.update(id, { source: withKey })
    t.equal(await versionOf(me), version, 'as it is shown, and as it was sent, it is the same')
    await me.ipList.update(id, { description: 'renamed', source: { ...set.source!, refresh_seconds: 120 } })
    await me.listEntries.refresh(id)
    t.equal(sent()?.['api-key'], secret, 'it is kept')
    const moved = { ...set.source!, url: `${other.url}/list` }
    t.match(await refused(400, me.ipList.update(id, { source: moved })), /leads to the same place/)

    answers.set(path, (response) => response.writeHead(200).end(`${secret}\n`))
    const { error } = await me.listEntries.refresh(id)
    t.match(error?.message, /"…" is not a range/)
    answers.set(path, (response) => response.writeHead(302, { location: `${other.url}/list` }).end())
    t.match(await me.listEntries.refresh(id), { outcome: 'changed', ip_list: { entries: 3 } })
    t.match(other.requests[0]?.headers, { 'api-key': undefined, accept: '*/*' })

    const said = JSON.stringify([
      await all(me.changes()),
      await api.audits(me.accountId),
      await me.ipList.get(id),
    ])
    t.notMatch(said, secret)
    t.match(said, '"Api-Key":null')
    await me.ipList.update(id, { source: { ...source!, secret_headers: { 'Api-Key': 'another' } } })
    answers.set(path, (response) => response.writeHead(200).end(lines(2)))
    await me.listEntries.refresh(id)
    t.match(sent(), { 'api-key': 'another', accept: '*/*' })
  })

  t.test('a source says where from, and how it is written', async (t) => {
    const me = await api.account()
    const create = (source: object) => refused(400, me.ipList.create({ name: 'wrong', source } as never))
    const url = 'https://lists.example.com/drop.txt'
    t.match(await create({ url }), /"source" lacks "format"/)
    t.match(await create({ url, file: 'a.txt', format: 'lines' }), /exactly one of "url" and "file"/)
    t.match(await create({ format: 'lines' }), /exactly one of "url" and "file"/)
    t.match(await create({ url: 'ftp://lists.example.com/', format: 'lines' }), /"source.url"/)
    t.match(
      await create({ url: 'https://me:pass@lists.example.com/', format: 'lines' }),
      /no user and no password/,
    )
    t.match(await create({ url, format: 'lines', refresh_seconds: 59 }), /"source.refresh_seconds"/)
    t.match(await create({ url, format: 'lines', refresh_seconds: 2_592_001 }), /"source.refresh_seconds"/)
    t.match(await create({ url, format: 'lines', shrink_guard: 1.1 }), /"source.shrink_guard"/)
    const secret_headers = { Authorization: 'Bearer abc' }
    t.match(
      await create({ file: 'a.txt', format: 'lines', secret_headers }),
      /has headers, which only a "url" has/,
    )
    t.match(await create({ url, format: 'lines', headers: secret_headers }), /looks like a secret/)
    t.match(await create({ url, format: 'lines', headers: { Host: 'x' } }), /does not let/)
    t.match(
      await create({ url, format: 'lines', secret_headers: { Key: null } }),
      /lacks "secret_headers.Key"/,
    )
    for (const file of ['../a.txt', '/etc/passwd', 'a/../b', '.hidden', 'a//b', 'a/b/c/d/e'])
      t.match(await create({ file, format: 'lines' }), /"source.file"/, file)
    const { id } = await me.ipList.create({ name: 'file', source: { file: 'a/b.txt', format: 'csv' } })
    t.match(await me.listEntries.refresh(id), {
      error: { code: 'files_not_allowed', message: /WEIR_LIST_DIRECTORY/ },
    })
  })
})
