/** `POST /records`: an account publishes records for itself and its edges alone. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { publishedRecordsSubject } from '../../../src/delivery/wire/names.js'
import type { StreamOptions } from '../../../src/ground/nats/streams.js'
import { Usage } from '../../../src/management/access/usage.js'
import { openTestStore, type TestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'
import { recordsStream, recordsSubjects } from '../../harness/first-partition.js'
import { createUnclaimed } from '../../harness/unclaimed-names.js'

const ndjson = { 'content-type': 'application/x-ndjson' }
const gzipped = { ...ndjson, 'content-encoding': 'gzip' }

const conn = { client_ip: '203.0.113.7', server_name: 'own.publish.example', server_port: 443 }
const record = (values: object = {}, of: object = {}) => ({
  record_id: 'r1',
  type: 'http_request',
  conn: { ...conn, ...of },
  ...values,
})
const text = (...records: readonly object[]): string => records.map((each) => JSON.stringify(each)).join('\n')

const anyPath = { match_type: 'path_prefix', match: '/' } as const

const publish = async (
  { raw }: Pick<Caller, 'raw'>,
  body: string | Buffer,
  headers: Record<string, string> = ndjson,
) => raw.send('POST', '/records', { body, headers })

/** The messages with records of an account, in the order of the stream. */
async function storedOf({ admin }: TestStore, accountId: string): Promise<string[]> {
  const found: string[] = []
  for (let next = 1; ; ) {
    const message = await admin.nextMessage(recordsStream, publishedRecordsSubject, next)
    if (message === undefined) return found
    const data = Buffer.from(message.data).toString()
    if (data.includes(accountId)) found.push(data)
    next = message.sequence + 1
  }
}

/** Leaves room for less than 8 KiB. */
async function fillUp({ admin }: TestStore): Promise<void> {
  const blank = '\n'.repeat(8 * 1024)
  const isStored = () =>
    admin.publish('weir.records.test', blank, { triesMax: 1 }).then(
      () => true,
      () => false,
    )
  while (await isStored());
}

