/** Every user of NATS against every call of JetStream, every stream and every subject, asked of a server. */

import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { readServerRecord } from '../../../src/delivery/nats-server/files.js'
import { readGreeting } from '../../../src/delivery/nats-server/nats-probe.js'
import { type NatsServer, openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { roleInboxPrefix } from '../../../src/delivery/nats-server/role-users.js'
import {
  deliverySubject,
  partitionsMax,
  partitionsUpTo,
  recordsPartition,
  streamsOf,
} from '../../../src/delivery/wire/partitions.js'
import { ensureStreams } from '../../../src/delivery/wire/streams.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import { crashesOnWildcardReply } from '../../../src/ground/nats/server-versions.js'
import { exchangeUsage, Usage } from '../../../src/management/access/usage.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { openBuckets } from '../../../src/management/store/buckets.js'
import { hostileReplies, publishHostile } from '../../harness/hostile-replies.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const mebibyte = 1024 * 1024

// --- what there is to call ---

/**
 * `consume`: by the durable consumer `pipeline`, or `ed_1` of the deliveries; `consume any`: by one of any name;
 * `read along`: by consumers of any name that are neither durable nor acknowledged.
 */
type Call =
  | 'info'
  | 'make'
  | 'purge'
  | 'get'
  | 'remove'
  | 'direct'
  | 'read along'
  | 'consume'
  | 'consume any'
  | 'ask for the consumer'
  | 'ask for consumers'
  | 'drop consumers'
  | 'drop'
  | 'never'

const consumerCalls = (stream: string, consumer: string): string[] => [
  `$JS.API.CONSUMER.INFO.${stream}.${consumer}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}.weir.x`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
  `$JS.API.CONSUMER.DELETE.${stream}.${consumer}`,
]

const callsOn = (stream: string): Record<Call, string[]> => ({
  info: [`$JS.API.STREAM.INFO.${stream}`],
  make: [`$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.UPDATE.${stream}`],
  purge: [`$JS.API.STREAM.PURGE.${stream}`],
  get: [`$JS.API.STREAM.MSG.GET.${stream}`],
  remove: [`$JS.API.STREAM.MSG.DELETE.${stream}`],
  direct: [`$JS.API.DIRECT.GET.${stream}`],
  'read along': [
    ...consumerCalls(stream, 'other'),
    ...consumerCalls(stream, durable(stream)),
    `$JS.FC.${stream}.other.x`,
  ],
  consume: [...consumerCalls(stream, durable(stream)), ...durableCalls(stream, durable(stream))],
  'consume any': [durable(stream), 'other'].flatMap((name) => [
    ...consumerCalls(stream, name),
    ...durableCalls(stream, name),
  ]),
  'ask for the consumer': [`$JS.API.CONSUMER.INFO.${stream}.${durable(stream)}`],
  'ask for consumers': [durable(stream), 'other'].map((name) => `$JS.API.CONSUMER.INFO.${stream}.${name}`),
  'drop consumers': [durable(stream), 'other'].map((name) => `$JS.API.CONSUMER.DELETE.${stream}.${name}`),
  drop: [`$JS.API.STREAM.DELETE.${stream}`],
  never: [
    `$JS.API.STREAM.SNAPSHOT.${stream}`,
    `$JS.API.STREAM.RESTORE.${stream}`,
    `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`,
    `$JS.API.STREAM.PEER.REMOVE.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.weir.x`,
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.NAMES.${stream}`,
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.other`,
  ],
})

const durable = (stream: string): string => (stream.startsWith('WEIR_DELIVERIES') ? 'ed_1' : 'pipeline')

const durableCalls = (stream: string, consumer: string): string[] => [
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${consumer}`,
  `$JS.ACK.${stream}.${consumer}.1.1.1.1.0`,
]

/** Where requests are answered. */
const replies = ['_INBOX.api.x', '_INBOX.deliver.x', '_INBOX.x', '_R_.x.y']

const general = [
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.LIST',
  '$JS.API.STREAM.CREATE.ANOTHER',
  '$JS.API.STREAM.DELETE.ANOTHER',
  '$JS.API.ACCOUNT.PURGE.WEIR',
  '$JS.API.META.LEADER.STEPDOWN',
  '$SYS.REQ.SERVER.PING',
  ...replies,
]

const streams = [
  'WEIR_RECORDS',
  'WEIR_DELIVERIES',
  'WEIR_DEADLETTER',
  'WEIR_AUDIT',
  'WEIR_AUDIT_IN',
  'WEIR_BOOKS',
  'WEIR_PROBE',
  'KV_weir_config',
  'KV_weir_secrets',
  'KV_weir_heads',
  'KV_weir_claims',
  'KV_weir_idempotency',
  'KV_weir_books',
  'KV_weir_replays',
  'KV_weir_behind',
  'KV_weir_trials',
  'KV_weir_key_use',
  'KV_weir_sessions',
  'KV_weir_feeds',
]

const subjects = [
  'weir.records.eu.node-1',
  'weir.records.weir.resent',
  'weir.decide',
  'weir.decide.agent',
  'weir.abuse.decide',
  'weir.audit.domain.created',
  'weir.events.audit.ac_1',
  'weir.events.operator.ac_1.dead_letters',
  'weir.deliveries.ed_1',
  'weir.deliveries.ed_1.shared',
  'weir.books',
  'weir.deadletter.records',
  'weir.deadletter.audit',
  'weir.deadletter.events',
  'weir.deadletter.removed.7',
  'weir.status.destination',
  'weir.status.attempts',
  'weir.status.states',
  'weir.api.usage',
  'weir.log.decisions',
  'weir.log.deliveries',
  'weir.live.watched',
  'weir.live.decisions',
  'weir.live.deliveries',
  'weir.live.consumers',
  'weir.live.roles',
  'weir.probe.api',
  'weir.probe.pipeline',
  'weir.probe.deliver',
  'events.ac_1.traffic',
  ...streams.flatMap((stream) => (stream.startsWith('KV_') ? [`$KV.${stream.slice(3)}.key`] : [])),
]

const everySubject = new Set([
  '$JS.API.INFO',
  ...streams.flatMap((stream) => Object.values(callsOn(stream)).flat()),
  ...general,
  ...subjects,
])

// --- who needs what ---

interface Needs {
  readonly calls: Readonly<Record<string, readonly Call[]>>
  readonly publish: readonly string[]
  readonly hear: readonly string[]
}

const kept: readonly Call[] = ['info', 'make', 'purge', 'get', 'remove', 'read along']
const books: Needs['calls'] = {
  WEIR_BOOKS: ['info', 'purge', 'remove', 'read along'],
  WEIR_PROBE: ['info', 'make', 'get', 'remove', 'drop'],
  KV_weir_books: ['info', 'get', 'remove', 'read along'],
}
const looked = Object.fromEntries(
  ['WEIR_RECORDS', 'WEIR_DELIVERIES', 'WEIR_DEADLETTER', 'WEIR_AUDIT', 'WEIR_AUDIT_IN'].map((stream) => [
    stream,
    ['info'] as Call[],
  ]),
)
const input: readonly Call[] = ['info', 'get', 'consume', 'remove']

const needs: Readonly<Record<string, Needs>> = {
  api: {
    calls: {
      ...Object.fromEntries(Object.keys(looked).map((stream) => [stream, ['info', 'make', 'remove']])),
      WEIR_PROBE: books['WEIR_PROBE']!,
      WEIR_RECORDS: ['info', 'make', 'get', 'direct', 'remove', 'ask for the consumer'],
      WEIR_DEADLETTER: ['info', 'make', 'get', 'direct', 'remove'],
      WEIR_AUDIT: ['info', 'make', 'get', 'remove'],
      WEIR_DELIVERIES: ['info', 'make', 'direct', 'remove', 'ask for consumers'],
      KV_weir_config: kept,
      KV_weir_secrets: kept,
      KV_weir_heads: kept,
      KV_weir_claims: kept,
      KV_weir_idempotency: kept,
      WEIR_BOOKS: ['info', 'make', 'purge', 'remove', 'read along'],
      KV_weir_books: ['info', 'make', 'get', 'remove', 'read along'],
      KV_weir_replays: ['info', 'make', 'get', 'remove', 'read along'],
      KV_weir_behind: ['info', 'make', 'get', 'read along'],
      KV_weir_trials: ['info', 'make', 'get', 'remove', 'read along'],
      KV_weir_key_use: ['info', 'make', 'get', 'remove', 'read along'],
      KV_weir_sessions: ['info', 'make', 'get', 'remove', 'read along'],
      KV_weir_feeds: ['info', 'make', 'get', 'remove', 'read along'],
    },
    publish: [
      'weir.events.audit.ac_1',
      'weir.events.operator.ac_1.dead_letters',
      'weir.records.weir.resent',
      'weir.deadletter.removed.7',
      'weir.audit.domain.created',
      'weir.deliveries.ed_1',
      'weir.books',
      'weir.status.destination',
      'weir.status.attempts',
      'weir.status.states',
      'weir.live.roles',
      'weir.api.usage',
      'weir.live.watched',
      'weir.probe.api',
      'events.ac_1.traffic',
      ...subjects.filter((subject) => subject.startsWith('$KV.') && subject !== '$KV.weir_behind.key'),
      ...replies,
    ],
    hear: [
      'weir.abuse.decide',
      'weir.live.roles',
      'weir.api.usage',
      'weir.log.decisions',
      'weir.live.decisions',
      'weir.live.deliveries',
      'weir.deadletter.records',
      'weir.deadletter.audit',
      'weir.deadletter.events',
      '_INBOX.api.x',
    ],
  },
  pipeline: {
    calls: {
      ...looked,
      ...books,
      WEIR_RECORDS: ['info', 'get', 'consume any', 'remove'],
      WEIR_AUDIT: input,
      WEIR_AUDIT_IN: input,
      WEIR_DELIVERIES: ['info', 'direct', 'remove', 'purge', 'ask for consumers', 'drop consumers'],
      KV_weir_config: ['info', 'get', 'read along'],
      KV_weir_replays: ['info', 'get', 'remove', 'read along'],
      KV_weir_behind: ['info', 'get', 'remove', 'read along'],
      KV_weir_key_use: ['info'],
    },
    publish: [
      'weir.deliveries.ed_1',
      'weir.deliveries.ed_1.shared',
      'weir.live.consumers',
      'weir.live.roles',
      // A deliverer of an older version answers this alone.
      'weir.status.destination',
      'weir.books',
      'weir.deadletter.records',
      'weir.deadletter.audit',
      'weir.log.decisions',
      'weir.log.failures',
      'weir.live.decisions',
      '$KV.weir_books.key',
      '$KV.weir_replays.key',
      '$KV.weir_behind.key',
      '$KV.weir_key_use.key',
      'weir.probe.pipeline',
      ...replies,
    ],
    hear: [
      'weir.decide',
      'weir.decide.agent',
      'weir.live.watched',
      'weir.live.consumers',
      'weir.live.roles',
      '_INBOX.pipeline.x',
    ],
  },
  deliver: {
    calls: {
      ...looked,
      ...books,
      WEIR_DELIVERIES: ['info', 'direct', 'purge', 'remove', 'consume any'],
      KV_weir_config: ['info', 'get', 'read along'],
      KV_weir_secrets: ['info', 'get', 'read along'],
    },
    publish: [
      // Packs that their destination can't take are moved to its own consumer.
      'weir.deliveries.ed_1',
      'weir.live.consumers',
      'weir.live.roles',
      'weir.books',
      'weir.deadletter.events',
      'weir.log.deliveries',
      'weir.live.deliveries',
      'events.ac_1.traffic',
      '$KV.weir_books.key',
      'weir.probe.deliver',
      ...replies,
    ],
    hear: [
      'weir.status.destination',
      'weir.status.attempts',
      'weir.status.states',
      'weir.live.watched',
      'weir.live.consumers',
      'weir.live.roles',
      '_INBOX.deliver.x',
    ],
  },
  trial: {
    calls: { WEIR_RECORDS: ['info', 'direct'], KV_weir_config: ['info', 'get', 'read along'] },
    publish: [],
    hear: ['_INBOX.trial.x'],
  },
  ingress: {
    calls: {},
    publish: ['weir.records.eu.node-1', 'weir.records.weir.resent', 'weir.decide'],
    hear: ['_INBOX.x'],
  },
  tunnels: { calls: {}, publish: ['weir.decide.agent'], hear: ['_INBOX.x'] },
  operator: { calls: {}, publish: ['weir.abuse.decide'], hear: ['_INBOX.x'] },
  services: { calls: {}, publish: ['weir.audit.domain.created'], hear: ['_INBOX.x'] },
}

const roles = ['api', 'pipeline', 'deliver', 'trial']
const heard = [
  ...subjects,
  '>',
  'weir.>',
  '$KV.>',
  '$JS.>',
  '$SYS.>',
  '_INBOX.x',
  ...roles.map((role) => `_INBOX.${role}.x`),
]

function mayPublish({ calls, publish }: Needs, isRole: boolean): Set<string> {
  const may = new Set([...publish, ...(isRole ? ['$JS.API.INFO'] : [])])
  for (const [stream, allowed] of Object.entries(calls)) {
    const on = callsOn(stream)
    for (const call of allowed) for (const subject of on[call]) may.add(subject)
  }
  return may
}

// --- the server ---

let server: NatsServer
let admin: Nats
const dataDir = tempDir(t)

const keptServer = () => readServerRecord(join(dataDir, 'nats'))!

const silent = () => createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() })

t.before(async () => {
  const occurrences = silent()
  const options = { executable: localNatsServer(), dataDir, port: 0, access: natsAccess() }
  server = await openNatsServer({ ...options, storageMaxBytes: 64 * mebibyte, occurrences })
  admin = await openNats({ servers: [server.urlOf('admin')], name: 'test', replicas: 1 })
  await ensureStreams(admin, { storageMaxBytes: 16 * mebibyte, retentionMs: 60 * 60_000 })
  await openBuckets(admin, mebibyte)
  await admin.openBucket('weir_books', mebibyte)
  await admin.openBucket('weir_replays', mebibyte)
  await admin.openBucket('weir_trials', mebibyte)
  await admin.openBucket('weir_key_use', mebibyte)
  await admin.openBucket('weir_sessions', mebibyte)
  await admin.openBucket('weir_feeds', mebibyte)
})

t.teardown(async () => {
  await admin.close()
  await server.close()
})

interface Connected {
  readonly connection: NatsConnection
  /** Resolves with the subjects that the server refused until now. */
  refused(): Promise<Set<string>>
}

async function connectAs(t: Test, user: string, inboxPrefix?: string, on = server): Promise<Connected> {
  const { port, password } = new URL(on.urlOf(user))
  const prefix = inboxPrefix === undefined ? {} : { inboxPrefix }
  const connection = await connect({ port: Number(port), user, pass: password, ...prefix })
  t.teardown(() => connection.close())
  const found = new Set<string>()
  void (async () => {
    for await (const status of connection.status()) {
      const [, subject] = (status.type === 'error' && /"(\S+)"/.exec(status.error.message)) || []
      if (subject !== undefined) found.add(subject)
    }
  })()
  return {
    connection,
    refused: async () => {
      await connection.flush()
      // The errors arrived before the answer, and are read by now or in the next turn.
      await new Promise((resolve) => setImmediate(resolve))
      return found
    },
  }
}

t.test('every user against every call', async (t) => {
  t.strictSame([...roles, 'ingress', 'tunnels', 'operator', 'services'], Object.keys(needs))
  for (const [user, need] of Object.entries(needs)) {
    const { connection, refused } = await connectAs(t, user)
    const may = mayPublish(need, roles.includes(user))
    const asked = [...everySubject]
    // Not a question: a stream is neither purged nor made by a request that can't be read.
    for (const subject of asked) connection.publish(subject, '{')
    const denied = await refused()
    const allowed = asked.filter((subject) => !denied.has(subject))
    t.strictSame(
      allowed,
      asked.filter((subject) => may.has(subject)),
      `${user} publishes`,
    )
  }
})

t.test('every user against every call, with four partitions', async (t) => {
  const options = { executable: localNatsServer(), dataDir: tempDir(t), port: 0, access: natsAccess(4) }
  const spread = await openNatsServer({ ...options, storageMaxBytes: 64 * mebibyte, occurrences: silent() })
  t.teardown(() => spread.close())
  const added = partitionsUpTo(4).slice(1)
  const twins = added.flatMap(({ recordsStream, deliveriesStream }) => [
    ['WEIR_RECORDS', recordsStream] as const,
    ['WEIR_DELIVERIES', deliveriesStream] as const,
  ])
  const infos = streamsOf(partitionsUpTo(partitionsMax)).flatMap((stream) => callsOn(stream).info)
  const records = ['weir.records.weir.resent', 'weir.records.weir.probe-1', 'weir.records.eu.node-1']
  // The server refuses a record under the subject to which it is mapped.
  const mapped = (subject: string): string => {
    const [weir, input, region, node, ...rest] = subject.split('.')
    const isMapped = `${weir}.${input}` === 'weir.records' && node !== undefined && rest.length === 0
    return isMapped ? `${subject}.${recordsPartition(region!, node, 4)}` : subject
  }
  const asked = new Set([
    ...everySubject,
    ...twins.flatMap(([, stream]) => Object.values(callsOn(stream)).flat()),
    ...added.map((partition) => deliverySubject(partition, 'ed_1')),
    'weir.live.pipelines',
    ...records.flatMap((subject) => [subject, ...[0, 1, 2, 3].map((number) => `${subject}.${number}`)]),
    ...infos,
  ])
  for (const [user, { calls, publish, hear }] of Object.entries(needs)) {
    const { connection, refused } = await connectAs(t, user, undefined, spread)
    const more = twins.flatMap(([of, stream]) => (calls[of] === undefined ? [] : [[stream, calls[of]]]))
    const sends = publish.includes('weir.deliveries.ed_1')
    const isPublisher = user === 'ingress'
    const may = mayPublish(
      {
        calls: { ...calls, ...Object.fromEntries(more) },
        publish: [
          ...publish,
          ...(sends ? added.map((partition) => deliverySubject(partition, 'ed_1')) : []),
          ...(roles.includes(user) ? infos : []),
          ...(user === 'pipeline' ? ['weir.live.pipelines'] : []),
          // The API sends dead letters again, and looks where records get.
          ...[...asked].filter(
            (subject) =>
              (isPublisher && subject.startsWith('weir.records.')) ||
              (user === 'api' && subject.startsWith('weir.records.weir.')),
          ),
        ],
        hear,
      },
      roles.includes(user),
    )
    for (const subject of asked) connection.publish(subject, '{')
    const denied = await refused()
    t.strictSame(
      [...asked].filter((subject) => !denied.has(subject) && !denied.has(mapped(subject))),
      [...asked].filter((subject) => may.has(subject)),
      `${user} publishes`,
    )
  }
})

t.test('every user listens', async (t) => {
  for (const [user, { hear }] of Object.entries(needs)) {
    const { connection, refused } = await connectAs(t, user)
    for (const subject of heard) connection.subscribe(subject, { callback: () => {} })
    const denied = await refused()
    const isOutside = !roles.includes(user)
    const may = (subject: string) => hear.includes(subject) || (isOutside && subject.startsWith('_INBOX.'))
    t.strictSame(
      heard.filter((subject) => !denied.has(subject)),
      heard.filter(may),
      user,
    )
  }
})

t.test('a client of an outsider, without any configuration', async (t) => {
  const { connection: ingress } = await connectAs(t, 'ingress')
  const before = (await admin.streamInfo('WEIR_RECORDS'))!.state.messages
  const publish = () => jetstream(ingress).publish('weir.records.eu.node-1', '{}', { msgID: 'one' })
  t.match(await publish(), { stream: 'WEIR_RECORDS', duplicate: false }, 'a record is acknowledged')
  t.match(await publish(), { stream: 'WEIR_RECORDS', duplicate: true })
  t.equal((await admin.streamInfo('WEIR_RECORDS'))!.state.messages, before + 1)
  for (const [asked, by, of] of [
    ['weir.decide', 'ingress', 'pipeline'],
    ['weir.decide.agent', 'tunnels', 'pipeline'],
    ['weir.abuse.decide', 'operator', 'api'],
  ] as const) {
    const { connection: answering } = await connectAs(t, of, roleInboxPrefix(of))
    answering.subscribe(asked, { callback: (_, message) => void message.respond('allow') })
    await answering.flush()
    const { connection: asking } = await connectAs(t, by)
    t.equal((await asking.request(asked, '{}')).string(), 'allow', `${by} is answered on ${asked}`)
    await answering.close()
  }
})

t.test('what destinations get on this server is read in an account of its own', async (t) => {
  const { connection: events } = await connectAs(t, 'events')
  const before = (await admin.streamInfo('WEIR_DELIVERIES'))!.state.messages
  const manager = await jetstreamManager(events)
  await manager.streams.add({ name: 'TRAFFIC', subjects: ['events.>'], max_bytes: mebibyte })
  for (const by of ['deliver', 'api']) {
    const { connection } = await connectAs(t, by, roleInboxPrefix(by))
    const stored = await jetstream(connection).publish('events.ac_1.traffic', '{}', { msgID: by })
    t.match(stored, { stream: 'TRAFFIC', duplicate: false }, `its stream acknowledges what ${by} publishes`)
  }
  events.publish('weir.deliveries.ed_1', '{}')
  await events.flush()
  t.equal((await admin.streamInfo('WEIR_DELIVERIES'))!.state.messages, before, 'it reaches nothing of Weir')
  const streams: string[] = []
  for await (const name of manager.streams.names()) streams.push(name)
  t.strictSame(streams, ['TRAFFIC'], 'and sees nothing of it')
})

t.test('an API that may not exchange counts reports it once, and counts by itself', async (t) => {
  const refused: object[] = []
  const denied: object[] = []
  const natsError = (fields: object) => void denied.push(fields)
  const occurrences = {
    ...createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() }),
    natsError,
  }
  const nats = await openNats({
    servers: [server.urlOf('pipeline')],
    name: 'test',
    replicas: 1,
    inboxPrefix: roleInboxPrefix('pipeline'),
    occurrences,
  })
  t.teardown(() => nats.close())
  const usage = new Usage(1)
  const exchanging = exchangeUsage(nats, usage, {
    usageMessageIgnored: (fields) => t.fail(JSON.stringify(fields)),
    usageUnshared: (fields) => void refused.push(fields),
  })
  await until('it is reported', () => refused.length > 0)
  t.match(refused, [{ reason: /Subscription to "weir\.api\.usage"/ }])
  t.equal(usage.requests.take('ac_1'), undefined)
  t.equal(usage.requests.take('ac_1'), 60)
  await exchanging.close()
  await nats.flush()
  await until('NATS reported it', () => denied.length > 0)
  t.equal(denied.length, 1, 'nothing was published')
})

t.test('a reply subject does not lend the rights of the one who answers', async (t) => {
  const config = (await admin.findBucket('weir_config'))!
  await config.put('one', '1')
  const { connection: pipeline } = await connectAs(t, 'pipeline', roleInboxPrefix('pipeline'))
  const replies: (string | undefined)[] = []
  pipeline.subscribe('weir.decide', {
    callback: (_, message) => {
      replies.push(message.reply)
      message.respond('{"seq":1000}')
    },
  })
  await pipeline.flush()
  const before = { position: await config.position(), keys: await config.keys('>') }
  const victims = ['$KV.weir_config.forged', '$JS.API.STREAM.PURGE.KV_weir_config', '$KV.weir_secrets.forged']
  const { connection: ingress } = await connectAs(t, 'ingress')
  for (const reply of victims) {
    ingress.publish('weir.records.eu.node-1', '{}', { reply })
    ingress.publish('weir.decide', '{}', { reply })
  }
  const { connection: services } = await connectAs(t, 'services')
  for (const reply of victims) services.publish('weir.audit.domain.created', '{}', { reply })
  await until('all is answered', () => replies.length === victims.length)
  // Behind all that the server and the pipeline answered.
  for (const connection of [pipeline, ingress, services]) await connection.flush()
  await jetstream(ingress).publish('weir.records.eu.node-1', '{}')
  t.strictSame({ position: await config.position(), keys: await config.keys('>') }, before)
})

t.test('a wildcard as reply subject does no harm', async (t) => {
  const version = String((await readGreeting(server.port))?.version)
  const reason = `skipped: nats-server ${version} has #3862 and crashes on such a message`
  return t.test('of every user outside', { skip: crashesOnWildcardReply(version) && reason }, hostile)
})

