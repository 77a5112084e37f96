/** Bodies of requests, against JSON.parse. */
import t from 'tap'
import { BodyPool, recordsBody } from '../../../../src/delivery/deliver/aws/records-body.js'
import { type PackedEvent, WholeEvent } from '../../../../src/delivery/wire/packed-event.js'

interface Spec {
  readonly data: string
  readonly key: string
}

/** Also with keys that a pack can't hold. */
function eventOf({ data, key }: Spec): PackedEvent {
  const [before, keyEnd] = ['another line\n'.length, Buffer.byteLength(`another line\n${key}`)]
  const bytes = Buffer.from(`another line\n${key} 1 ${data}another line\n`)
  const dataStart = keyEnd + ' 1 '.length
  return new WholeEvent(bytes, before, keyEnd, dataStart, dataStart + Buffer.byteLength(data))
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const cases: { name: string; specs: Spec[] }[] = [
  { name: 'one record', specs: [{ data: '{"event_id":"ev_1"}\n', key: 'ev_1' }] },
  {
    name: 'every remainder of base64, and no data at all',
    specs: ['', 'a', 'ab', 'abc', 'abcd'].map((data) => ({ data, key: 'ev_1' })),
  },
  { name: 'data that is not ASCII', specs: [{ data: '{"name":"Zürich 東京 🚦"}\n', key: 'ev_1' }] },
  {
    name: 'data that is encoded in several pieces',
    specs: [100_000, 24_576, 24_577].map((length) => ({ data: 'abcdefg'.repeat(length / 7), key: 'ev_1' })),
  },
  {
    name: 'keys that JSON escapes, of which nothing but escapes remains',
    specs: ['"\\\n', '東京', '🚦'.repeat(64), 'é'.repeat(128), '\u0001'.repeat(256), '', 'a\u007fb'].map(
      (key) => ({
        data: 'x',
        key,
      }),
    ),
  },
]

for (const { name, specs } of cases) {
  t.test(`a body holds its records: ${name}`, (t) => {
    const events = specs.map(eventOf)
    const pool = new BodyPool()
    const end = '"StreamARN":"arn:aws:kinesis:…"}'
    const body = recordsBody(pool, { hasKeys: true, events, records: events }, end)
    t.match(
      body.toString('latin1', 0, body.length - Buffer.byteLength(end)),
      /^[\0-\x7f]*$/,
      'in ASCII, but for the end',
    )
    t.same(JSON.parse(body.toString()), {
      StreamARN: 'arn:aws:kinesis:…',
      Records: specs.map(({ data, key }) => ({ Data: base64(data), PartitionKey: key })),
    })
    const indices = specs.map((_, index) => index)
    const { partitionKeyBytes } = events[0]!
    const dataBytes = events.reduce((sum, event) => sum + event.dataBytes, 0)
    const records = [{ indices, dataBytes, partitionKeyBytes }]
    const packed = recordsBody(pool, { hasKeys: false, events, records }, '"DeliveryStreamName":"name"}')
    t.same(JSON.parse(packed.toString()), {
      DeliveryStreamName: 'name',
      Records: [{ Data: base64(specs.map(({ data }) => data).join('')) }],
    })
    t.end()
  })
}

t.test('a buffer is used again for bodies that it can hold', (t) => {
  const pool = new BodyPool()
  const [first, second] = [pool.take(100_000), pool.take(100_000)]
  t.not(first.buffer, second.buffer, 'both are in use')
  pool.giveBack(first.subarray(0, 70_000))
  const third = pool.take(120_000)
  t.equal(third.buffer, first.buffer)
  pool.giveBack(third)
  t.not(pool.take(200_000).buffer, first.buffer, 'it is too small')
  t.end()
})
