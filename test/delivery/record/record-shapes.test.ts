import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseLine, parseMessage, parseRecord } from '../../../src/delivery/record/record.js'
import { type RecordField, recordFields } from '../../../src/delivery/record/record-fields.js'
import { patternOf } from '../../../src/delivery/record/record-pattern.js'
import { RecordShapes } from '../../../src/delivery/record/record-shapes.js'
import { type RecordType, recordTypes } from '../../../src/delivery/record/traffic-record.js'
import { type DottedTree, treeOfDotted } from '../../../src/ground/core/text/dotted.js'
import { isTimestamp } from '../../../src/ground/core/text/timestamp.js'

const connection = {
  record_id: 'r1',
  type: 'tcp_connection',
  account_id: 'ac_1',
  edge_id: 'edgtcp_1',
  conn: {
    client_ip: '203.0.113.7',
    client_port: 40_000,
    server_name: '1.tcp.eu.example',
    start_ts: '2026-11-20T10:00:00.123456Z',
    end_ts: '2026-11-20T10:00:01Z',
    bytes_in: 0,
    bytes_out: 123_456_789_012_345,
  },
  node: { name: 'ingress-1', load: -1.5e-7, tags: ['a', { b: null }], none: {} },
}
const request = {
  record_id: 'r1',
  type: 'http_request',
  route_id: 'edghtsrt_1',
  conn: { client_ip: '2001:db8::1', server_port: 443 },
  http: {
    request: {
      method: 'GET',
      headers: { Accept: ['*/*', 'text/"html"'], 'X-None': [] },
      url: { path: '/a' },
    },
    response: { status_code: 200, headers: {} },
  },
  tls: null,
  backend: { connection_reused: true },
  compression: { bytes_saved: -12 },
}
const typed = (record: { readonly type: string }): RecordType => record.type as RecordType

const treeOf = (type: RecordType): DottedTree<RecordField | true> =>
  treeOfDotted<RecordField | true>([['type', true], ...Object.entries<RecordField>(recordFields[type])])

/** The members that the schema names. */
function known(value: unknown, tree: DottedTree<RecordField | true>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const named = Object.entries(value).filter(([name]) => tree.has(name))
  return Object.fromEntries(
    named.map(([name, member]) => {
      const below = tree.get(name)
      return [name, below instanceof Map ? known(member, below) : member]
    }),
  )
}

const knownOf = (text: string): unknown => {
  const record = JSON.parse(text) as { readonly type: RecordType }
  return known(record, treeOf(record.type))
}

t.test(
  'a text of a known shape gives what JSON.parse gives, of the members that the schema names',
  async (t) => {
    const spaced = (record: object) => JSON.stringify(record, undefined, ' ').replaceAll('\n', ' ')
    const { conn } = connection
    const cases = [
      {
        name: 'a connection',
        of: connection,
        other: { ...connection, record_id: 'r2', conn: { ...conn, bytes_in: 7 } },
      },
      {
        name: 'another of the ignored values',
        of: connection,
        other: {
          ...connection,
          node: { name: '"\\\u0007é', load: 1e300, tags: [null, { b: true }], none: {} },
        },
      },
      {
        name: 'null for a value',
        of: connection,
        other: { ...connection, account_id: null, conn: { ...conn, bytes_in: null, start_ts: null } },
      },
      { name: 'a request', of: request, other: { ...request, backend: { connection_reused: false } } },
      {
        name: 'other headers',
        of: request,
        other: {
          ...request,
          http: {
            request: { method: null, headers: { __proto__x: ['\ud83d\ude00'] }, url: { path: '' } },
            response: { status_code: 404, headers: null },
          },
        },
      },
      {
        name: 'members in another order',
        of: { conn: { bytes_in: 1, client_ip: '192.0.2.1' }, type: 'tcp_connection', record_id: 'r' },
        other: { conn: { bytes_in: 2, client_ip: '192.0.2.2' }, type: 'tcp_connection', record_id: 's' },
      },
      {
        name: 'ignored names of all kinds',
        of: { ...connection, 'a.*(b': 1, é: 2, '\ud83d\ude00': 3, __proto__x: 4 },
        other: { ...connection, 'a.*(b': '', é: false, '\ud83d\ude00': 0, __proto__x: null },
      },
    ]
    for (const { name, of, other } of cases)
      for (const written of [JSON.stringify, spaced]) {
        const shapes = new RecordShapes()
        t.equal(shapes.read(written(of)), undefined)
        shapes.missed(written(of), typed(of))
        for (const record of [of, other])
          t.strictSame(shapes.read(written(record)), knownOf(written(record)), `${name}, ${written.name}`)
      }
  },
)

