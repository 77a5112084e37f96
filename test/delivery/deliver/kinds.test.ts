import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { checkRole } from '../../../src/delivery/deliver/aws/aws.js'
import type { DestinationAuth } from '../../../src/delivery/deliver/aws/aws-kind.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { destinationKinds, kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import { type DestinationAccess, sendTestEvent } from '../../../src/delivery/deliver/test-event.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { version } from '../../../src/ground/core/package.js'
import type { FaultEffect } from '../../../src/outside/emulator/wire.js'
import {
  type AwsWorld,
  accountId,
  deniedCode,
  expiredCode,
  keyAuth,
  kindNames,
  kindsByRecord,
  missingCode,
  openAwsWorld,
  roleArn,
  roleAuth,
} from './aws-world.js'
import { eventJson, eventsOf, someEvents } from './events.js'

const dayMs = 86_400_000
/** For requests that never get an answer. */
const shortMs = 300

async function send(
  world: AwsWorld,
  config: DestinationConfig,
  events: readonly PackedEvent[],
  requestTimeoutMs = world.deps.requestTimeoutMs,
): Promise<SendOutcome> {
  const sender = openSender(config, { ...world.deps, requestTimeoutMs })
  try {
    return await sender.send(events, new AbortController().signal)
  } finally {
    sender.close()
  }
}

t.test('a refused address is not repeated with the password in it', async (t) => {
  for (const { name, address } of destinationKinds) {
    for (const text of ['https://user:hunter2@example.com:8443/a b', 'nats://user:hunter/2@example.com x'])
      t.notMatch(address.check(text)?.msg ?? t.fail(`${name} accepts ${text}`), 'hunter', name)
  }
})

t.test('events arrive as they were, in the form of each service', async (t) => {
  const world = await openAwsWorld(t)
  const events = eventsOf([
    { id: 'ev_1', partitionKey: 'key', timestampMs: Date.now(), padding: 'ünï\n"' },
    { id: 'ev_2', timestampMs: Date.now() - 1000 },
  ])
  for (const kind of kindNames) {
    t.match(await send(world, world.config(kind), events), { outcome: 'accepted', requestId: String }, kind)
    const received = world.ledger(kind).page(0, 10).events
    const end = kindNamed(kind).keepsLineBreak ? '\n' : ''
    const sent = events.map(({ id }) => (id === 'ev_1' ? { id, padding: 'ünï\n"' } : { id }))
    const order = kind === 'cloudwatch_logs' ? [sent[1]!, sent[0]!] : sent
    t.same(
      received.map(({ data }) => data),
      order.map((spec) => eventJson(spec) + end),
      kind,
    )
  }
  t.match(world.ledger('kinesis').page(0, 10).events, [{ partitionKey: 'key' }, { partitionKey: 'ev_2' }])
  const [first] = world.ledger('cloudwatch_logs').page(0, 1).events
  t.match(first, { logStream: 'ed_cloudwatchlogs', timestampMs: events[1]!.timestampMs })
})

t.test('full requests pass the limits of the services', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kindNames) {
    const sender = openSender(world.config(kind), world.deps)
    t.teardown(() => sender.close())
    const { eventsMax, requestBytesMax, eventBytesMax, sizeOf } = sender.limits()
    const signal = new AbortController().signal
    t.match(await sender.send(someEvents(eventsMax), signal), { outcome: 'accepted' }, `${kind}: by count`)
    const [bare] = eventsOf([{ id: 'ev_0' }])
    const padding = 'x'.repeat(eventBytesMax - sizeOf(bare!))
    const large = eventsOf(Array(Math.floor(requestBytesMax / eventBytesMax)).fill({ id: 'ev_0', padding }))
    t.equal(sizeOf(large[0]!), eventBytesMax)
    t.match(await sender.send(large, signal), { outcome: 'accepted' }, `${kind}: by bytes`)
    // Some kinds leave a KiB free, and more for what they can't know.
    const over = eventsOf([{ id: 'ev_0', padding: `${padding}${'x'.repeat(2_048)}` }])
    t.match(
      await sender.send(over, signal),
      { outcome: 'failed', fault: { class: 'poison' } },
      `${kind}: too large`,
    )
  }
})

