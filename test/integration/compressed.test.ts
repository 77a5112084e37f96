/** Records in compressed messages: everything that reads a stored record inflates it. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodedRecords } from '../../src/delivery/record/record-encoding.js'
import { deadLetterStream, deadRecordsSubject } from '../../src/delivery/wire/names.js'
import { inflatedBytesMax } from '../../src/ground/core/limits.js'
import { deadRecords, lettersOf } from '../harness/dead-records.js'
import { until } from '../harness/weir.js'
import { expectedEvents, record, untilArrived } from './deployment.js'
import { openAccount, openShared, weirDoes } from './service.js'

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

const gzip = { 'Weir-Encoding': 'gzip' }
const bombs = [
  {
    name: 'bytes',
    text: ' '.repeat(inflatedBytesMax + 1),
    reason: /more than 16777216 bytes come of it/,
  },
  { name: 'lines', text: '{}\n'.repeat(5_200_000), reason: /^The message has more than 20000 lines\.$/ },
]

for (const { name, text, reason } of bombs)
  t.test(
    `a message with too many ${name} is one dead letter, with its bytes, and so it is sent again`,
    async (t) => {
      const { weir, dataDir } = await openAccount(t)
      const nats = await weir.nats()
      const after = (await nats.streamInfo(deadLetterStream))!.state.last_seq
      const bomb = gzipSync(text)
      const { sequence } = await nats.publish('weir.records.eu.node-1', bomb, { headers: gzip })
      const letter = (from: number) => nats.nextMessage(deadLetterStream, deadRecordsSubject, from)
      const arrived = async (from: number) => {
        await until('it is a dead letter', async () => (await letter(from)) !== undefined)
        return (await letter(from))!
      }
      const found = await arrived(after + 1)
      t.equal(found.headers.get('Weir-Sequence'), String(sequence))
      t.match(found.headers.get('Weir-Reason'), reason)
      t.equal(found.headers.get('Weir-Encoding'), 'gzip')
      t.strictSame(Buffer.from(found.data), bomb)

      // It names no account, so it is the operator's.
      const list = await weirDoes(dataDir, 'dead', 'list', '--all', '--each', '--type', 'record')
      const [id = ''] = /dl_\w+/.exec(list.text) ?? []
      t.equal((await weirDoes(dataDir, 'dead', 'resend', id, '--all')).code, 0)
      const again = await arrived(found.sequence + 1)
      t.match(again.headers.get('Weir-Reason'), reason, 'it is still compressed')
      t.strictSame(Buffer.from(again.data), bomb)
    },
  )

t.test('bad lines of a compressed message take storage in proportion to what was sent', async (t) => {
  const { weir } = await openShared(t)
  const nats = await weir.nats()
  const state = async () => (await nats.streamInfo(deadLetterStream))!.state
  const before = await state()
  const lines = 15_000
  const text = `{"record_id": 1, "note": "${'x'.repeat(1_000)}"}\n`.repeat(lines)
  const sent = gzipSync(text)
  const { sequence } = await nats.publish('weir.records.eu.node-1', sent, { headers: gzip })
  const ofIt = async () =>
    (await deadRecords(nats)).filter((letters) => letters.at(0).origin.sequence === sequence)
  const count = async () => lettersOf(await ofIt())
  await until('each line is a dead letter', async () => (await count()) === lines)
  const last = (await ofIt()).at(-1)!.at(0)
  t.equal(Buffer.from(last.data).toString(), text.slice(0, text.indexOf('\n')))
  const stored = (await state()).bytes - before.bytes
  t.ok(stored < 12 * sent.length, `${stored} bytes are stored of ${sent.length}`)
})
