/** Records in compressed messages: everything that reads a stored record inflates it. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodedRecords, inflatedBytesMax } from '../../src/record/record-encoding.js'
import { deadLetterStream, deadRecordsSubject } from '../../src/wire/names.js'
import { until } from '../harness/weir.js'
import { expectedEvents, record, untilArrived } from './deployment.js'
import { openShared } from './service.js'

const count = 200
const name = 'compressed'

t.test('compressed records are processed, found, tried and replayed', async (t) => {
  const deployment = await openShared(t)
  const { weir, destinations } = deployment
  const { api } = weir
  const nats = await weir.nats()
  const begun = new Date().toISOString()
  const lines = Array.from({ length: count }, (_, n) => record(name, n)).join('\n')
  const { data, headers = {} } = encodedRecords(lines)
  t.ok(data.length < lines.length / 4, 'they take a quarter of the bytes at most')
  await nats.publish('weir.records.eu.node-1', data, { headers, msgId: `${name}.0` })
  await untilArrived(deployment, expectedEvents(count))

  await until('the record is found', async () => {
    const found = await api.record(`${name}-${count - 1}`).catch(() => undefined)
    return found?.publications[0]?.record?.['record_id'] === `${name}-${count - 1}`
  })
  const draft = { sources: [{ type: 'tcp_connection_closed.v0' as const }] }
  const { id } = await api.trySubscription(draft, { since: begun })
  await until('a draft is tried on them', async () => (await api.trial(id)).state === 'done')
  t.match(await api.trial(id), { events: { records: count, events: count } })
  const replay = await api.replay(destinations.all, { from: begun })
  await until('it is replayed', async () => (await api.getReplay(replay.id)).state === 'done')
  const { emulator } = deployment
  await until('every event came again', async () => {
    const { duplicates } = await emulator.client.counts({ service: 'kinesis', name: 'all' })
    return duplicates === count
  })
})

t.test('a message that can not be inflated is a dead letter, with its bytes', async (t) => {
  const { weir } = await openShared(t)
  const nats = await weir.nats()
  const after = (await nats.streamInfo(deadLetterStream))!.state.last_seq
  const bomb = gzipSync(Buffer.alloc(inflatedBytesMax + 1, ' '))
  const headers = { 'Weir-Encoding': 'gzip' }
  const { sequence } = await nats.publish('weir.records.eu.node-1', bomb, { headers })
  const letter = () => nats.nextMessage(deadLetterStream, deadRecordsSubject, after + 1)
  await until('it is a dead letter', async () => (await letter()) !== undefined)
  const found = (await letter())!
  t.equal(found.headers.get('Weir-Sequence'), String(sequence))
  t.match(found.headers.get('Weir-Reason'), /more than 16777216 bytes come of it/)
  t.strictSame(Buffer.from(found.data), bomb)
})
