/** The kind `nats`, on real servers. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream'
import { nkeys } from '@nats-io/nats-core'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import type { Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { type DeliverySettings, kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { ConfirmedPublisher } from '../../../src/ground/nats/confirmed-publisher.js'
import { eventDestination } from '../../../src/words/resource/event-destination.js'
import { natsOperator, seedText } from '../../harness/nats-operator.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { eventJson, eventsOf, someEvents } from './events.js'

const shortMs = 400
const mebibyte = 1024 * 1024

const deps = (more: Partial<DeliverySettings> = {}): DeliverySettings => ({
  kinds: { nats: { requestBytesMax: mebibyte } },
  aws: {},
  clock: new AwsClock(),
  networks: new ReachableNetworks(['127.0.0.0/8']),
  // Long, because a timeout on a busy machine would be another fault.
  requestTimeoutMs: 30_000,
  ...more,
})

const config = (options: object, address = 'traffic.closed'): DestinationConfig => ({
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'nats',
  address,
  options: options as DestinationConfig['options'],
})

const signal = new AbortController().signal

function opened(t: Test, of: DestinationConfig, more: Partial<DeliverySettings> = {}): Sender {
  const sender = openSender(of, deps(more))
  t.teardown(() => sender.close())
  return sender
}

const send = (t: Test, of: DestinationConfig, events = someEvents(2), more = {}): Promise<SendOutcome> =>
  opened(t, of, more).send(events, signal)

/** A server with these settings beside those of its store. */
async function openServer(t: Test, settings = ''): Promise<OwnNats> {
  const dir = tempDir(t)
  const file = join(dir, 'settings.conf')
  mkdirSync(dir, { recursive: true })
  writeFileSync(file, `jetstream { max_file_store: 1GB, store_dir: ${JSON.stringify(dir)} }\n${settings}`)
  const server = new OwnNats(dir, ['-c', file])
  await server.start()
  t.teardown(() => server.stop())
  return server
}

async function connected(t: Test, { url }: OwnNats, more: object = {}): Promise<NatsConnection> {
  const connection = await connect({ servers: url, ...more })
  t.teardown(() => connection.close())
  return connection
}

async function addStream(connection: NatsConnection, more: Partial<StreamConfig> = {}) {
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'TRAFFIC', subjects: ['traffic.>'], ...more })
  return manager
}

t.test('a stream stores each event once, as it is, under its id', async (t) => {
  const server = await openServer(t)
  const { streams } = await addStream(await connected(t, server))
  const sender = opened(t, config({ servers: [server.url] }))
  const events = eventsOf([{ id: 'ev_1', padding: 'ünï\n"' }, { id: 'ev_2' }])
  t.strictSame(await sender.send(events, signal), { outcome: 'accepted' })
  t.strictSame(await sender.send(events, signal), { outcome: 'accepted' }, 'a second time')
  t.equal((await streams.info('TRAFFIC')).state.messages, 2)
  const stored = await streams.getMessage('TRAFFIC', { seq: 1 })
  t.equal(stored?.string(), eventJson({ id: 'ev_1', padding: 'ünï\n"' }))
  t.equal(stored?.header.get('Nats-Msg-Id'), 'ed_1.ev_1')
  const { eventsMax } = sender.limits()
  t.match(
    await sender.send(someEvents(eventsMax, 'ev_many_'), signal),
    { outcome: 'accepted' },
    'a full request',
  )
  t.match(await sender.check?.(events[0]!, signal), {
    ok: true,
    value: { mayWrite: false, proved: { 1: /TRAFFIC/ } },
  })
})

t.test('a stream of several subjects stores the event of each destination', async (t) => {
  const server = await openServer(t)
  const { streams } = await addStream(await connected(t, server))
  const events = someEvents(2)
  for (const [id, address] of [
    ['ed_1', 'traffic.a'],
    ['ed_2', 'traffic.b'],
  ] as const)
    t.match(await send(t, { ...config({ servers: [server.url] }, address), id }, events), {
      outcome: 'accepted',
    })
  t.equal((await streams.info('TRAFFIC')).state.messages, 4)
})

t.test('without JetStream, the server confirms what those who listen get', async (t) => {
  const server = await openServer(t)
  const connection = await connected(t, server)
  const heard: string[] = []
  connection.subscribe('traffic.>', { callback: (_, message) => void heard.push(message.string()) })
  await connection.flush()
  const plain = config({ servers: [server.url], jetstream: false })
  t.strictSame(await send(t, plain, eventsOf([{ id: 'ev_1' }])), { outcome: 'accepted' })
  await until('it is heard', () => heard.length > 0)
  t.strictSame(heard, [eventJson({ id: 'ev_1' })])
})

