/** Answers of requests, against JSON.parse; the services' own behaviour is in `deliver/lane-aws.test.ts`. */
import t from 'tap'
import { readAccepted } from '../../../../src/delivery/deliver/aws/put-records.js'

interface Answer {
  readonly FailedRecordCount?: number
  readonly Records?: readonly object[]
}

const read = (text: string) => readAccepted<Answer>(Buffer.from(text), 'FailedRecordCount')

const result = (n: number) => ({ SequenceNumber: `4959${n}`, ShardId: 'shardId-000000000000' })
const failure = { ErrorCode: 'InternalFailure', ErrorMessage: 'Internal service failure.' }

const accepted: { name: string; answer: Answer }[] = [
  {
    name: 'all of three are accepted',
    answer: {
      FailedRecordCount: 0,
      Records: [result(1), result(2), result(3)],
      EncryptionType: 'KMS',
    } as Answer,
  },
  { name: 'the count comes last', answer: { Records: [result(1), result(2)], FailedRecordCount: 0 } },
  { name: 'one record', answer: { FailedRecordCount: 0, Records: [result(1)] } },
  { name: 'no record', answer: { FailedRecordCount: 0, Records: [] } },
  { name: 'no records', answer: { FailedRecordCount: 0 } },
]

for (const { name, answer } of accepted) {
  t.test(`of an answer that says that no record failed, the first result is read: ${name}`, (t) => {
    const { Records: records, ...rest } = answer
    t.same(read(JSON.stringify(answer)), { ...rest, ...(records && { Records: records.slice(0, 1) }) })
    t.end()
  })
}

t.test('members that are null are missing', (t) => {
  const answer = { FailedRecordCount: 0, Records: [{ ...result(1), ErrorCode: null }], EncryptionType: null }
  t.strictSame(read(JSON.stringify(answer)), { FailedRecordCount: 0, Records: [result(1)] })
  t.end()
})

const others: { name: string; text: string }[] = [
  {
    name: 'one of two failed',
    text: JSON.stringify({ FailedRecordCount: 1, Records: [result(1), failure] }),
  },
  { name: 'ten failed', text: JSON.stringify({ FailedRecordCount: 10, Records: [failure, result(1)] }) },
  { name: 'no count', text: JSON.stringify({ Records: [result(1), result(2)] }) },
  {
    name: 'a text like the count',
    text: JSON.stringify({
      FailedRecordCount: 1,
      Records: [{ ErrorMessage: '"FailedRecordCount":0,' }, result(1)],
    }),
  },
  { name: 'an error', text: JSON.stringify({ __type: 'InternalFailure', message: 'x' }) },
  {
    name: 'it has spaces',
    text: JSON.stringify({ FailedRecordCount: 0, Records: [result(1), result(2)] }, undefined, 1),
  },
  { name: 'it is empty', text: '' },
]

t.test('an answer that is cut off is malformed', (t) => {
  const answer = { FailedRecordCount: 0, Records: [result(1), result(2)] }
  t.throws(() => read(JSON.stringify(answer).slice(0, -2)), SyntaxError)
  t.end()
})

for (const { name, text } of others) {
  t.test(`another answer is left to the SDK: ${name}`, (t) => {
    t.equal(read(text), undefined)
    t.end()
  })
}