t.test('POST /records', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account('me'), await api.account('other')]
  const edge = await me.httpsEdge.create({ hostports: ['own.publish.example:443'] })
  const route = await me.httpsEdgeRoute.under(edge.id).create(anyPath)
  const tcp = await me.tcpEdge.create({ hostports: ['own.publish.example:22'] })
  const theirs = await other.httpsEdge.create({ hostports: ['theirs.publish.example:443'] })
  await other.tcpEdge.create({ hostports: ['theirs.publish.example:22'] })
  await createUnclaimed(store.parts, other.accountId, 'https_edge', { hostports: ['*.publish.example:*'] })
  const theirRoute = await other.httpsEdgeRoute.under(theirs.id).create(anyPath)

  t.test('what an account may publish', async (t) => {
    const cases: [name: string, record: object, refusal?: RegExp][] = [
      ['of its edge by name', record()],
      ['of its edge by id', record({ edge_id: edge.id })],
      ['of its route', record({ edge_id: edge.id, route_id: route.id })],
      ['of its TCP edge', { ...record({ type: 'tcp_connection' }, { server_port: 22 }), edge_id: tcp.id }],
      ['with its account', record({ account_id: me.accountId })],
      ['with no account, as null', record({ account_id: null })],
      ['that no edge serves', record({}, { server_name: 'nobody.publish.example' })],
      ["that another account's wildcard would match", record({}, { server_port: 8443 })],
      ['without a name', record({}, { server_name: null })],
      ['a TCP connection to the port of an HTTPS edge', { ...record(), type: 'tcp_connection' }],
      [
        'for another account',
        record({ account_id: other.accountId }),
        /^"account_id" is "ac_\w+", which is not your account\.$/,
      ],
      [
        "of another account's edge by id",
        record({ edge_id: theirs.id }),
        /^"edge_id" is "\w+", but there is no such edge\.$/,
      ],
      [
        "of another account's edge by name, which is a name like any other",
        record({}, { server_name: 'Theirs.Publish.Example.' }),
      ],
      [
        "of another account's TCP edge",
        record({ type: 'tcp_connection' }, { server_name: 'theirs.publish.example', server_port: 22 }),
      ],
      [
        "of another account's route",
        record({ edge_id: edge.id, route_id: theirRoute.id }),
        /^"route_id" is "\w+", which is not a route of \w+\.$/,
      ],
      [
        'of a route without an edge',
        record({ route_id: theirRoute.id }, { server_name: 'nobody.publish.example' }),
        /^"route_id" is "\w+", but no edge of yours serves the record\.$/,
      ],
      [
        'of the wrong kind of edge',
        record({ edge_id: tcp.id }),
        /a TCP edge; a http_request can't belong to it/,
      ],
      ['without an id', record({ record_id: undefined }), /^"record_id" is missing; it must be/],
      [
        'with a bad address',
        record({}, { client_ip: '203.0.113' }),
        /^"conn.client_ip" is "203.0.113"; it must/,
      ],
    ]
    for (const [name, given, refusal] of cases) {
      const { status, body } = await publish(me, text(given))
      t.equal(status, 200, name)
      if (refusal === undefined) t.strictSame(body, { stored: 1, refused_count: 0, refused: [] }, name)
      else {
        t.match(body, { stored: 0, refused_count: 1, refused: [{ line: 1, reason: refusal }] }, name)
        t.notMatch(body.refused[0].reason.replace(other.accountId, ''), /belongs to/, name)
      }
    }
    const escaped = text(record()).replace('{', `{"account\\u005fid":"${other.accountId}",`)
    t.match(
      (await publish(me, escaped)).body.refused[0].reason,
      /which is not your account/,
      'an escaped name',
    )
  })

  t.test('records get their account; all else is stored as it was sent', async (t) => {
    const author = await api.account('author')
    const plain = '{"record_id":"1","type":"tcp_connection","conn":{"client_ip":"192.0.2.1"},"x":1e400 }'
    const named = `{"account_id":"${author.accountId}","record_id":"2","type":"tcp_connection","conn":{"client_ip":"192.0.2.1"}}`
    const asNull = named.replace(`"${author.accountId}"`, 'null')
    const answer = await publish(author, `\n${plain} \r\n\n${named}\n${asNull}\n`)
    t.strictSame(answer.body, { stored: 3, refused_count: 0, refused: [] })
    const owner = `,"account_id":"${author.accountId}"}`
    t.strictSame(await storedOf(store, author.accountId), [
      [plain.slice(0, -1) + owner, named, asNull.slice(0, -1) + owner].join('\n'),
    ])
  })

  t.test('a request that is repeated is stored once, by each account', async (t) => {
    const [one, two] = [await api.account('one'), await api.account('two')]
    const body = text(
      ...Array.from({ length: 250 }, (_, index) => ({
        record_id: `r${index}`,
        type: 'tcp_connection',
        conn: { client_ip: '192.0.2.1' },
      })),
    )
    for (const client of [one, one, two]) {
      const { body: answer } = await publish(client, gzipSync(body), gzipped)
      t.equal(answer.stored, 250)
    }
    for (const { accountId } of [one, two]) {
      const sizes = (await storedOf(store, accountId)).map((message) => message.split('\n').length)
      t.strictSame(sizes.toSorted(), [100, 100, 50], 'in messages of a hundred')
    }
  })

  t.test('a URL that is given as it was logged gets a path', async (t) => {
    const logging = await api.account('logging')
    const cases: [name: string, url: object, want: object, method?: string][] = [
      ['a path', { raw: '//%61dmin/x/../?q=1' }, { path: '/admin/', query: 'q=1' }],
      ['bytes that are no text', { raw: '/%ff/../admin', path: null }, { path: '/admin' }],
      ['a whole URL', { raw: 'https://a.example//b', scheme: 'http' }, { path: '/b', scheme: 'http' }],
      ['a query of its own', { raw: '/a', query: 'b=c' }, { path: '/a', query: 'b=c' }],
      ['a path of its own', { raw: '/a', path: '//b' }, { path: '//b' }],
      ['an authority', { raw: 'a.example:443' }, { path: undefined }, 'CONNECT'],
      ['nothing', { scheme: 'https' }, { path: undefined }],
    ]
    const other = { response: { status_code: 204 }, request: { user_agent: 'curl' } }
    const asked = cases.map(([record_id, url, , method = 'GET']) => ({
      ...record({ http: { ...other, request: { ...other.request, method, url } } }, { server_name: null }),
      record_id,
    }))
    t.match((await publish(logging, text(...asked))).body, { stored: cases.length, refused: [] })
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    const nested = text(asked[0]!).replace('{', `{"x":${deep},`)
    const { refused } = (await publish(logging, nested)).body
    t.strictSame(refused, [{ line: 1, reason: 'It is nested too deeply.' }])
    const stored = (await storedOf(store, logging.accountId)).flatMap((message) => message.split('\n'))
    for (const [index, [name, url, want]] of cases.entries()) {
      const { record_id, account_id, http } = JSON.parse(stored[index]!)
      t.strictSame([record_id, account_id], [name, logging.accountId])
      t.match(http, { ...other, request: { ...other.request, url: { ...url, ...want } } }, name)
    }
  })

  t.test('lines that are refused are named, at most a hundred of them', async (t) => {
    const lines = ['', 'not JSON', text(record()), '[]', '\xff', ...Array.from({ length: 200 }, () => '{}')]
    const body = Buffer.from(lines.join('\n'), 'latin1')
    const { body: answer } = await publish(me, body)
    t.match(answer, { stored: 1, refused_count: 203 })
    t.equal(answer.refused.length, 100)
    t.match(answer.refused.slice(0, 4), [
      { line: 2, reason: /^It is not JSON/ },
      { line: 4, reason: /^"record" is \[\]; it must be an object/ },
      { line: 5, reason: 'It is not UTF-8.' },
      { line: 6, reason: /^"type" is missing/ },
    ])
    const long = { record_id: 'long', type: 'tcp_connection', conn, x: 'x'.repeat(65_370) }
    t.match((await publish(me, text(long))).body.refused[0]?.reason, /with what Weir adds; at most 65536/)
    t.strictSame((await publish(me, '')).body, { stored: 0, refused_count: 0, refused: [] }, 'no body')
  })

  t.test('bodies that are refused as a whole', async (t) => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20))
    const cases: [name: string, status: number, says: RegExp, body: string | Buffer, headers: object][] = [
      ['a bomb', 413, /at most 16777216 bytes are allowed, decompressed/, bomb, gzipped],
      ['too long', 413, /at most 4194304 bytes are allowed/, Buffer.alloc(4 * 1024 * 1024 + 1, 0x20), ndjson],
      ['too many lines', 413, /more than 20000 lines/, '\n'.repeat(20_001), ndjson],
      ['no gzip', 400, /not valid gzip/, text(record()), gzipped],
      ['a part of gzip', 400, /not valid gzip/, gzipSync(text(record())).subarray(0, 40), gzipped],
      [
        'JSON',
        415,
        /is "application\/json": application\/x-ndjson is needed/,
        '{}',
        { 'content-type': 'application/json' },
      ],
      ['no type', 415, /has no content type: application\/x-ndjson/, '{}', { 'content-type': undefined }],
      [
        'another encoding',
        415,
        /is "br": send it with gzip, or uncompressed/,
        '{}',
        { ...ndjson, 'content-encoding': 'br' },
      ],
      ['two encodings', 415, /is "gzip, gzip"/, '{}', { ...ndjson, 'content-encoding': 'gzip, gzip' }],
    ]
    for (const [name, status, says, body, headers] of cases) {
      const answer = await publish(me, body, headers as Record<string, string>)
      t.equal(answer.status, status, name)
      t.match(answer.body.msg, says, name)
    }
  })

  t.test('records count against a limit of their own', async (t) => {
    const limited = await store.api({ usage: new Usage(0, { recordsPerMinute: 3 }) })
    const { token } = await me.apiKey.create({ rights: ['publish'] })
    const client = limited.caller(token ?? '', me.accountId)
    const two = text(record({ record_id: 'a' }), record({ record_id: 'b' }))
    for (const _ of [1, 2])
      t.equal((await publish(client, two)).status, 200, 'the limit is not reached before')
    const refused = await publish(client, two)
    t.match(refused, { status: 429, body: { error_code: 'ERR_RATE_LIMIT', msg: /too many records/ } })
    t.ok(Number(refused.headers['retry-after']) > 0)
    t.equal((await client.raw.send('GET', '/edges/tcp')).status, 403, 'the key may do nothing else')
  })

  t.test('an answer says how many records are stored, if not all can be', async (t) => {
    const author = await api.account('unlucky')
    const { bytes } = (await store.admin.streamInfo(recordsStream))!.state
    const stream: Omit<StreamOptions, 'bytesMax'> = {
      name: recordsStream,
      subjects: [recordsSubjects],
      ageMaxMs: 24 * 60 * 60_000,
      retention: 'limits',
      discard: 'new',
      duplicateWindowMs: 2 * 60_000,
      messageBytesMax: 900 * 1024,
    }
    const body = text(
      ...Array.from({ length: 250 }, (_, index) => ({
        record_id: `r${index}`,
        type: 'tcp_connection',
        conn: { client_ip: '192.0.2.1' },
      })),
    )
    try {
      // A stream shrinks only if it is half empty.
      await store.admin.ensureStream({ ...stream, bytesMax: Math.max(bytes * 2, 64 * 1024) })
      await fillUp(store)
      const answer = await publish(author, body)
      t.match(answer, { status: 503, body: { error_code: 'ERR_UNAVAILABLE' } })
      const stored = (await storedOf(store, author.accountId)).flatMap((message) => message.split('\n'))
      t.ok(stored.length < 250)
      t.match(
        answer.body.msg,
        new RegExp(`^${stored.length} of 250 records are stored: .* Send all of them again`),
      )
      t.ok(Number(answer.headers['retry-after']) > 0)
    } finally {
      await store.admin.ensureStream({ ...stream, bytesMax: 1024 ** 3 })
    }
    t.equal((await publish(author, body)).body.stored, 250)
    const stored = (await storedOf(store, author.accountId)).flatMap((message) => message.split('\n'))
    t.equal(stored.length, 250, 'what was stored is not stored again')
  })
})