t.test('what JetStream refuses', async (t) => {
  const server = await openServer(t, 'max_payload: 20000')
  const connection = await connected(t, server)
  const of = config({ servers: [server.url] })
  const noStream = { outcome: 'failed', fault: { class: 'configuration', code: 'NoStream' } }
  t.match(await send(t, of), noStream)
  t.match(await opened(t, of).check?.(someEvents(1)[0]!, signal), { ok: false, problem: noStream.fault })
  connection.subscribe('traffic.closed', { callback: (_, message) => void message.respond('hello') })
  await connection.flush()
  t.match(await send(t, of), noStream, 'another program answers')

  const manager = await addStream(connection, { max_msg_size: 1_000, subjects: ['stored.>'] })
  const stored = config({ servers: [server.url] }, 'stored.x')
  const mixed = eventsOf([
    { id: 'ev_0' },
    { id: 'ev_1', padding: 'x'.repeat(2_000) },
    { id: 'ev_2', padding: 'x'.repeat(30_000) },
  ])
  const poison = { class: 'poison', code: 'TooLarge' }
  const sender = opened(t, stored)
  const rejected = [
    { index: 1, fault: poison },
    { index: 2, fault: poison },
  ]
  t.match(await sender.send(mixed, signal), { outcome: 'partial', retry: [], rejected })
  t.equal(sender.limits().eventBytesMax, 20_000, 'the limit of the server is known')

  await manager.streams.update('TRAFFIC', { discard: 'new', max_msgs: 2 } as Partial<StreamConfig>)
  t.match(await sender.send(someEvents(3, 'ev_full_'), signal), {
    outcome: 'partial',
    retry: { length: 2 },
    reason: { class: 'throttle', code: 'StreamFull' },
  })
})

const seed = 'SUADLIRFXL3KHYONIJS7EJAMY2FNBH42DYNQR2RUQQWAXHVGETYDERKY3U'
const users = `
authorization { users: [
  { user: admin, password: right }
  { user: one, password: right, permissions: { publish: ["traffic.>", "$JS.API.STREAM.NAMES"] } }
  { user: other, password: right, permissions: { publish: ["other"] } }
  { user: confined, password: right, permissions: { publish: ["traffic.>"], subscribe: ["_INBOX_confined.>"] } }
  { nkey: UDN4PVAVGPMQZ65NVV65NKOYNP6GDVF4GCA7AATE2EWWHINE2ATXRAMD }
] }`

t.test('who may publish', async (t) => {
  const server = await openServer(t, users)
  await addStream(await connected(t, server, { user: 'admin', pass: 'right' }))
  const as = (auth: object, more: object = {}) => config({ servers: [server.url], auth, ...more })
  const basic = (username: string, password = 'right') => ({ basic: { username, password } })
  const accepted = { outcome: 'accepted' }
  t.match(await send(t, as(basic('one'))), accepted, 'a user')
  t.match(await send(t, as({ nkey: { seed } })), accepted, 'an nkey')
  const confined = as(basic('confined'), { inbox_prefix: '_INBOX_confined' })
  t.match(await send(t, confined), accepted, 'answers come below its prefix')
  const failed = (faultClass: string, code: string) => ({
    outcome: 'failed',
    fault: { class: faultClass, code },
  })
  t.match(await send(t, as(basic('one', 'wrong'))), failed('credentials', 'Unauthorized'))
  t.match(await send(t, as({ token: { token: 'none' } })), failed('credentials', 'Unauthorized'))
  t.match(await send(t, as({ nkey: { seed: 'nonsense' } })), failed('credentials', 'Unauthorized'))
  t.match(await send(t, as({ creds: { creds: 'nonsense' } })), failed('credentials', 'Unauthorized'))
  for (const jetstream of [true, false]) {
    const denied = await send(t, as(basic('other'), { jetstream }))
    t.match(denied, failed('configuration', 'PermissionDenied'), `jetstream: ${jetstream}`)
  }
  t.match(await send(t, as(basic('confined'))), failed('configuration', 'PermissionDenied'), 'of its answers')
})

