/** Bodies of requests and their answers, against JSON.parse; the services' own behaviour is in `lane-aws.test.ts`. */
import t from 'tap'
import { BodyPool } from '../../src/deliver/body-pool.js'
import type { ServiceRecord } from '../../src/deliver/packing.js'
import { asciiJson, recordsBody, withFirstResult } from '../../src/deliver/put-records.js'

const record = (data: string, partitionKey: string): ServiceRecord => ({
  base64: Buffer.from(data).toString('base64'),
  dataBytes: Buffer.byteLength(data),
  partitionKey,
  partitionKeyBytes: Buffer.byteLength(partitionKey),
})

const entryOf = ({ base64, partitionKey }: ServiceRecord): string =>
  `{"Data":"${base64}","PartitionKey":${asciiJson(partitionKey)}}`

const bodies: { name: string; records: ServiceRecord[] }[] = [
  { name: 'one record', records: [record('{"event_id":"ev_1"}\n', 'ev_1')] },
  {
    name: 'every remainder of base64, and no data at all',
    records: ['', 'a', 'ab', 'abc', 'abcd'].map((data) => record(data, 'ev_1')),
  },
  { name: 'data that is not ASCII', records: [record('{"name":"Zürich 東京 🚦"}\n', 'ev_1')] },
  {
    name: 'keys that JSON escapes, of which nothing but escapes remains',
    records: ['"\\\n', '東京', '🚦'.repeat(64), 'é'.repeat(128), '\u0001'.repeat(256), ''].map((key) =>
      record('x', key),
    ),
  },
]

for (const { name, records } of bodies) {
  t.test(`a body holds its records: ${name}`, (t) => {
    const head = `"StreamARN":"arn:aws:kinesis:…"`
    const parsed = JSON.parse(recordsBody(new BodyPool(), head, records, entryOf).toString())
    const Records = records.map(({ base64, partitionKey }) => ({
      Data: base64,
      PartitionKey: partitionKey,
    }))
    t.same(parsed, { StreamARN: 'arn:aws:kinesis:…', Records })
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

const result = (n: number) => ({ SequenceNumber: `4959${n}`, ShardId: 'shardId-000000000000' })
const failure = { ErrorCode: 'InternalFailure', ErrorMessage: 'Internal service failure.' }

const answers: { name: string; answer: object; isShortened: boolean }[] = [
  {
    name: 'all of three are accepted',
    answer: { FailedRecordCount: 0, Records: [result(1), result(2), result(3)], EncryptionType: 'KMS' },
    isShortened: true,
  },
  {
    name: 'the count comes last',
    answer: { Records: [result(1), result(2)], FailedRecordCount: 0 },
    isShortened: true,
  },
  { name: 'one record', answer: { FailedRecordCount: 0, Records: [result(1)] }, isShortened: false },
  { name: 'no record', answer: { FailedRecordCount: 0, Records: [] }, isShortened: false },
  {
    name: 'one of two failed',
    answer: { FailedRecordCount: 1, Records: [result(1), failure] },
    isShortened: false,
  },
  {
    name: 'ten failed',
    answer: { FailedRecordCount: 10, Records: [failure, result(1)] },
    isShortened: false,
  },
  { name: 'no count', answer: { Records: [result(1), result(2)] }, isShortened: false },
  {
    name: 'a text like the count',
    answer: { FailedRecordCount: 1, Records: [{ ErrorMessage: '"FailedRecordCount":0,' }, result(1)] },
    isShortened: false,
  },
  { name: 'an error', answer: { __type: 'InternalFailure', message: 'x' }, isShortened: false },
]

for (const { name, answer, isShortened } of answers) {
  t.test(`an answer loses only results that say nothing: ${name}`, (t) => {
    const bytes = Buffer.from(JSON.stringify(answer))
    const shortened = JSON.parse(withFirstResult(bytes, 'FailedRecordCount').toString())
    const [first] = (answer as { Records?: object[] }).Records ?? []
    t.same(shortened, isShortened ? { ...answer, Records: [first] } : answer)
    t.end()
  })
}

t.test('an answer that is cut off, or has spaces, stays as it is', (t) => {
  const whole = JSON.stringify({ FailedRecordCount: 0, Records: [result(1), result(2)] })
  const spaced = JSON.stringify({ FailedRecordCount: 0, Records: [result(1), result(2)] }, undefined, 1)
  for (const text of [whole.slice(0, -2), spaced, ''])
    t.equal(withFirstResult(Buffer.from(text), 'FailedRecordCount').toString(), text)
  t.end()
})
