/** SQS and EventBridge, which take few entries in a request, and accept or refuse each one. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Receipt, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { sendTestEvent } from '../../../src/delivery/deliver/test-event.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { type AwsWorld, keyAuth, openAwsWorld } from './aws-world.js'
import { eventJson, eventsOf, someEvents } from './events.js'

async function send(
  { deps }: Pick<AwsWorld, 'deps'>,
  config: DestinationConfig,
  events: readonly PackedEvent[],
): Promise<SendOutcome> {
  const sender = openSender(config, deps)
  try {
    return await sender.send(events, new AbortController().signal)
  } finally {
    sender.close()
  }
}

const edgeJson = (id: string, edgeId: string): string =>
  JSON.stringify({ event_id: id, event_type: 'tcp_connection_closed.v0', object: { edge: { id: edgeId } } })

t.test('SQS: in a FIFO queue, events are grouped by edge and arrive once', async (t) => {
  const world = await openAwsWorld(t)
  world.emulator.world.addResource(world.resource('sqs', 'weir.fifo'))
  const config = world.config('sqs', keyAuth, 'weir.fifo')
  const writer = new PackWriter()
  writer.append('ev_1', Date.now(), edgeJson('ev_1', 'edgtcp_1'))
  writer.append('ev_2', Date.now(), edgeJson('ev_2', 'edgtcp_1'))
  writer.append('ed_1', Date.now(), eventJson({ id: 'ev_3' }))
  writer.append('ev_4', Date.now(), edgeJson('ev_4', 'not allowed'))
  const { events } = readPack(writer.take())
  const { receipt } = (await send(world, config, events)) as Receipt
  t.match(receipt, /^[0-9a-f-]{36}$/, 'the id of the first message')
  t.match(await send(world, config, events), { outcome: 'accepted' })
  const groups = world
    .ledger('sqs', 'weir.fifo')
    .page(0, 10)
    .events.map(({ groupId }) => groupId)
  t.match(groups, ['edgtcp_1', 'edgtcp_1', 'ed_1', /^[0-9a-f]{64}$/])
})

t.test('SQS: characters that it does not take are escaped', async (t) => {
  const world = await openAwsWorld(t)
  const spec = { id: 'ev_1', padding: 'a\uffff\ufffe\u0000\u{10ffff}' }
  t.match(await send(world, world.config('sqs'), eventsOf([spec])), { outcome: 'accepted' })
  const [arrived] = world.ledger('sqs').page(0, 1).events
  t.equal(JSON.parse(arrived!.data).padding, spec.padding)
})

t.test('EventBridge: source and type, as rules match them', async (t) => {
  const world = await openAwsWorld(t)
  const event = { partitionKey: 'ev_1', timestampMs: Date.now(), json: edgeJson('ev_1', 'edgtcp_1') }
  const access = {
    openSender: (config: DestinationConfig) => openSender(config, world.deps),
  }
  t.match(await sendTestEvent(world.config('eventbridge'), event, 10_000, access), { ok: true })
  t.match(await send(world, world.config('eventbridge'), someEvents(1)), { outcome: 'accepted' })
  t.match(world.ledger('eventbridge').page(0, 2).events, [
    { source: 'weir', detailType: 'tcp_connection_closed.v0', data: event.json },
    { source: 'weir', detailType: 'unknown' },
  ])
})

t.test(
  'entries that are refused for what they are go to the dead letters; if all are, they may not be at fault',
  async (t) => {
    const world = await openAwsWorld(t)
    const cases = [
      { kind: 'sqs', code: 'InvalidMessageContents', want: 'poison' },
      { kind: 'sqs', code: 'NeverHeardOf', want: 'poison' },
      { kind: 'sqs', code: 'InternalError', want: 'transient' },
      { kind: 'sqs', code: 'AccessDenied', want: 'configuration' },
      { kind: 'eventbridge', code: 'MalformedDetail', want: 'poison' },
      { kind: 'eventbridge', code: 'NotAuthorizedForSourceException', want: 'configuration' },
      { kind: 'eventbridge', code: 'InternalFailure', want: 'transient' },
      { kind: 'eventbridge', code: 'NeverHeardOf', want: 'transient' },
    ] as const
    for (const { kind, code, want } of cases) {
      world.emulator.world.clear()
      const failing = { type: 'fail_records', code } as const
      world.emulator.world.faults.add({ effect: { ...failing, containing: '"ev_1"' } })
      const fault = { class: want, code }
      const some =
        want === 'poison' ? { retry: [], rejected: [{ index: 1, fault }] } : { retry: [1], reason: fault }
      t.match(
        await send(world, world.config(kind), someEvents(3)),
        { outcome: 'partial', ...some },
        `${kind} ${code}`,
      )
      world.emulator.world.faults.add({ effect: failing })
      const all = await send(world, world.config(kind), someEvents(3))
      t.match(all, { outcome: 'failed', fault }, `${kind} ${code} for all`)
    }
  },
)

t.test('a queue with a lower limit of its own refuses one message', async (t) => {
  const world = await openAwsWorld(t, { resource: { recordBytesMax: 2048 } })
  const events = eventsOf([{ id: 'ev_0' }, { id: 'ev_1', padding: 'x'.repeat(2048) }])
  t.match(await send(world, world.config('sqs'), events), {
    outcome: 'partial',
    rejected: [{ index: 1, fault: { class: 'poison', code: 'InvalidParameterValue', msg: /2048/ } }],
  })
})

t.test('an entry without a result is sent again', async (t) => {
  const world = await openAwsWorld(t)
  const MD5OfMessageBody = createHash('md5')
    .update(eventJson({ id: 'ev_0' }))
    .digest('hex')
  const server = createServer(({ headers }, response) => {
    const ofSqs = `${headers['x-amz-target']}`.startsWith('AmazonSQS')
    const answer = ofSqs
      ? { Successful: [{ Id: '0', MessageId: 'm', MD5OfMessageBody }] }
      : { FailedEntryCount: 0, Entries: [{ EventId: 'e' }] }
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const deps = { ...world.deps, aws: { ...world.deps.aws, endpointUrl } }
  for (const kind of ['sqs', 'eventbridge']) {
    const outcome = await send({ deps }, world.config(kind), someEvents(2))
    const reason = { class: 'transient', code: 'NoResult' }
    t.match(outcome, { outcome: 'partial', retry: [1], reason }, kind)
  }
})