t.test('texts that are left to JSON.parse', async (t) => {
  const text = JSON.stringify(connection)
  const shapes = new RecordShapes()
  shapes.missed(text, 'tcp_connection')
  const changes: readonly (readonly [name: string, from: string, to: string])[] = [
    ['an escape in a member that counts', '"r1"', '"r\\u0031"'],
    ['a control character', 'ingress-1', 'ingress\u0001'],
    ['a bad escape', 'ingress-1', '\\x'],
    ['a leading zero', '"client_port":40000', '"client_port":040000'],
    ['minus zero', '"bytes_in":0', '"bytes_in":-0'],
    ['an exponent', '"bytes_in":0', '"bytes_in":1e3'],
    ['more digits than are surely exact', '123456789012345', '1234567890123456'],
    ['a time of another zone', '10:00:01Z', '10:00:01+01:00'],
    ['a leap second', '10:00:01Z', '10:00:60Z'],
    ['a day that February does not have', '2026-11-20T10:00:01Z', '2026-02-30T10:00:01Z'],
    ['a name twice', '"bytes_in":0', '"bytes_in":0,"bytes_in":1'],
    ['a member more', '"bytes_in":0', '"bytes_in":0,"mtu":1'],
    ['a space more', '"bytes_in":0', '"bytes_in": 0'],
    ['text behind', '}}', '}} 1'],
    ['another type', 'tcp_connection', 'http_request'],
  ]
  t.not(shapes.read(text), undefined)
  for (const [name, from, to] of changes) {
    t.ok(text.includes(from), name)
    t.equal(shapes.read(text.replace(from, to)), undefined, name)
  }
})

t.test('times are not checked again, so a pattern takes only valid ones', async (t) => {
  const text = JSON.stringify(connection)
  const shapes = new RecordShapes()
  shapes.missed(text, 'tcp_connection')
  const two = fc.nat(99).map((number) => String(number).padStart(2, '0'))
  const part = (max: number) =>
    fc.oneof({ weight: 4, arbitrary: fc.nat(max).map((n) => String(n).padStart(2, '0')) }, two)
  const time = fc
    .tuple(
      fc.tuple(two, two),
      part(13),
      part(32),
      part(24),
      part(60),
      part(60),
      fc.constantFrom('', '.', '.5', '.1234567'),
    )
    .map(
      ([year, month, day, hour, minute, second, fraction]) =>
        `${year.join('')}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`,
    )
  let taken = 0
  fc.assert(
    fc.property(time, (end) => {
      if (shapes.read(text.replace('2026-11-20T10:00:01Z', end)) === undefined) return
      taken += 1
      t.ok(isTimestamp(end), end)
    }),
    { numRuns: 3_000 },
  )
  t.ok(taken > 100, `${taken} were taken`)
})

t.test('records without a pattern', async (t) => {
  const text = JSON.stringify(connection)
  const cases = [
    { name: 'a name twice', text: text.replace('"node":', '"node":1,"node":') },
    {
      name: 'more members than a pattern may have',
      text: JSON.stringify({ ...connection, many: Array.from({ length: 2_000 }, () => 0) }),
    },
    {
      name: 'longer names than a pattern may have',
      text: JSON.stringify({ ...connection, ['n'.repeat(20_000)]: 0 }),
    },
  ]
  for (const { name, text } of cases) t.equal(patternOf(text, 'tcp_connection'), undefined, name)
})

const json = fc.jsonValue({ maxDepth: 2 })
const name = fc.oneof(fc.constantFrom('a', 'conn', 'record_id', 'http', 'x.y'), fc.string({ maxLength: 4 }))
const times = fc.constantFrom(
  '2026-11-20T10:00:00Z',
  '2024-02-29T23:59:59.999999999Z',
  '2026-01-31T00:00:00.5Z',
  '2026-11-20T10:00:00+01:00',
  null,
)
const counts = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constant(null))
const optional = <T>(members: { [Name in keyof T]: fc.Arbitrary<T[Name]> }) =>
  fc.record(members, { requiredKeys: [] })
const headers = fc.dictionary(
  fc.string({ maxLength: 5 }),
  fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
  { maxKeys: 3 },
)
const arbitraryConnection = fc.record(
  {
    client_ip: fc.oneof(fc.ipV4(), fc.ipV6()),
    client_port: fc.nat(65_535),
    server_name: fc.string(),
    start_ts: times,
    end_ts: times,
    bytes_in: counts,
    mtu: json,
  },
  { requiredKeys: ['client_ip'] },
)
const arbitraryRecord = fc
  .record({
    type: fc.constantFrom(...recordTypes),
    record_id: fc.string({ minLength: 1, maxLength: 30 }),
    conn: arbitraryConnection,
    more: fc.dictionary(name, json, { maxKeys: 2 }),
    http: fc.option(
      optional({
        request: optional({ headers, method: fc.string(), body_length: counts }),
        response: fc.option(optional({ status_code: fc.nat(599), headers })),
      }),
    ),
    backend: optional({ connection_reused: fc.boolean() }),
  })
  .map(({ more, ...record }) => ({ ...more, ...record }))
