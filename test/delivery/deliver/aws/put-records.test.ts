/** Answers of requests, against JSON.parse; the services' own behaviour is in `deliver/lane-aws.test.ts`. */
import t from 'tap'
import { withFirstResult } from '../../../../src/delivery/deliver/aws/put-records.js'

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
