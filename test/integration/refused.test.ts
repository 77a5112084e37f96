/** Invalid records, and destinations that refuse, hang or are deleted. */
import t, { type Test } from 'tap'
import { deadEventsSubject, deadLetterStream, deadRecordsSubject } from '../../src/delivery/wire/names.js'
import { deadRecords, lettersOf } from '../harness/dead-records.js'
import { recordsStream } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import {
  checkBooks,
  configure,
  type Deployment,
  type DestinationName,
  expectedEvents,
  publish,
  record,
  statusOf,
  stream,
  target,
  untilArrived,
} from './deployment.js'
import { openService, openShared } from './service.js'

const good = record('good', 0)
const largest = 1024 * 1024 - 64 * 1024

/** Each message holds one record that can be processed, and one that can't. */
const badRecords = [
  { name: 'not JSON', bytes: Buffer.from('not json'), reason: /not JSON/ },
  { name: 'binary', bytes: Buffer.from([0, 1, 2, 255, 254, 0]), reason: /UTF-8/ },
  { name: 'half a character', bytes: Buffer.from([0x22, 0xc3, 0x28, 0x22]), reason: /UTF-8/ },
  { name: '100,000 brackets', bytes: Buffer.from('['.repeat(60_000)), reason: /JSON/ },
  { name: 'a record over 64 KiB', bytes: Buffer.alloc(65_537, 'x'), reason: /65537 bytes/ },
  {
    name: 'a prototype instead of a record',
    bytes: Buffer.from('{"__proto__": {"record_id": "r"}}'),
    reason: /./,
  },
  { name: 'an array', bytes: Buffer.from('[1]'), reason: /./ },
  { name: 'an unknown edge', bytes: Buffer.from(good.replace('{', '{"edge_id":"edgtcp_x",')), reason: /edg/ },
] as const

/** As many as a message may have, or nearly. */
const floodLines = 19_000

/** A message of lines that are no records, between two that are. It costs in proportion to its bytes. */
async function flood(t: Test, deployment: Deployment, recordsBefore: number): Promise<void> {
  const { weir } = deployment
  const logLines = () => weir.process.output().split('\n').length
  const nats = await weir.nats()
  const stored = async () => (await nats.streamInfo(deadLetterStream))!.state
  const before = await stored()
  const linesBefore = logLines()
  const message = 'x\n'.repeat(floodLines)
  const records = [record('flood', recordsBefore), message, record('flood', recordsBefore + 1)]
  for (const bytes of records) await nats.publish('weir.records.eu.node-1', bytes)
  await untilArrived(deployment, expectedEvents(recordsBefore + 2))
  await until('the lines are dead letters', async () => lettersOf(await deadRecords(nats)) >= floodLines)
  const newest = await weir.api.deadLetters.list({ limit: 2 }).next()
  t.match(newest.value, { line: floodLines, reason: /^It is not JSON/ })
  const after = await stored()
  t.ok(after.messages - before.messages < 20, `${after.messages - before.messages} messages are stored`)
  t.ok(after.bytes - before.bytes < 2 * message.length, `${after.bytes - before.bytes} bytes are stored`)
  t.ok(logLines() - linesBefore < 50, 'it is logged once')
}

t.test(
  'bad records are dead-lettered, their neighbours are processed, repeated ones have the same events',
  async (t) => {
    // The first account, which sees what belongs to none; its books are those of the service.
    const service = await openService()
    const { weir, emulator } = service
    const deployment = { ...service, ...(await configure(weir.api, emulator)) }
    t.teardown(() => weir.api.tcpEdge.delete(deployment.edgeId))
    await untilInUse(weir)
    const nats = await deployment.weir.nats()
    const sequences: number[] = []
    for (const [n, { bytes }] of badRecords.entries()) {
      const lines = [Buffer.from(record('run', n)), bytes]
      const message = Buffer.concat([lines[0]!, Buffer.from('\n'), lines[1]!])
      sequences.push((await nats.publish('weir.records.eu.node-1', message)).sequence)
    }
    const whole = Buffer.alloc(largest - 200, '{')
    sequences.push((await nats.publish('weir.records.eu.node-1', whole)).sequence)
    await untilArrived(deployment, expectedEvents(badRecords.length))
    await until(
      'all bad records are dead-lettered',
      async () =>
        (await nats.subjectCounts(deadLetterStream, '>'))[deadRecordsSubject] === badRecords.length + 1,
    )
    let next = 1
    const reasons = [...badRecords, { name: 'a message of the largest size', bytes: whole, reason: /bytes/ }]
    for (const [n, { name, bytes, reason }] of reasons.entries()) {
      const dead = await nats.nextMessage(deadLetterStream, deadRecordsSubject, next)
      next = (dead?.sequence ?? 0) + 1
      const original = reasons.find((one) => Buffer.compare(Buffer.from(one.bytes), dead!.data) === 0)
      t.ok(original, `${name}: original bytes ${bytes.length}`)
      t.match(dead?.headers.get('Weir-Reason'), original?.reason ?? reason)
      t.equal(dead?.headers.get('Weir-Stream'), recordsStream)
      t.equal(dead?.headers.get('Weir-Line'), original?.bytes === whole ? '1' : '2')
      t.ok(sequences.includes(Number(dead?.headers.get('Weir-Sequence'))), `sequence of dead letter ${n}`)
    }
    await checkBooks(t, deployment, badRecords.length, badRecords.length + 1)

    await flood(t, deployment, badRecords.length)
    await checkBooks(t, deployment, badRecords.length + 2, badRecords.length + 1 + floodLines)

    for (let time = 0; time < 3; time += 1) await nats.publish('weir.records.eu.node-1', record('same', 0))
    const resource = { service: 'kinesis', name: 'all' } as const
    const counts = () => deployment.emulator.client.counts(resource)
    await until('three more arrive', async () => (await counts()).events === badRecords.length + 5)
    t.equal((await counts()).unique, badRecords.length + 3, 'a repeated record has the same event ids')
  },
)