t.test('faults of requests are classified', async (t) => {
  const world = await openAwsWorld(t)
  const casesOf = (kind: string): { effect: FaultEffect; want: object }[] => [
    { effect: { type: 'throttle' }, want: { class: 'throttle' } },
    { effect: { type: 'error', code: 'InternalFailure', status: 500 }, want: { class: 'transient' } },
    { effect: { type: 'hang' }, want: { class: 'transient', code: 'Timeout' } },
    { effect: { type: 'drop' }, want: { class: 'transient', code: 'ConnectionLost' } },
    {
      effect: { type: 'expired_token' },
      want: { class: 'credentials', code: expiredCode(kind), requestId: String },
    },
    { effect: { type: 'access_denied' }, want: { class: 'configuration', code: deniedCode(kind) } },
    { effect: { type: 'poison', containing: 'ev_0' }, want: { class: 'poison' } },
  ]
  for (const kind of kindNames) {
    for (const { effect, want } of casesOf(kind)) {
      world.emulator.world.clear()
      const { service, name: resource } = world.resource(kind)
      world.emulator.world.faults.add({ effect, service, resource })
      const timeoutMs = effect.type === 'hang' ? shortMs : undefined
      const outcome = await send(world, world.config(kind), someEvents(1), timeoutMs)
      t.match(outcome, { outcome: 'failed', fault: want }, `${kind}: ${effect.type}`)
    }
    world.emulator.world.clear()
    const config = world.config(kind)
    world.emulator.world.removeResource(world.resource(kind))
    const missing = await send(world, config, someEvents(1))
    t.match(missing, { fault: { class: 'configuration', code: missingCode(kind) } }, `${kind}: missing`)
    world.emulator.world.addResource(world.resource(kind))
  }
})

t.test('records that failed within an accepted request are named', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kindsByRecord) {
    world.emulator.world.clear()
    world.emulator.world.faults.add({ effect: { type: 'fail_records', every: 3 } })
    const outcome = await send(world, world.config(kind), someEvents(7))
    t.match(outcome, { outcome: 'partial', retry: [2, 5], rejected: [], reason: { class: 'throttle' } }, kind)
    t.notOk(Object.keys(world.ledger(kind).ids(false)).some((id) => id === 'ev_2' || id === 'ev_5'))
  }
})

t.test('CloudWatch Logs: events that it would refuse are rejected one by one', async (t) => {
  const world = await openAwsWorld(t)
  const now = Date.now()
  const config = world.config('cloudwatch_logs')
  const old = eventsOf([
    { id: 'ev_now', timestampMs: now - 14 * dayMs + 60_000 },
    { id: 'ev_old', timestampMs: now - 14 * dayMs - 60_000 },
  ])
  t.match(await send(world, config, old), {
    retry: [],
    rejected: [{ index: 1, fault: { class: 'poison', code: 'TooOld' } }],
  })
  const ahead = eventsOf([
    { id: 'ev_ahead', timestampMs: now + 3 * 3_600_000 },
    { id: 'ev_present', timestampMs: now },
  ])
  t.match(await send(world, config, ahead), {
    retry: [],
    rejected: [{ index: 0, fault: { class: 'poison', code: 'TooNew' } }],
  })
  t.same(Object.keys(world.ledger('cloudwatch_logs').ids(false)).sort(), ['ev_now', 'ev_present'])
})

t.test('CloudWatch Logs: a deleted log stream is recreated', async (t) => {
  const world = await openAwsWorld(t)
  const sender = openSender(world.config('cloudwatch_logs'), world.deps)
  t.teardown(() => sender.close())
  const signal = new AbortController().signal
  t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
  world.emulator.world.findResource(world.resource('cloudwatch_logs'))!.logStreams.clear()
  t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
  const other = openSender(world.config('cloudwatch_logs'), world.deps)
  t.teardown(() => other.close())
  t.match(await other.send(someEvents(1), signal), { outcome: 'accepted' }, 'one that exists is used')
})

t.test(
  'CloudWatch Logs: a destination has one log stream, created once, however many senders open it',
  async (t) => {
    const world = await openAwsWorld(t)
    const creations = () => world.emulator.world.stats()['logs.CreateLogStream']?.requests
    const config = world.config('cloudwatch_logs')
    const sender = openSender(config, world.deps)
    t.teardown(() => sender.close())
    const signal = new AbortController().signal
    const sent = await Promise.all([1, 2, 3, 4].map(() => sender.send(someEvents(1), signal)))
    t.ok(sent.every(({ outcome }) => outcome === 'accepted'))
    t.equal(creations(), 1, 'four requests at a start')
    for (let start = 0; start < 3; start += 1) {
      t.match(await send(world, config, someEvents(1)), { outcome: 'accepted' })
    }
    const { logStreams } = world.emulator.world.findResource(world.resource('cloudwatch_logs'))!
    t.same([...logStreams.keys()], [config.id])
    logStreams.clear()
    const again = await Promise.all([1, 2, 3, 4].map(() => sender.send(someEvents(1), signal)))
    t.ok(again.every(({ outcome }) => outcome === 'accepted'))
    t.same([...logStreams.keys()], [config.id], 'recreated after it was deleted')
  },
)