async function hostile(t: Test): Promise<void> {
  const config = (await admin.findBucket('weir_config'))!
  const { connection: pipeline } = await connectAs(t, 'pipeline', roleInboxPrefix('pipeline'))
  let asked = 0
  const callback = (_: Error | null, message: Msg) => {
    asked += 1
    message.respond('allow')
  }
  for (const subject of ['weir.decide', 'weir.decide.agent']) pipeline.subscribe(subject, { callback })
  const { connection: api } = await connectAs(t, 'api', roleInboxPrefix('api'))
  api.subscribe('weir.abuse.decide', { callback })
  for (const connection of [pipeline, api]) await connection.flush()
  const { pid } = keptServer()
  const before = { position: await config.position(), keys: await config.keys('>') }
  const outside = Object.entries(needs).filter(([user]) => !roles.includes(user))
  for (const [user, { publish }] of outside) {
    for (const subject of publish)
      for (const reply of hostileReplies) await publishHostile(server.urlOf(user), subject, reply)
  }
  for (const connection of [pipeline, api]) await connection.flush()
  const { connection: ingress } = await connectAs(t, 'ingress')
  t.match(await jetstream(ingress).publish('weir.records.eu.node-1', '{}'), { stream: 'WEIR_RECORDS' })
  const askedBefore = asked
  t.equal((await ingress.request('weir.decide', '{}')).string(), 'allow', 'a good request is answered')
  t.equal(asked, askedBefore + 1)
  t.ok(server.isUp())
  t.equal(keptServer().pid, pid, 'the server is the same')
  t.strictSame({ position: await config.position(), keys: await config.keys('>') }, before)
}

t.test('no user receives the answers to others', async (t) => {
  const { connection: ingress } = await connectAs(t, 'ingress')
  const heardSubjects: string[] = []
  for (const subject of ['_INBOX.>', '_INBOX.*.*', '_INBOX.*.>'])
    ingress.subscribe(subject, { callback: (_, { subject: at }) => void heardSubjects.push(at) })
  await ingress.flush()
  const { connection: api } = await connectAs(t, 'admin')
  for (const subject of ['_INBOX.api.x', '_INBOX.x.y', '_INBOX.deliver.x.y']) api.publish(subject, 'secret')
  await api.flush()
  await ingress.flush()
  t.strictSame(heardSubjects, [])
})
