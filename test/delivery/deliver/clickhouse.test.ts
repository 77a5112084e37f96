/** The kind `clickhouse`, against the embedded engine behind an HTTP front: rows, repeats, faults, isolation and check. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import { faultOfAnswer } from '../../../src/delivery/deliver/clickhouse/clickhouse-faults.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { withoutSecrets } from '../../../src/delivery/deliver/kind/target-options.js'
import { kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import type { FaultClass } from '../../../src/delivery/outgoing/fault-class.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { ddlOf, eventTables } from '../../../src/words/event/event-ddl.js'
import { eventSchemas } from '../../../src/words/event/event-schemas.js'
import { type ClickhouseFront, startClickhouseFront } from '../../harness/clickhouse-front.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { roomForAll } from './fake-lane.js'

const signal = new AbortController().signal

interface Server {
  readonly front: ClickhouseFront
  readonly sql: (statement: string) => Promise<string>
  readonly config: (options?: object, url?: string) => DestinationConfig
  readonly open: (options?: object, url?: string, timeoutMs?: number, networks?: ReachableNetworks) => Sender
}

async function startServer(t: Test): Promise<Server> {
  const front = await startClickhouseFront(tempDir(t))
  t.teardown(() => front.process.stop())
  const { origin, username, password: encoded } = new URL(front.url)
  const password = decodeURIComponent(encoded)
  const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
  const config: Server['config'] = (options = {}, url = origin) => ({
    id: 'ed_clickhouse',
    accountId: 'ac_test',
    kind: 'clickhouse',
    address: url,
    options: { table: 'events', auth: { username, password }, ...options },
  })
  return {
    front,
    config,
    sql: async (statement) => {
      const response = await fetch(origin, { method: 'POST', headers, body: statement })
      const text = await response.text()
      if (!response.ok) throw new Error(text)
      return text.trimEnd()
    },
    open: (options, url, requestTimeoutMs = 60_000, networks = new ReachableNetworks(['127.0.0.0/8'])) => {
      const sender = openSender(config(options, url), {
        aws: {},
        clock: new AwsClock(),
        requestTimeoutMs,
        networks,
        kinds: { clickhouse: { requestBytesMax: 8 * 1024 * 1024 } },
      })
      t.teardown(() => sender.close())
      return sender
    },
  }
}

const eventOf = (id: string, conn: object = {}, more: object = {}) => ({
  event_id: id,
  event_type: 'tcp_connection_closed.v0',
  event_timestamp: '2026-11-22T02:20:51.378Z',
  account_id: 'ac_test',
  object: { conn: { client_ip: '203.0.113.7', server_port: 22, start_ts: null, ...conn } },
  ...more,
})

function packed(events: readonly { event_id: string }[]): readonly PackedEvent[] {
  const writer = new PackWriter()
  for (const event of events) writer.append(event.event_id, Date.now(), JSON.stringify(event))
  return readPack(writer.take()).events
}

const columns = `event_id String, event_type LowCardinality(String), event_timestamp DateTime64(3, 'UTC'), account_id String,
  object Tuple(conn Tuple(client_ip Nullable(String), server_port Nullable(Int32), bytes_in Nullable(Int64),
  start_ts Nullable(DateTime64(6, 'UTC'))))`
const tableOf = (name: string, more = '', settings = ''): string =>
  `CREATE TABLE ${name} (${columns}${more}) ENGINE = MergeTree ORDER BY (event_timestamp, event_id) ${settings}`

t.test('against a server', async (t) => {
  const server = await startServer(t)
  const { sql, open, front } = server
  await sql(tableOf('events', '', 'SETTINGS non_replicated_deduplication_window = 100'))
  const rows = (table = 'events') => sql(`SELECT count() FROM ${table}`).then(Number)
  const sent = (sender: Sender, events: readonly { event_id: string }[]) =>
    sender.send(packed(events), signal)

  await t.test('events become rows as they are, and a repeat of a request is stored once', async (t) => {
    const sender = open()
    const events = [
      eventOf('ev_1', { bytes_in: 9_007_199_254_740_991, start_ts: '2026-11-22T02:20:51.378123Z' }),
      eventOf('ev_2', { client_ip: 'ünï"\\' }),
    ]
    for (let n = 0; n < 2; n += 1) {
      t.match(await sent(sender, events), { outcome: 'accepted', requestId: String })
    }
    const selected =
      'event_id, event_timestamp, object.conn.client_ip, object.conn.bytes_in, object.conn.start_ts'
    t.equal(
      await sql(`SELECT ${selected} FROM events ORDER BY event_id FORMAT CSV`),
      [
        '"ev_1","2026-11-22 02:20:51.378","203.0.113.7",9007199254740991,"2026-11-22 02:20:51.378123"',
        '"ev_2","2026-11-22 02:20:51.378","ünï""\\",\\N,\\N',
      ].join('\n'),
    )
    t.match(await sent(sender, [eventOf('ev_2')]), { outcome: 'accepted' })
    t.equal(await rows(), 3, 'another request is not a repeat')
  })

  await t.test('a full request', async (t) => {
    await sql(tableOf('large'))
    const sender = open({ database: 'default', table: 'large', async_insert: true })
    const many = Array.from({ length: sender.limits().eventsMax }, (_, n) => eventOf(`ev_${n}`))
    t.match(await sent(sender, many), { outcome: 'accepted' })
    const padding = 'x'.repeat(sender.limits().eventBytesMax - 1000)
    t.match(await sent(sender, [eventOf('ev_large', { client_ip: padding })]), { outcome: 'accepted' })
    t.equal(await rows('large'), many.length + 1)
  })

  await t.test('the table that `weir ddl` prints', async (t) => {
    const kinds = eventSchemas().filter(({ kind }) => /^(tcp|http)_/.test(kind))
    await sql(String(ddlOf(eventTables(kinds, 'traffic')[0]!, 'clickhouse')))
    const request = {
      event_type: 'http_request_complete.v0',
      object: {
        http: { request: { headers: { 'User-Agent': ['a', 'b'] } } },
        warnings: [],
        decision: 'allow',
      },
    }
    const test = { event_type: 'test.v0', object: { event_destination: { id: 'ed_1' } } }
    const events = [eventOf('ev_1', { asn: 64_500 }), eventOf('ev_2', {}, request)]
    const sender = open({ table: 'traffic' })
    for (const each of [events, events, [eventOf('ev_3', {}, test)]])
      t.match(await sent(sender, each), { outcome: 'accepted' })
    t.equal(await rows('traffic'), 3, 'a repeated request is stored once')
    const header = "object.http.request.headers['User-Agent']"
    t.equal(
      await sql(`SELECT object.conn.asn, ${header} FROM traffic ORDER BY event_id FORMAT CSV`),
      `64500,"[]"\n\\N,"['a','b']"\n\\N,"[]"`,
    )
  })

  await t.test('a member without a column', async (t) => {
    const extra = [eventOf('ev_extra', {}, { principal: {} })]
    const nested = [eventOf('ev_nested', { asn: 1 })]
    for (const events of [extra, nested]) {
      const fault = { class: 'configuration', code: /^(INCORRECT_DATA|NOT_FOUND_COLUMN_IN_BLOCK)$/ }
      t.match(await sent(open(), events), { outcome: 'failed', fault }, 'is refused')
      t.match(await sent(open({ unknown_fields: 'skip' }), events), { outcome: 'accepted' }, 'or skipped')
    }
    const test = eventOf(
      'ev_test',
      {},
      { event_type: 'test.v0', object: { event_destination: { id: 'ed_1' } } },
    )
    t.match(await sent(open(), [test]), { outcome: 'accepted' }, 'a test event always fits')
  })

  await t.test('faults are classified', async (t) => {
    await sql(tableOf('busy', '', 'SETTINGS parts_to_throw_insert = 1, parts_to_delay_insert = 1'))
    await sql('SYSTEM STOP MERGES busy')
    await sql("INSERT INTO busy (event_id) VALUES ('a')")
    await sql(
      `CREATE TABLE daily (${columns}) ENGINE = MergeTree PARTITION BY event_id ORDER BY event_timestamp`,
    )
    await sql(tableOf('bounded', ', CONSTRAINT port CHECK object.conn.server_port = 22'))
    const one = [eventOf('ev_1')]
    const wrongPort = [eventOf('ev_1', { server_port: 'ssh' })]
    const spread = Array.from({ length: 101 }, (_, n) => eventOf(`ev_${n}`))
    const auth = { username: 'default', password: 'another' }
    const cases: [what: string, options: object, events: typeof one, fault: object][] = [
      ['a type', {}, wrongPort, { class: 'poison', code: /^CANNOT_PARSE_/ }],
      ['a constraint', { table: 'bounded' }, [eventOf('ev_1', { server_port: 23 })], { class: 'poison' }],
      ['too many partitions', { table: 'daily' }, spread, { class: 'poison', code: 'TOO_MANY_PARTS' }],
      ['too many parts', { table: 'busy' }, one, { class: 'throttle', code: 'TOO_MANY_PARTS' }],
      [
        'no table',
        { table: 'nope' },
        one,
        { class: 'configuration', code: 'UNKNOWN_TABLE', requestId: String },
      ],
      ['no database', { database: 'nope' }, one, { class: 'configuration', code: 'UNKNOWN_DATABASE' }],
      ['a password', { auth }, one, { class: 'credentials', code: 'AUTHENTICATION_FAILED' }],
      ['no user', { auth: undefined }, one, { class: 'credentials', code: 'AUTHENTICATION_FAILED' }],
    ]
    for (const [what, options, events, fault] of cases) {
      const outcome = await sent(open(options), events)
      t.match(outcome, { outcome: 'failed', fault }, what)
      t.notMatch(JSON.stringify(outcome), /pass:word|another/, 'no secret')
    }
    const refused = { class: 'transient', code: 'ConnectionLost' }
    t.match(await sent(open({}, 'http://127.0.0.1:1'), one), { fault: refused }, 'no server')
    const guarded = open({}, undefined, undefined, new ReachableNetworks())
    t.match(await sent(guarded, one), { fault: { class: 'configuration', code: 'PrivateNetwork' } })
    await front.mode('fail')
    t.match(await sent(open(), one), { fault: { class: 'transient', code: 'POCO_EXCEPTION' } })
    await front.mode('hang')
    t.match(await sent(open({}, undefined, 300), one), { fault: { class: 'transient', code: 'Timeout' } })
    const abort = new AbortController()
    const stopped = open().send(packed(one), abort.signal)
    abort.abort()
    t.match(await stopped, { fault: { class: 'transient', code: 'Aborted' } })
    await front.mode('ok')
  })

  await t.test('a lane finds the event at fault, and waits for a table and a server', async (t) => {
    await sql(tableOf('found'))
    const dead: string[] = []
    const lane = new Lane(server.config({ table: 'found' }), {
      open: ({ options }) => open(options),
      budget: roomForAll,
      deadLetter: async ({ id }) => void dead.push(id),
      settings: { probeMinMs: 5, probeMaxMs: 10 },
    })
    t.teardown(() => lane.close())
    const deliver = (ids: readonly string[], bad = '') =>
      lane.deliver(packed(ids.map((id) => eventOf(id, id === bad ? { server_port: 'ssh' } : {}))))
    const ids = Array.from({ length: 20 }, (_, n) => `ev_${n}`)
    t.match(await deliver(ids, 'ev_13'), { outcome: 'done', counts: { delivered: 19, dead_lettered: 1 } })
    t.strictSame(dead, ['ev_13'])
    await sql('RENAME TABLE found TO away')
    const waiting = deliver(['ev_20'])
    await until('the lane is paused', async () => lane.status().state === 'paused')
    t.match(lane.status(), { cause: 'configuration', last_error: { code: 'UNKNOWN_TABLE' } })
    await sql('RENAME TABLE away TO found')
    t.match(await waiting, { outcome: 'done', counts: { delivered: 1 } })
    await front.mode('fail')
    const failing = deliver(['ev_21'])
    await until('the lane waits', async () => lane.status().state === 'failing')
    await front.mode('ok')
    lane.hurry()
    t.match(await failing, { outcome: 'done', counts: { delivered: 1 } })
    t.equal(await rows('found'), 21)
  })

  await t.test('a check proves what it can, and writes nothing', async (t) => {
    const before = await rows()
    const check = (options: object = {}, event: { event_id: string } = eventOf('ev_1')) =>
      open(options).check!(packed([event])[0]!, signal)
    t.match(await check(), {
      ok: true,
      value: { mayWrite: true, proved: [/user/, /column for each/, /insert/] },
    })
    const principal = eventOf('ev_1', {}, { principal: {} })
    const problem = {
      class: 'configuration',
      code: 'MissingColumns',
      msg: 'The table has no column principal.',
    }
    t.match(await check({}, principal), { ok: false, problem })
    const skipped = { ok: true, value: { proved: { 1: 'The table exists, and leaves out principal.' } } }
    t.match(await check({ unknown_fields: 'skip' }, principal), skipped)
    await sql(tableOf('computed', ", principal String ALIAS ''"))
    t.match(await check({ table: 'computed' }, principal), { ok: false, problem })
    t.match(await check({ table: 'nope' }), { ok: false, problem: { code: 'UNKNOWN_TABLE' } })
    t.equal(await rows(), before)
  })
})

t.test('another web server does not pass for ClickHouse, and its answer is bounded', async (t) => {
  const endless = Buffer.alloc(64 * 1024, 'x')
  const server = createServer((request, response) => {
    request.resume()
    const encoded = request.headers.authorization?.split(' ')[1] ?? ''
    const [user] = Buffer.from(encoded, 'base64').toString().split(':')
    if (user !== 'long') return void response.end(user === 'html' ? '<html>' : '')
    response.writeHead(500)
    const more = (): void => {
      while (!response.destroyed && response.write(endless));
    }
    response.on('drain', more)
    more()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const send = async (username: string) => {
    const sender = openSender(
      {
        id: 'ed_1',
        accountId: 'ac_test',
        kind: 'clickhouse',
        address: url,
        options: { table: 'events', auth: { username, password: 'p' } },
      },
      {
        aws: {},
        clock: new AwsClock(),
        requestTimeoutMs: 60_000,
        networks: new ReachableNetworks(['127.0.0.1/32']),
        kinds: { clickhouse: { requestBytesMax: 1024 } },
      },
    )
    t.teardown(() => sender.close())
    return sender.send(packed([eventOf('ev_1')]), signal)
  }
  const stranger = { outcome: 'failed', fault: { class: 'configuration', code: 'NotClickHouse' } }
  t.match(await send('html'), stranger)
  t.match(await send('empty'), stranger)
  t.match(await send('long'), { fault: { class: 'transient', code: 'Http500' } })
})

t.test('errors by name', async (t) => {
  const cases: [text: string, faultClass: FaultClass, code: string][] = [
    [
      'Code: 117. DB::Exception: Received from b:9000. DB::Exception: Unknown field found while parsing JSONEachRow format: x. (INCORRECT_DATA)',
      'configuration',
      'INCORRECT_DATA',
    ],
    [
      'Code: 497. DB::Exception: u: Not enough privileges. (ACCESS_DENIED) (version 26.7)',
      'configuration',
      'ACCESS_DENIED',
    ],
    [
      'Code: 241. DB::Exception: (total) memory limit exceeded: x. (MEMORY_LIMIT_EXCEEDED)',
      'throttle',
      'MEMORY_LIMIT_EXCEEDED',
    ],
    [
      'Code: 202. DB::Exception: Too many. (TOO_MANY_SIMULTANEOUS_QUERIES)',
      'throttle',
      'TOO_MANY_SIMULTANEOUS_QUERIES',
    ],
    [
      'Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)',
      'transient',
      'TABLE_IS_READ_ONLY',
    ],
    [
      'Code: 319. DB::Exception: Unknown status. (UNKNOWN_STATUS_OF_INSERT)',
      'transient',
      'UNKNOWN_STATUS_OF_INSERT',
    ],
    [
      'Code: 516. DB::Exception: u: Authentication failed. (AUTHENTICATION_FAILED)',
      'credentials',
      'AUTHENTICATION_FAILED',
    ],
    ['Code: 4242. DB::Exception: New. (SOMETHING_NEW) (version 99.1)', 'configuration', 'SOMETHING_NEW'],
    [
      'Code: 691. DB::Exception: Unknown element. (UNKNOWN_ELEMENT_OF_ENUM)',
      'poison',
      'UNKNOWN_ELEMENT_OF_ENUM',
    ],
  ]
  for (const [text, faultClass, code] of cases) {
    t.match(faultOfAnswer(500, text), { class: faultClass, code }, code)
  }
  const byStatus: (readonly [number, FaultClass])[] = [
    ...([
      [401, 'credentials'],
      [403, 'configuration'],
      [302, 'configuration'],
      [404, 'configuration'],
    ] as const),
    ...([
      [408, 'transient'],
      [413, 'poison'],
      [429, 'throttle'],
      [502, 'transient'],
    ] as const),
  ]
  for (const [status, faultClass] of byStatus) {
    t.match(faultOfAnswer(status, '<html>'), { class: faultClass, code: `Http${status}` })
  }
})

t.test('targets are bounded', async (t) => {
  const { address, options } = kindNamed('clickhouse')
  for (const url of ['http://a:8123', 'https://clickhouse.example.com:8443/', 'http://[::1]:8123']) {
    t.equal(address.check(url), undefined, url)
  }
  const bad = [
    'ftp://a',
    'http://u:p@a',
    'http://a/path',
    'http://a?x=1',
    'http://a#x',
    'http://a\\b',
    'http://a b',
    'http://',
    'a',
  ]
  for (const url of bad) t.match(address.check(url), { msg: /not the address of a ClickHouse server/ }, url)
  const given = { table: 't', auth: { username: 'u', password: 'p' } }
  t.strictSame(withoutSecrets(options!, given), { table: 't', auth: { username: 'u', password: null } })
  const recipient = (url: string, auth?: object) => options!.recipient!(url, { table: 't', auth })
  t.not(recipient('http://a', { username: 'u' }), recipient('http://b', { username: 'u' }))
  t.not(recipient('http://a', { username: 'u' }), recipient('http://a', { username: 'v' }))
})
