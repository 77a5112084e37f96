/** Messages that the janitor removes from the streams, and those that it leaves. */
import t, { type Test } from 'tap'
import {
  auditInStream,
  auditStream,
  auditSubject,
  inputConsumer,
  ledgerStream,
  ledgerSubject,
} from '../../src/delivery/wire/names.js'
import { onePartition, sharedSubject } from '../../src/delivery/wire/partitions.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { Janitor } from '../../src/judging/pipeline/janitor.js'
import type { Row } from '../../src/words/resource/kind/define.js'
import { deliveriesStream, deliverySubject, recordsStream } from '../harness/first-partition.js'
import { messagesOf } from '../harness/own-nats.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'

const row = { id: 'ed_1', account_id: 'ac_1', version: 1 } as Row
const atOnce = { leftoverMs: -1, goneMs: -1 }

async function openSweeps(t: Test) {
  const { server, nats, ledger } = await openStreams(t)
  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const known = new Map<string, Row | null>()
  const janitorOf = (sweepAfter?: typeof atOnce, keptFrom = Number.POSITIVE_INFINITY): Janitor => {
    const destinationOf = (id: string) => known.get(id)
    const janitor = new Janitor({
      partitions: onePartition,
      nats,
      ledger,
      occurrences,
      destinationOf,
      catchUps: { keptFrom: () => keptFrom },
      ...(sweepAfter === undefined ? {} : { sweepAfter }),
    })
    t.teardown(() => janitor.close())
    return janitor
  }
  const store = async (id: string, packs: number): Promise<void> => {
    for (let n = 0; n < packs; n += 1) await nats.publish(deliverySubject(id), `pack ${n}`)
  }
  const lying = async (id: string): Promise<number> =>
    (await nats.subjectCounts(deliveriesStream, deliverySubject(id)))[deliverySubject(id)] ?? 0
  const consumerOf = (id: string) =>
    nats.openConsumer({
      stream: deliveriesStream,
      name: id,
      filter: deliverySubject(id),
      ackWaitMs: 5_000,
      ackPendingMax: 10,
    })
  return { server, nats, known, janitorOf, store, lying, consumerOf }
}

/** The client gives up when two heartbeats are missing, half of this time apart: a server may be slow after its start. */
const patientMs = 60_000

t.test('packs of a deleted destination are swept after a while and counted as dropped', async (t) => {
  const { nats, known, janitorOf, store, lying, consumerOf } = await openSweeps(t)
  for (const id of ['ed_gone', 'ed_there', 'ed_unsure']) {
    await store(id, 2)
    await consumerOf(id)
  }
  known.set('ed_gone', null).set('ed_there', row)
  const patient = janitorOf()
  for (let sweeps = 0; sweeps < 2; sweeps += 1) await patient.sweepPacks()
  t.equal(await lying('ed_gone'), 2, 'not before its time')
  await janitorOf(atOnce).sweepPacks()
  t.equal(await lying('ed_gone'), 0)
  t.equal(await nats.consumerInfo(deliveriesStream, 'ed_gone'), undefined, 'its consumer is deleted, too')
  t.equal(await lying('ed_there'), 2, 'packs that wait for delivery stay')
  t.equal(await lying('ed_unsure'), 2, 'so do packs of a destination that is not known to be deleted')
  const entry = await nats.lastMessage(ledgerStream, ledgerSubject)
  t.strictSame(JSON.parse(Buffer.from(entry!.data).toString()), { type: 'dropped', destination: 'ed_gone' })
})

t.test(
  'packs that wait for a deleted destination at the shared consumer are swept, and no others',
  async (t) => {
    const { nats, known, janitorOf } = await openSweeps(t)
    const shared = (id: string): string => sharedSubject(onePartition.all[0]!, id)
    for (const id of ['ed_gone', 'ed_there', 'ed_gone']) await nats.publish(shared(id), 'pack')
    known.set('ed_gone', null).set('ed_there', row)
    await janitorOf(atOnce).sweepPacks()
    t.strictSame(await nats.subjectCounts(deliveriesStream, shared('*')), { [shared('ed_there')]: 1 })
  },
)