t.test('CloudWatch Logs: if a log stream could not be created, the next request tries again', async (t) => {
  const world = await openAwsWorld(t)
  world.emulator.world.faults.add({ effect: { type: 'throttle' }, operation: 'CreateLogStream', count: 1 })
  const sender = openSender(world.config('cloudwatch_logs'), world.deps)
  t.teardown(() => sender.close())
  const signal = new AbortController().signal
  t.match(await sender.send(someEvents(1), signal), { outcome: 'failed', fault: { class: 'throttle' } })
  t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
})

/** A web server in place of AWS; `deps` send all requests to it. */
async function serveInstead(t: Test, world: AwsWorld, answer: RequestListener): Promise<AwsWorld['deps']> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { ...world.deps, aws: { ...world.deps.aws, endpointUrl: `http://127.0.0.1:${port}` } }
}

t.test('requests name Weir and its version as their user agent, the second like the first', async (t) => {
  const world = await openAwsWorld(t)
  const seen = new Map<string, string[]>()
  const deps = await serveInstead(t, world, ({ headers }, response) => {
    const operation = `${headers['x-amz-target']}`
    seen.set(operation, [...(seen.get(operation) ?? []), `${headers['user-agent']}`])
    response.writeHead(500).end()
  })
  for (const kind of kindNames) {
    const sender = openSender(world.config(kind, kind === 'kinesis' ? roleAuth : keyAuth), deps)
    for (let n = 0; n < 2; n += 1) await sender.send(someEvents(1), new AbortController().signal)
    sender.close()
  }
  t.ok(seen.size >= kindNames.length)
  for (const [operation, userAgents] of seen) {
    t.equal(new Set(userAgents).size, 1, operation)
    for (const userAgent of userAgents)
      t.ok(userAgent.split(' ').includes(`weir/${version}`), `${operation}: ${userAgent}`)
  }
})

t.test('a Kinesis stream that accepts larger records is asked for its limit', async (t) => {
  const world = await openAwsWorld(t, { resource: { recordBytesMax: 4096 * 1024 } })
  const sender = openSender(world.config('kinesis'), world.deps)
  t.teardown(() => sender.close())
  t.equal(sender.limits().eventBytesMax, 1024 * 1024)
  await sender.send(someEvents(1), new AbortController().signal)
  for (let tries = 0; sender.limits().eventBytesMax === 1024 * 1024 && tries < 1000; tries += 1) {
    await sender.send(someEvents(1), new AbortController().signal)
  }
  t.equal(sender.limits().eventBytesMax, 4096 * 1024)
})

t.test(
  'a role is assumed with the account as external id, and again after its session expired',
  async (t) => {
    const world = await openAwsWorld(t)
    const { emulator } = world
    for (const kind of kindNames) {
      emulator.world.sessions.clear()
      const sender = openSender(world.config(kind, roleAuth), world.deps)
      t.teardown(() => sender.close())
      const put = () => sender.send(someEvents(1), new AbortController().signal)
      t.match(await put(), { outcome: 'accepted' }, kind)
      await put()
      const sessions = [...emulator.world.sessions.values()]
      t.match(sessions, [{ roleArn, externalId: accountId, sessionName: `weir-${world.config(kind).id}` }])
      t.equal(sessions.length, 1, 'one session for two requests')
      emulator.world.expireSessions()
      t.match(await put(), {
        outcome: 'failed',
        fault: { class: 'credentials', code: expiredCode(kind) },
      })
      sender.dropCredentials()
      t.match(await put(), { outcome: 'accepted' })
    }
  },
)

t.test('a session is renewed before it expires', async (t) => {
  const world = await openAwsWorld(t, { role: { sessionMs: 240_000 } })
  const sender = openSender(world.config('kinesis', roleAuth), world.deps)
  t.teardown(() => sender.close())
  for (let at = 0; at < 3; at += 1) {
    t.match(await sender.send(someEvents(1), new AbortController().signal), { outcome: 'accepted' })
  }
  t.ok(world.emulator.world.sessions.size >= 3, 'a session with four minutes left is renewed')
})

