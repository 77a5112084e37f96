/** What processes of Weir store and tell each other: packs, rows of logs, the ledger, dead letters, notices. */
import { gzipSync } from 'node:zlib'
import { readEntries } from '../../../src/delivery/books/ledger-lines.js'
import { objectsOf, patternDefault } from '../../../src/delivery/deliver/s3/object-key.js'
import { behindIn } from '../../../src/delivery/wire/behind.js'
import { headerText } from '../../../src/delivery/wire/dead-letter.js'
import { readDecisionRows } from '../../../src/delivery/wire/decision-rows.js'
import { readDeliveryRows } from '../../../src/delivery/wire/delivery-rows.js'
import { EventTemplate } from '../../../src/delivery/wire/event-template.js'
import { readFailureRows } from '../../../src/delivery/wire/failure-rows.js'
import { deadLetterHeaders, packHeaders } from '../../../src/delivery/wire/names.js'
import { formatNotice, parseNotice } from '../../../src/delivery/wire/own-consumers.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import {
  packOrigin,
  parseSegments,
  Segments,
  sequenceOfEvent,
} from '../../../src/delivery/wire/pack-message.js'
import { formatTraces, tracesIn } from '../../../src/delivery/wire/pack-trace.js'
import { reportsIn } from '../../../src/delivery/wire/process-report.js'
import { compileReasonPattern, reasonPattern } from '../../../src/delivery/wire/reason-pattern.js'
import { announcementIn, announcementOf, obstaclesOf } from '../../../src/delivery/wire/role-formats.js'
import { lettersIn, sharedDeadLetter } from '../../../src/delivery/wire/shared-dead-letters.js'
import { readWatchedDelivery, writeWatchedDelivery } from '../../../src/delivery/wire/watched.js'
import {
  decisionRow,
  deliveryBytes,
  deliveryRow,
  failureBytes,
  failureRow,
  rowBytes,
} from '../../harness/decision-rows.js'
import { expectSame, expectThat, type FuzzedParser, read, refused, tried } from '../engine/parser.js'

const eventJson =
  '{"event_id":"ev_5dd836b1afe8ea95054d12b5c268c19788e037c0438fb3ea","event_type":"tcp_connection_closed.v0","object":{}}'

function packSeed(): Uint8Array {
  const writer = new PackWriter()
  const template = EventTemplate.of([
    '{"event_id":"ev_',
    '01","event_type":"a.v0","event_timestamp":"',
    '","object":{"a":',
    '}}',
  ])
  writer.append('key', 1_764_064_800_000, eventJson)
  writer.appendParts({ template, line: Buffer.from('0f0f\t"x"\n') }, 1_764_064_800_001)
  writer.appendParts({ template, line: Buffer.from('1f1f\t2\n') }, 1_764_064_800_001)
  return writer.take()
}

const packs: FuzzedParser = {
  name: 'packs',
  sources: [
    'delivery/wire/pack.ts',
    'delivery/wire/event-template.ts',
    'delivery/wire/event-tag.ts',
    'delivery/deliver/s3/object-key.ts',
  ],
  seeds: () => [packSeed(), `key 1 ${eventJson}\n`, 'x\n@\n#0\t\n=\n'],
  words: [
    '@1764064800000\n',
    '#0\t',
    `=${'{"event_id":"'}ev_\t","event_type":"\t"}\n`,
    'key 1 {"event_id":"',
    '\t',
    '\n',
  ],
  bytesMax: 256 * 1024,
  msPerKiB: 0.8,
  // A template, which few bytes name, is a part of each event.
  keptPerByte: 256 * 1024,
  read: (bytes) => {
    const { events, malformed } = readPack(bytes)
    for (const { line, reason } of malformed)
      expectThat(line > 0 && reason !== '', 'a malformed line has its place')
    const few = events.slice(0, 200)
    for (const event of few) {
      const { data, dataBytes, id, timestampMs } = event
      expectSame(data.length, dataBytes, 'the length of an event')
      expectThat(!Number.isNaN(new Date(timestampMs).getTime()), `an event has the time ${timestampMs}`)
      const room = Buffer.alloc(dataBytes)
      expectSame(event.writeData(room, 0), dataBytes, 'where an event ends')
      expectThat(Buffer.compare(room, data) === 0, 'an event is written as it is read')
      const key = Buffer.alloc(event.partitionKeyBytes)
      event.writeKey(key, 0)
      // Keys and ids are ASCII.
      if (/^[\x21-\x7e]*$/.test(event.partitionKey))
        expectSame(key.toString(), event.partitionKey, 'a partition key')
      expectThat(Number.isInteger(event.tag) && id !== '', 'an event has a tag and an id')
    }
    objectsOf(few, patternDefault, 'ed_1')
    return read([events.length, malformed.map(({ reason }) => reason)])
  },
}

