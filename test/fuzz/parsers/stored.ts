/** What processes of Weir store: packs, rows of logs, the ledger. */
import { gzipSync } from 'node:zlib'
import { readEntries } from '../../../src/delivery/books/ledger-lines.js'
import { objectsOf, patternDefault } from '../../../src/delivery/deliver/s3/object-key.js'
import { readDecisionRows } from '../../../src/delivery/wire/decision-rows.js'
import { readDeliveryRows } from '../../../src/delivery/wire/delivery-rows.js'
import { EventTemplate } from '../../../src/delivery/wire/event-template.js'
import { readFailureRows } from '../../../src/delivery/wire/failure-rows.js'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import {
  packOrigin,
  parseSegments,
  Segments,
  sequenceOfEvent,
} from '../../../src/delivery/wire/pack-message.js'
import { formatTraces, tracesIn } from '../../../src/delivery/wire/pack-trace.js'
import {
  decisionRow,
  deliveryBytes,
  deliveryRow,
  failureBytes,
  failureRow,
  rowBytes,
} from '../../harness/decision-rows.js'
import { expectSame, expectThat, type FuzzedParser, read, tried } from '../engine/parser.js'

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

export const storedParsers: readonly FuzzedParser[] = [packs, segments, blocks, ledger]