const arbitraryText = fc
  .tuple(arbitraryRecord, fc.constantFrom('', ' ', '\t'))
  .map(([record, space]) => JSON.stringify(record, undefined, space).replaceAll('\n', ' '))

const lineOf = (text: string) => parseMessage(Buffer.from(text))[0]!

const isFull = process.argv.includes('--full')

t.test('whatever was read before, a line gives the same record as by itself', async (t) => {
  fc.assert(
    fc.property(fc.array(arbitraryText, { minLength: 1, maxLength: 4 }), (texts) => {
      const shapes = new RecordShapes()
      for (const text of [...texts, ...texts]) {
        const alone = parseRecord(Buffer.from(text))
        const read = shapes.read(text)
        if (read !== undefined) t.strictSame(read, knownOf(text))
        const type = (JSON.parse(text) as { readonly type: RecordType }).type
        if (alone.ok && read === undefined) shapes.missed(text, type)
      }
    }),
    { numRuns: isFull ? 300 : 80 },
  )
})

t.test('a text that was damaged is not taken for JSON', async (t) => {
  const pieces = fc.constantFrom(
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '0',
    '-',
    '.',
    'e',
    ' ',
    '\u0001',
    'null',
    'é',
    '\\u00',
    '',
  )
  const places = fc.array(fc.tuple(fc.nat(), fc.nat(2), pieces), { minLength: 1, maxLength: 3 })
  const damaged = (text: string, changes: readonly (readonly [number, number, string])[]) =>
    changes.reduce((given, [place, cut, piece]) => {
      const at = place % (given.length + 1)
      return given.slice(0, at) + piece + given.slice(at + cut)
    }, text)
  let matched = 0
  fc.assert(
    fc.property(arbitraryText, places, (text, changes) => {
      const shapes = new RecordShapes()
      const sample = parseRecord(Buffer.from(text))
      if (!sample.ok) return
      shapes.missed(text, sample.value.type)
      const changed = damaged(text, changes)
      const read = shapes.read(changed)
      if (read === undefined) return
      matched += 1
      t.strictSame(read, knownOf(changed))
      const [alone, line] = [parseRecord(Buffer.from(changed)), parseLine(lineOf(changed))]
      t.equal(alone.ok, line.ok)
      if (!alone.ok) t.strictSame(line, alone)
    }),
    { numRuns: isFull ? 3_000 : 1_000 },
  )
  t.ok(matched > (isFull ? 10 : 1), `${matched} damaged texts were still records of the shape`)
})

t.test('lines of a message are read as by themselves, also those of known shapes', async (t) => {
  const records = Array.from({ length: 50 }, (_, index) =>
    index % 3 === 0 ? request : { ...connection, record_id: `r${index}` },
  )
  const bad = JSON.stringify({ ...connection, conn: { ...connection.conn, client_port: 65_536 } })
  const texts = [...records.map((record) => JSON.stringify(record)), bad]
  for (const line of parseMessage(Buffer.from(texts.join('\n')))) {
    const alone = parseRecord(line.bytes)
    const parsed = parseLine(line)
    const tree = treeOf(alone.ok ? alone.value.type : 'tcp_connection')
    if (alone.ok && parsed.ok) t.strictSame(known(parsed.value, tree), known(alone.value, tree))
    else t.strictSame(parsed, alone)
  }
})

t.test(
  'senders whose records are all different do not fill the memory; a new sender is learned soon',
  async (t) => {
    const shapes = new RecordShapes()
    const differing = () => JSON.stringify({ ...connection, [randomUUID()]: 0 })
    for (let index = 0; index < 10_000; index += 1) {
      const text = differing()
      if (shapes.read(text) !== undefined) t.bailout(`record ${index} is like one before`)
      shapes.missed(text, 'tcp_connection')
    }
    const text = JSON.stringify(request)
    let misses = 0
    while (shapes.read(text) === undefined) {
      shapes.missed(text, 'http_request')
      misses += 1
      if (misses > 10_000) break
    }
    t.ok(misses <= 2_000, `after ${misses} records`)
  },
)

t.test('long texts neither match by mistake nor exhaust the stack', async (t) => {
  const shapes = new RecordShapes()
  const withNote = (note: string) => JSON.stringify({ ...request, note })
  shapes.missed(withNote('short'), 'http_request')
  const long = withNote('\\'.repeat(20_000) + 'x'.repeat(20_000))
  t.strictSame(shapes.read(long), knownOf(long))
  for (const text of [`${long} 1`, long.slice(0, -1), long.replace('"note":"', '"note":"\u0001')])
    t.equal(shapes.read(text), undefined)
  const many = JSON.stringify({
    ...request,
    note: '',
    http: {
      ...request.http,
      response: {
        status_code: 1,
        headers: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`h${index}`, ['a']])),
      },
    },
  })
  t.strictSame(shapes.read(many), knownOf(many))
  t.equal(shapes.read(`${many}x`), undefined)
})