const segments: FuzzedParser = {
  name: 'headers of packs',
  sources: [
    'delivery/wire/pack-message.ts',
    'delivery/wire/pack-trace.ts',
    'ground/core/telemetry/tracing.ts',
  ],
  seeds: () => [
    '10-14:2,17:1,17/1:200',
    formatTraces([
      { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' },
    ]) ?? '',
  ],
  words: [
    '10-14:2',
    '/1',
    ':',
    '99999999999999999999',
    '["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]',
    ',',
  ],
  read: (bytes) => {
    const text = bytes.toString()
    const headers = {
      get: (name: string) => (name === packHeaders.segments || name === packHeaders.traces ? text : ''),
    }
    const found = parseSegments(packOrigin(headers as never).segments)
    sequenceOfEvent(found, 3)
    const traces = tracesIn(headers)
    expectSame(
      tracesIn({ get: () => formatTraces(traces) ?? '' }),
      traces,
      'traces that are written and read again',
    )
    const again = parseSegments(formatOf(found))
    expectSame(parseSegments(formatOf(again)), again, 'segments that are written and read again')
    return read([found, traces])
  },
}

/** Those of so few messages that they can be added one by one. */
function formatOf(found: ReturnType<typeof parseSegments>): string {
  const segments = new Segments()
  for (const { range, part, events } of found) {
    const [first, last] = range
    expectThat(range.every(Number.isSafeInteger) && first <= last, `a segment has the range ${first}-${last}`)
    expectThat([part, events].every(Number.isSafeInteger), `a segment has ${part}:${events}`)
    for (let each = first; each <= Math.min(last, first + 10); each += 1) segments.add(each, part, events)
  }
  return segments.format()
}

const times = { at: 1_764_064_800_000 }

const rowsOf = { decisions: readDecisionRows, deliveries: readDeliveryRows, failures: readFailureRows }

const blocks: FuzzedParser = {
  name: 'rows of logs',
  sources: [
    'delivery/wire/blocks/block-reader.ts',
    'delivery/wire/blocks/row-columns.ts',
    'delivery/wire/decision-rows.ts',
    'delivery/wire/delivery-rows.ts',
    'delivery/wire/failure-rows.ts',
  ],
  seeds: () => [
    rowBytes([decisionRow({ ...times, recordId: 'r1' }), decisionRow({ ...times, recordId: 'r2' })]),
    deliveryBytes([deliveryRow({ ...times, tags: [1, 2, 3] })]),
    failureBytes([failureRow({ lastAt: times.at })]),
  ],
  // Each column has a byte for a row at least; each value is an object's member with a name.
  keptPerByte: 600,
  msPerKiB: 20,
  read: (bytes) => {
    const found = Object.values(rowsOf).map((rows) => tried(() => [...rows(bytes)], RangeError))
    return found.find((each) => 'value' in each) ?? found[0]!
  },
}

const entries = [
  {
    type: 'input',
    stream: 'records',
    since: 's',
    ranges: [[1, 5]],
    counts: { records: 3, sources: [['a', 'b', 'c', 1, 2]] },
  },
  {
    type: 'pack',
    destination: 'ed_1',
    pack: 'p',
    stream: 'records',
    since: 's',
    segments: '1:1',
    kinds: [['a', 1]],
    first: 1,
    last: 2,
  },
  {
    type: 'delivered',
    destination: 'ed_1',
    pack: 'p',
    stream: 'r',
    since: 's',
    segments: '1:1',
    dead: [[1, 2]],
    last: {},
  },
  { type: 'sources', list: 'l', sources: [['a', 'b', 'c']] },
  { type: 'vanished', destination: 'ed_1', packs: ['p'] },
  { type: 'later', more: 1 },
].map((entry) => `${JSON.stringify(entry)}\n`)

const ledger: FuzzedParser = {
  name: 'the ledger',
  sources: ['delivery/books/ledger-lines.ts'],
  seeds: () => [...entries, entries.join(''), gzipSync(entries.join(''))],
  words: ['"type":"input"', '"type":"dropped"', '"ranges":[[1,2]]', '\n'],
  keptPerByte: 2_000,
  msPerKiB: 30,
  read: (bytes) => {
    const reasons: string[] = []
    const found = [...readEntries(bytes, ({ message }) => void reasons.push(message))]
    for (const reason of reasons) expectThat(reason !== '', 'damage has a reason')
    const text = found.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    // What is ignored may have numbers that JSON has not.
    if (found.length > 0)
      expectSame(
        JSON.stringify([...readEntries(Buffer.from(text))]),
        JSON.stringify(found),
        'entries that are written and read again',
      )
    return read([found, reasons.length])
  },
}

const origin = { [deadLetterHeaders.stream]: 'WEIR_RECORDS', [deadLetterHeaders.sequence]: '7' }
const { data, headers } = sharedDeadLetter(
  [
    { line: 1, bytes: Buffer.from('{a'), reason: 'It is not JSON.' },
    { line: 2, bytes: Buffer.from('b'), reason: 'It is not JSON.' },
    { line: 5, bytes: Buffer.from('c'), reason: '"conn" is missing; it must be an object.' },
  ],
  origin,
)

const letters: FuzzedParser = {
  name: 'dead letters',
  sources: [
    'delivery/wire/shared-dead-letters.ts',
    'delivery/wire/dead-letter.ts',
    'delivery/wire/reason-pattern.ts',
  ],
  seeds: () => [data, Buffer.from('{a\n{"reasons":["x"],"runs":[0,1,0]}'), '"x" is "y"; it must be z.'],
  words: ['{"reasons":["x"],"runs":[0,1,0]}', '"runs":[', '1e400', '\n', ' is "', '\u2026'],
  msPerKiB: 10,
  keptPerByte: 400,
  read: (bytes) => {
    const text = bytes.toString()
    const reason = headerText(text)
    expectThat(compileReasonPattern(reasonPattern(reason))(reason), 'a reason matches its pattern')
    const at = bytes.lastIndexOf('{"reasons"')
    const own: Readonly<Record<string, string>> = { ...headers, [deadLetterHeaders.index]: String(at) }
    const found = lettersIn(bytes, (name) => own[name] ?? '')
    const all = Array.from({ length: Math.min(found.size, 2_000) }, (_, index) => found.at(index))
    for (const { origin } of all)
      expectThat(
        typeof origin.reason === 'string' && (origin.line === null || Number.isSafeInteger(origin.line)),
        `a letter has the line ${origin.line}`,
      )
    const again =
      found.areShared && all.length > 0
        ? sharedDeadLetter(
            all.map(({ data, origin }) => ({ bytes: data, line: origin.line!, reason: origin.reason })),
            origin,
          )
        : undefined
    if (again !== undefined && all.length > 0) {
      const reread = lettersIn(again.data, (name) => again.headers[name] ?? '')
      expectSame(reread.size, all.length, 'letters that are written and read again')
    }
    return read(all.map(({ origin }) => origin.line))
  },
}

const announcement = announcementOf('p', 'pipeline', 'works')
const report = {
  role: 'api',
  version: '1',
  build: 'b',
  node: 'v20',
  host: 'h',
  pid: 1,
  startedAtMs: 1,
  nowMs: 2,
  failing: {},
  filesMax: 1,
  filesOpen: 1,
  addresses: {},
}
const attempt = {
  accountId: 'ac_1',
  destinationId: 'ed_1',
  at: 1,
  outcome: 'failed',
  attempt: 1,
  requestId: '',
  errorCode: '',
  error: '',
  events: 1,
} as const
const behind = {
  id: 'cu_1',
  account_id: 'ac_1',
  destination_id: 'ed_1',
  since: '2026-11-25T10:00:00.000Z',
  run: 'r',
  windows: [[1, 5]],
  done: 0,
  missed: 0,
}

const notices: FuzzedParser = {
  name: 'messages between processes',
  sources: [
    'delivery/wire/own-consumers.ts',
    'delivery/wire/role-formats.ts',
    'delivery/wire/process-report.ts',
    'delivery/wire/watched.ts',
    'delivery/wire/behind.ts',
  ],
  seeds: () => [
    formatNotice(parseNotice(Buffer.from('{"destination":"ed_1","partition":3}'))!),
    JSON.stringify(announcement),
    JSON.stringify(report),
    writeWatchedDelivery(attempt, [Buffer.from(`${eventJson}\n`)]),
    JSON.stringify(behind),
  ],
  words: ['"partition":', '"formats":{', '"windows":[[', '"role":"deliver"', '"failing":null'],
  keptPerByte: 200,
  read: (bytes) => {
    const notice = parseNotice(bytes)
    if (notice !== undefined)
      expectSame(parseNotice(Buffer.from(formatNotice(notice))), notice, 'a notice that is written again')
    const said = announcementIn(bytes)
    if (said !== undefined) obstaclesOf(announcement, [said])
    const reports = reportsIn([bytes, Buffer.from(JSON.stringify(report))])
    expectThat(reports.length > 0, 'a report is read next to one that is none')
    for (const { failing, addresses } of reports)
      expectThat(failing !== null && addresses !== null, 'a report has its members')
    const entry = tried(() => behindIn({ key: 'k', value: bytes, revision: 1 } as never), Error)
    const delivery = tried(() => readWatchedDelivery(bytes), SyntaxError)
    const found = [notice, said, reports.length, entry, delivery]
    return (notice ?? said ?? ('value' in entry ? entry.value : undefined))
      ? read(found)
      : refused('It is none of them.')
  },
}

export const storedParsers: readonly FuzzedParser[] = [packs, segments, blocks, ledger, letters, notices]