t.test('one destination that fails does not hold up the others', async (t) => {
  const deployment = await openShared(t)
  const { client } = deployment.emulator
  const counted = async (name: string, labels = '') =>
    total(await metricsOf(deployment.weir.url), name, labels)
  const resent = () => counted('weir_events_produced_total', 'kind="resent",target="kinesis"')
  const before = { resent: await resent(), dropped: await counted('weir_events_dropped_total') }
  const { api } = deployment.weir
  const nats = await deployment.weir.nats()
  const status = (name: DestinationName) => statusOf(deployment, name)
  await client.addFault({ effect: { type: 'access_denied' }, resource: 'all' })
  await client.addFault({ effect: { type: 'error', code: 'InternalFailure', status: 500 }, resource: 'logs' })
  await publish(nats, 'run', 0, 400)
  const expected = expectedEvents(400)
  await until('the filtered arrive', async () => {
    const { unique } = await client.counts({ service: 'kinesis', name: 'filtered' })
    return unique === expected.filtered
  })
  await until('the denied one is paused', async () => (await status('all')).state === 'paused')
  await until('the broken one is failing', async () => (await status('logs')).state === 'failing')
  const attempts = async (name: DestinationName) =>
    (await api.deliveryAttempts(deployment.destinations[name])).attempts
  t.match((await attempts('all'))[0], {
    outcome: 'failed',
    accepted: 0,
    request_id: /^\S+$/,
    error: { code: /AccessDenied/ },
  })
  t.match((await attempts('filtered'))[0], { outcome: 'delivered', error: null })
  t.match(await status('all'), { backlog: { events: 400 }, counts: { delivered: 0, dead_lettered: 0 } })
  const attemptsBefore = (await attempts('all')).length
  t.match(await api.resumeDestination(deployment.destinations.all), {
    resumed: { was_paused_by_hand: false, state: 'paused', cause: 'configuration', tried_now: true },
  })
  await until('it is tried', async () => (await attempts('all')).length > attemptsBefore)
  await client.clearFaults()
  // After a change of target, the backlog goes there at once.
  const moved = await stream(deployment.emulator, 'moved')
  await api.eventDestination.update(deployment.destinations.all, target(moved, deployment.emulator))
  await until('the backlog is at the new target', async () => {
    const { unique } = await client.counts({ service: 'kinesis', name: 'moved' })
    return unique === expected.all
  })
  await until('the broken one recovers by itself', async () => (await status('logs')).backlog.events === 0)
  t.match((await status('logs')).counts, { delivered: expected.logs, dead_lettered: 0 })
  const { billing } = await status('filtered')
  t.match(billing, { events: expected.filtered, units: [{ name: 'put_payload_units' }] })

  await client.addFault({ effect: { type: 'poison', containing: '"bytes_in":407,' }, resource: 'moved' })
  await publish(nats, 'run', 400, 500)
  await until('all but one are delivered', async () => {
    const { counts, backlog } = await status('all')
    return counts.delivered === 499 && counts.dead_lettered === 1 && backlog.events === 0
  })
  const dead = await nats.lastMessage(deadLetterStream, deadEventsSubject)
  t.match(JSON.parse(Buffer.from(dead!.data).toString()), { object: { conn: { bytes_in: 407 } } })
  t.equal(dead?.headers.get('Weir-Destination'), deployment.destinations.all)
  t.match(dead?.headers.get('Weir-Event-Id'), /^ev_/)
  t.ok(dead?.headers.get('Weir-Reason'))

  // Sent again, it is refused again, and is a new dead letter, although its id was dead-lettered a moment before.
  const again = () => api.deadLetters.resendAll({ type: 'event', destinationId: deployment.destinations.all })
  t.match(await again(), { done: 1, refused: 0 })
  await until('it is refused again', async () => (await status('all')).counts.dead_lettered === 2)
  await client.clearFaults()
  t.match(await again(), { done: 1, refused: 0 })
  await until('it is delivered', async () => (await status('all')).counts.delivered === 500)
  t.match(await status('all'), { backlog: { events: 0 }, counts: { produced: 502, dead_lettered: 2 } })
  t.equal((await resent()) - before.resent, 2)
  t.equal((await client.counts({ service: 'kinesis', name: 'moved' })).unique, 500, 'under its only id')
  t.match(await again(), { done: 0 })

  await client.addFault({ effect: { type: 'hang' }, resource: 'filtered' })
  await publish(nats, 'run', 500, 600)
  await until('the hanging one has a backlog', async () => (await status('filtered')).backlog.events === 25)
  for await (const { id } of api.eventSubscription.list()) await api.eventSubscription.delete(id)
  await api.eventDestination.delete(deployment.destinations.filtered)
  await until('nothing is stored for the deleted one', async () => {
    const counts = await nats.subjectCounts('WEIR_DELIVERIES', '>')
    return Object.keys(counts).every((subject) => !subject.endsWith(deployment.destinations.filtered))
  })
  const dropped = async () => (await counted('weir_events_dropped_total')) - before.dropped
  await until('its events are in the books', async () => (await dropped()) >= 25)
  t.equal(await dropped(), 25)
})
