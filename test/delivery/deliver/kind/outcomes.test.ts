import t from 'tap'
import { outcomeOfRecords } from '../../../../src/delivery/deliver/aws/record-results.js'

t.test('a partial failure names the failed records only', (t) => {
  const throttled = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' }
  const refused = { ErrorCode: 'ValidationException', ErrorMessage: 'bad' }
  t.same(outcomeOfRecords([{}, {}], 0, 'r'), { outcome: 'accepted', requestId: 'r' })
  t.match(outcomeOfRecords([{}, throttled, {}, refused, throttled], 3), {
    outcome: 'partial',
    retry: [1, 4],
    reason: { class: 'throttle', msg: 'slow' },
    rejected: [{ index: 3, fault: { class: 'poison', code: 'ValidationException' } }],
  })
  t.end()
})

t.test('a packed record that fails stands for all of its events', (t) => {
  const throttled = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'slow' }
  const refused = { ErrorCode: 'ValidationException', ErrorMessage: 'bad' }
  const poison = { class: 'poison', code: 'ValidationException' }
  const held = { base64: '', dataBytes: 0, partitionKey: 'key', partitionKeyBytes: 3 }
  const records = [[0, 2], [1], [3, 5], [4, 6]].map((indices) => ({ ...held, indices }))
  const cases = [
    {
      name: 'throttled: all are sent again, in order',
      results: [throttled, {}, {}, throttled],
      want: { outcome: 'partial', retry: [0, 2, 4, 6], rejected: [], reason: { class: 'throttle' } },
    },
    {
      name: 'a record of one event is refused: the event is at fault',
      results: [{}, refused, {}, {}],
      want: { outcome: 'partial', retry: [], rejected: [{ index: 1, fault: poison }] },
    },
    {
      name: 'a record of several is refused: they are suspects',
      results: [{}, {}, refused, {}],
      want: { outcome: 'partial', retry: [], rejected: [], suspects: { indices: [3, 5], fault: poison } },
    },
    {
      name: 'two such records: the second is sent again, and then searched',
      results: [refused, {}, {}, refused],
      want: { retry: [4, 6], reason: poison, rejected: [], suspects: { indices: [0, 2], fault: poison } },
    },
    {
      name: 'the only record of a request is refused: the request is refused',
      results: [refused],
      want: { outcome: 'failed', fault: poison },
    },
  ]
  for (const { name, results, want } of cases) {
    const failed = results.filter((result) => 'ErrorCode' in result).length
    t.match(outcomeOfRecords(results, failed, 'r', records), want, name)
  }
  t.end()
})