t.test('a credentials file', async (t) => {
  const operator = natsOperator()
  const server = await openServer(t, operator.settings)
  const creds = operator.creds()
  const of = { servers: [server.url], auth: { creds: { creds } }, jetstream: false }
  t.match(await send(t, config(of)), { outcome: 'accepted' })
  const other = creds.replace(/SU[A-Z2-7]{56}/, seedText(nkeys.createUser()))
  const refused = await send(t, config({ ...of, auth: { creds: { creds: other } } }))
  t.match(refused, { fault: { class: 'credentials', code: 'Unauthorized' } })
  const check = compileCheck(eventDestination.fields.target.schema)
  t.equal(check({ nats: { subject: 'x', ...of } }, 'target'), undefined, 'a secret of several lines')
})

t.test('targets', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const servers = ['nats://nats.example.com:4222']
  const good = [
    { subject: 'a.b-c.D_e' },
    {
      subject: 'x',
      servers: ['nats://nats.example.com', 'tls://[2001:db8::1]:4222'],
      tls: {},
      jetstream: false,
    },
    { subject: 'x', servers, auth: { basic: { username: 'u', password: 'p' } }, inbox_prefix: '_INBOX_x' },
  ]
  for (const nats of good) t.equal(check({ nats }, 'target'), undefined, JSON.stringify(nats))
  const bad: [nats: object, says: RegExp][] = [
    [{ subject: 'a.>' }, /not a subject/],
    [{ subject: '$JS.API' }, /not a subject/],
    [{ subject: 'a..b' }, /not a subject/],
    [{ subject: 'x', servers: ['http://nats'] }, /nats:\/\/nats\.example\.com:4222/],
    [{ subject: 'x', servers: ['nats://u:p@nats:4222'] }, /nats:\/\/nats\.example\.com:4222/],
    [{ subject: 'x', servers, auth: {} }, /exactly one of token, basic, creds, nkey/],
    [
      { subject: 'x', servers, auth: { token: { token: 't' }, basic: { username: 'u', password: 'p' } } },
      /exactly one/,
    ],
    [{ subject: 'x', servers, auth: { nkey: { seed: 'SUABADSEED' } } }, /the seed of a user is needed/],
    [{ subject: 'x', servers, auth: { creds: { creds: 'garbage' } } }, /a credentials file is needed/],
  ]
  for (const [nats, says] of bad) t.match(check({ nats }, 'target') ?? '', says, JSON.stringify(nats))
  const { broken, recipient } = kindNamed('nats').options!
  t.match(broken?.('x', { auth: { token: { token: 't' } } }), /no "servers"/)
  t.equal(broken?.('x', { jetstream: false }), undefined)
  t.not(recipient?.('x', { servers }), recipient?.('x', { servers, tls: {} }), 'secrets stay with TLS')
})

t.test('servers that cannot be reached, or must not', async (t) => {
  const server = await openServer(t)
  await addStream(await connected(t, server))
  const nowhere = `nats://127.0.0.1:${await freePort()}`
  const of = (servers: string[], more = {}) => config({ servers, ...more })
  t.match(await send(t, of([nowhere, server.url])), { outcome: 'accepted' }, 'the next one is tried')
  const lost = { outcome: 'failed', fault: { class: 'transient', code: 'ConnectionLost' } }
  t.match(await send(t, of([nowhere])), lost)
  const unknown = await send(t, of(['nats://no-such-host.invalid']))
  t.match(unknown, { fault: { class: 'transient' } })
  const none = { networks: new ReachableNetworks() }
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]']) {
    const url = server.url.replace('127.0.0.1', host)
    const refused = await send(t, of([url]), someEvents(1), none)
    t.match(refused, { fault: { class: 'configuration', code: 'PrivateNetwork' } }, host)
  }
  const named = await send(t, of([server.url.replace('127.0.0.1', 'localhost')]), someEvents(1), none)
  t.match(named, { fault: { class: 'transient', code: 'UnknownHost' } })

  const sender = opened(t, of([server.url]), { requestTimeoutMs: shortMs })
  // A busy machine may need longer for the first one.
  await until('it accepts', async () => (await sender.send(someEvents(1), signal)).outcome === 'accepted')
  server.freeze()
  const late = { outcome: 'failed', fault: { class: 'transient', code: 'Timeout' } }
  // The signal may take a moment.
  await until('it hangs', async () => {
    const sent = await sender.send(someEvents(1), signal)
    return sent.outcome === 'failed' && t.match(sent, late, 'it hangs')
  })
  const other = opened(t, of([server.url]), { requestTimeoutMs: shortMs })
  t.match(await other.send(someEvents(1), signal), late, 'it hangs at the start')
  const aborted = opened(t, of([server.url])).send(someEvents(1), AbortSignal.abort())
  t.match(await aborted, { fault: { class: 'transient', code: 'Aborted' } })
  server.thaw()
  await server.kill()
  const again = opened(t, of([server.url]))
  t.match(await again.send(someEvents(1), signal), lost)
  await server.start()
  t.match(
    await again.send(someEvents(1, 'ev_again_'), signal),
    { outcome: 'accepted' },
    'it is connected again',
  )
})