t.test("packs below their consumer's ack floor are swept, but not by a consumer that is ahead", async (t) => {
  const { server, nats, known, janitorOf, store, lying, consumerOf } = await openSweeps(t)
  known.set('ed_a', row)
  const { consumer } = await consumerOf('ed_a')
  await store('ed_a', 2)
  await server.stop()
  const putBack = server.copy(messagesOf(deliveriesStream))
  await server.start()
  await store('ed_a', 2)
  for await (const message of await consumer.fetch({ max_messages: 4, expires: patientMs }))
    await message.ackAck()
  t.equal(await lying('ed_a'), 0)
  await server.stop()
  putBack()
  await server.start()
  t.equal(await lying('ed_a'), 2, 'the server restored acknowledged packs')
  await janitorOf(atOnce).sweepPacks()
  // A current server puts the consumer back to the end of its stream: everything there is acknowledged.
  const { delivered } = (await nats.consumerInfo(deliveriesStream, 'ed_a'))!
  const left = delivered > (await nats.streamInfo(deliveriesStream))!.state.last_seq ? 2 : 0
  t.equal(await lying('ed_a'), left, 'a consumer that is ahead of its stream proves nothing')
  await store('ed_a', 3)
  const inHand: number[] = []
  for await (const { seq } of await consumer.fetch({ max_messages: 1, expires: patientMs })) inHand.push(seq)
  await janitorOf().sweepPacks()
  t.equal(await lying('ed_a'), left + 3, 'not before its time')
  await janitorOf(atOnce).sweepPacks()
  const { ackFloor } = (await nats.consumerInfo(deliveriesStream, 'ed_a'))!
  t.equal((await nats.nextMessage(deliveriesStream, deliverySubject('ed_a')))?.sequence, ackFloor + 1)
  t.equal(await lying('ed_a'), 5 - ackFloor, 'packs above the floor stay')
  await until('messages of a dead process are redelivered', async () => {
    const { seq } = (await consumer.next({ expires: 1_500 }).catch(() => undefined)) ?? {}
    return seq === inHand[0]
  })
})

const inputs = [
  { stream: recordsStream, subject: 'weir.records.eu.node-1' },
  { stream: auditInStream, subject: 'weir.audit.domain.created' },
  { stream: auditStream, subject: auditSubject('ac_1') },
]

for (const { stream, subject } of inputs) {
  t.test(`a full ${stream} loses processed messages only`, async (t) => {
    const { nats, janitorOf } = await openSweeps(t)
    const message = new Uint8Array(512 * 1024)
    const fill = async (share: number): Promise<void> => {
      for (;;) {
        const { state, config } = (await nats.streamInfo(stream))!
        if (state.bytes > config.max_bytes * share) return
        await nats.publish(subject, message)
      }
    }
    await fill(0.3)
    const processed = (await nats.streamInfo(stream))!.state.messages
    const options = { stream, name: inputConsumer, ackWaitMs: 1_000, ackPendingMax: 100 }
    const { consumer } = await nats.openConsumer(options)
    for await (const each of await consumer.fetch({ max_messages: processed, expires: patientMs })) each.ack()
    await nats.flush()
    await until('all are acknowledged', async () => {
      return (await nats.consumerInfo(stream, inputConsumer))?.ackFloor === processed
    })
    // A janitor looks by itself, too, and would remove what the next one is to keep.
    const early = janitorOf()
    await early.removeInput()
    early.close()
    t.equal((await nats.streamInfo(stream))!.state.first_seq, 1, 'everything stays while there is room')

    await fill(0.9)
    const inHand: number[] = []
    for await (const { seq } of await consumer.fetch({ max_messages: 3, expires: patientMs }))
      inHand.push(seq)
    const { last_seq } = (await nats.streamInfo(stream))!.state
    if (stream === recordsStream) {
      const keeping = janitorOf(atOnce, 3)
      await keeping.removeInput()
      keeping.close()
      const { first_seq } = (await nats.streamInfo(stream))!.state
      t.equal(first_seq, 3, 'messages that a destination waits for and may not lose stay')
    }
    await janitorOf().removeInput()
    const after = (await nats.streamInfo(stream))!.state
    t.match(after, { first_seq: processed + 1, last_seq }, 'exactly the processed ones')
    const again = new Set<number>()
    await until('messages of a dead process are redelivered', async () => {
      for await (const { seq } of await consumer.fetch({ max_messages: 100, expires: 1_500 })) again.add(seq)
      return inHand.every((seq) => again.has(seq))
    })
  })
}