t.test('a role that may not be assumed is a credentials fault', async (t) => {
  const world = await openAwsWorld(t, { role: { externalId: 'ac_another' } })
  const outcome = await send(world, world.config('firehose', roleAuth), someEvents(1))
  t.match(outcome, { outcome: 'failed', fault: { class: 'credentials', code: 'AccessDenied' } })
  world.emulator.world.faults.add({ effect: { type: 'hang' }, service: 'sts' })
  const hung = await send(world, world.config('firehose', roleAuth), someEvents(1), shortMs)
  t.match(hung, { outcome: 'failed', fault: { class: 'transient' } }, 'STS hangs')
})

t.test('an abort ends a request at once', async (t) => {
  const world = await openAwsWorld(t)
  world.emulator.world.faults.add({ effect: { type: 'hang' } })
  const sender = openSender(world.config('kinesis'), world.deps)
  t.teardown(() => sender.close())
  const abort = new AbortController()
  const sent = sender.send(someEvents(1), abort.signal)
  abort.abort()
  t.match(await sent, { outcome: 'failed', fault: { class: 'transient', code: 'Aborted' } })
  t.match(
    await sender.send(someEvents(1), abort.signal),
    { fault: { code: 'Aborted' } },
    'aborted beforehand',
  )
})

t.test('an abort closes the connection', async (t) => {
  const world = await openAwsWorld(t)
  const abort = new AbortController()
  let closed: Promise<unknown> | undefined
  const deps = await serveInstead(t, world, (_request, response) => {
    closed = once(response, 'close')
    abort.abort()
  })
  const sender = openSender(world.config('firehose', keyAuth), deps)
  t.teardown(() => sender.close())
  t.match(await sender.send(someEvents(1), abort.signal), { fault: { code: 'Aborted' } })
  await t.resolves(closed ?? Promise.reject(new Error('No request came.')))
})

t.test('a test event is sent, or the reason is returned', async (t) => {
  const world = await openAwsWorld(t)
  const access: DestinationAccess = {
    openSender: (config) => openSender(config, world.deps),
  }
  const event = {
    partitionKey: 'ev_test',
    timestampMs: Date.now(),
    json: '{"event_id":"ev_test","event_type":"test.v0"}',
  }
  t.match(await sendTestEvent(world.config('firehose', roleAuth), event, 10_000, access), { ok: true })
  t.same(world.ledger('firehose').ids(false), { ev_test: 1 })
  const fault = world.emulator.world.faults.add({ effect: { type: 'access_denied' } })
  const denied = await sendTestEvent(world.config('firehose'), event, 10_000, access)
  t.match(denied, { ok: false, problem: { code: 'AccessDeniedException', msg: /not authorized/ } })
  world.emulator.world.faults.clear(fault)
  world.emulator.world.faults.add({ effect: { type: 'hang' } })
  const late = await sendTestEvent(world.config('firehose'), event, 50, access)
  t.match(late, { ok: false, problem: { code: 'Timeout' } })
  const lateRole = await sendTestEvent(world.config('firehose', roleAuth), event, 50, access)
  t.match(lateRole, { ok: false, problem: { code: 'Timeout' } }, 'also if STS hangs')
})

t.test('a role is checked: assuming it without the external id must be refused', async (t) => {
  const guarded = await openAwsWorld(t)
  const check = (world: AwsWorld, auth: DestinationAuth, requestTimeoutMs = world.deps.requestTimeoutMs) =>
    checkRole(
      world.config('kinesis', auth),
      { ...world.deps, requestTimeoutMs },
      new AbortController().signal,
    )
  t.match(await check(guarded, roleAuth), { ok: true })
  t.match(await check(guarded, keyAuth), { ok: true }, 'a pair of keys has no role')
  t.equal(guarded.emulator.world.sessions.size, 0)
  guarded.emulator.world.faults.add({ effect: { type: 'hang' }, service: 'sts' })
  const unknown = await check(guarded, roleAuth, shortMs)
  t.match(unknown, { ok: false, problem: { code: 'Timeout' } }, 'nothing is known')
  const open = await openAwsWorld(t)
  open.emulator.world.addRole({ roleArn })
  const problem = {
    class: 'configuration',
    code: 'ExternalIdNotRequired',
    msg: /"sts:ExternalId": "ac_test"/,
  }
  t.match(await check(open, roleAuth), { ok: false, problem })
})