t.test('what a server says about its cluster is ignored', async (t) => {
  let hostileConnections = 0
  const hostile = createServer(() => {
    hostileConnections += 1
  })
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve))
  t.teardown(() => hostile.close())
  const { port } = hostile.address() as { port: number }
  const server = await openServer(t, `client_advertise: "127.0.0.1:${port}"`)
  await addStream(await connected(t, server, { ignoreClusterUpdates: true }))
  const sender = opened(t, config({ servers: [server.url] }))
  t.match(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
  await server.kill()
  for (const _ of [1, 2, 3])
    t.match(await sender.send(someEvents(1), signal), { fault: { code: 'ConnectionLost' } })
  t.equal(hostileConnections, 0)
})

t.test('encrypted connections', async (t) => {
  const dir = tempDir(t)
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const server = await openServer(t, `tls { cert_file: "${cert}", key_file: "${key}" }`)
  const ca = readFileSync(cert, 'utf8')
  const byName = server.url.replace('127.0.0.1', 'localhost')
  await addStream(await connected(t, server, { servers: byName, tls: { ca } }))
  const accepted = { outcome: 'accepted' }
  t.match(await send(t, config({ servers: [byName], tls: { ca } })), accepted)
  const scheme = byName.replace('nats:', 'tls:')
  t.match(await send(t, config({ servers: [scheme], tls: { ca } })), accepted)
  const failed = { outcome: 'failed', fault: { class: 'configuration', code: 'TlsFailed' } }
  t.match(await send(t, config({ servers: [scheme] })), failed, 'an unknown authority')
  t.match(await send(t, config({ servers: [server.url], tls: { ca } })), failed, 'another name')
  t.match(
    await send(t, config({ servers: [byName] })),
    failed,
    'the server wants it, and no one asked for it',
  )
  const plain = await openServer(t)
  t.match(await send(t, config({ servers: [plain.url], tls: {} })), failed, 'the server has none')
})

t.test('on the NATS of Weir, an account stays below its id', async (t) => {
  const server = await openServer(t)
  const connection = await connected(t, server)
  const { streams } = await addStream(connection, { subjects: ['events.>'] })
  const cluster = new ConfirmedPublisher(connection)
  const sender = opened(t, config({}), { cluster })
  t.strictSame(await sender.send(someEvents(1), signal), { outcome: 'accepted' })
  t.equal((await streams.getMessage('TRAFFIC', { seq: 1 }))?.subject, 'events.ac_1.traffic.closed')
  t.match(await sender.check?.(someEvents(1)[0]!, signal), {
    value: { notProved: [/events\.ac_1\.traffic\.closed/] },
  })
  sender.close()
  t.notOk(connection.isClosed(), 'its connection stays open')
  t.match(await send(t, config({})), { fault: { class: 'configuration', code: 'NoCluster' } })
})

t.test('a lane: what is too large is set aside, and the rest waits until a stream takes it', async (t) => {
  const server = await openServer(t)
  const connection = await connected(t, server)
  const dead: string[] = []
  const states: string[] = []
  const lane = new Lane(config({ servers: [server.url] }), {
    open: (of) => openSender(of, deps()),
    budget: { hold: () => true, release: () => {} },
    settings: { probeMinMs: 10, probeMaxMs: 20 },
    changed: ({ state }) => void states.push(state),
    deadLetter: async (event: PackedEvent) => void dead.push(event.id),
  })
  t.teardown(() => lane.close())
  const events = [...someEvents(3), ...eventsOf([{ id: 'ev_large', padding: 'x'.repeat(5_000) }])]
  const delivered = lane.deliver(events)
  await until('it is paused', () => states.includes('paused'))
  const { streams } = await addStream(connection, { max_msg_size: 4_000 })
  t.match(await delivered, { outcome: 'done', counts: { delivered: 3, dead_lettered: 1 } })
  t.strictSame(dead, ['ev_large'])
  t.equal((await streams.info('TRAFFIC')).state.messages, 3)
  t.equal(states.at(-1), 'healthy')
})
