/**
 * Who may do what on NATS. The local nats-server is set up from this table, and the block in `docker-compose.yml` is
 * the same one.
 *
 * Weir's own roles share the account WEIR, which holds the streams. Each has an allow-list of exactly the JetStream
 * calls it makes: only an API makes streams and buckets, and a role makes consumers only on what it reads. The
 * children of a pipeline connect as it does.
 *
 * Everyone else has an account of their own, into which nothing is imported but the subjects they publish on. The
 * permissions of a user do not bound the reply subject of a message, and the server itself answers to that: within
 * one account, a record published with the reply subject `$KV.weir_config.x` or `$JS.API.STREAM.PURGE.…` would write
 * configuration or purge it. An import replaces the reply subject by one of the server's own. For the same reason it
 * does no harm that such a user may listen on every inbox of its account, as clients do that nobody configured.
 */
import { streamOf } from '../nats/bucket-stream.js'
import {
  abuseDecisionSubject,
  agentSubject,
  auditInStream,
  auditInSubjects,
  auditStream,
  auditSubject,
  booksBucket,
  bucketNames,
  connectionSubject,
  deadAuditsSubject,
  deadEventsSubject,
  deadRecordsSubject,
  deliveriesStream,
  deliverySubject,
  inputConsumer,
  ledgerStream,
  ledgerSubject,
  recordsStream,
  recordsSubjects,
  statusSubject,
  trafficStreams,
  usageSubject,
} from '../wire/names.js'
import type { NatsAccess, NatsAccounts, NatsUser } from './nats-access.js'

const account = 'WEIR'

// --- the calls of the JetStream API ---

/** What the account may store; the client asks before it opens a bucket. */
const limits = '$JS.API.INFO'
const info = (stream: string): string => `$JS.API.STREAM.INFO.${stream}`
const purge = (stream: string): string => `$JS.API.STREAM.PURGE.${stream}`
const removeMessage = (stream: string): string => `$JS.API.STREAM.MSG.DELETE.${stream}`
/** From any server of the stream: the message after a sequence. */
const nextMessage = (stream: string): string => `$JS.API.DIRECT.GET.${stream}`
/** From the stream's leader. */
const readMessage = (stream: string): string => `$JS.API.STREAM.MSG.GET.${stream}`
const consumerInfo = (stream: string, consumer: string): string =>
  `$JS.API.CONSUMER.INFO.${stream}.${consumer}`
const consumerDelete = (stream: string, consumer: string): string =>
  `$JS.API.CONSUMER.DELETE.${stream}.${consumer}`

const makeStream = (stream: string): string[] => [
  info(stream),
  `$JS.API.STREAM.CREATE.${stream}`,
  `$JS.API.STREAM.UPDATE.${stream}`,
]

/** A durable consumer, made, pulled from and made again where it is ahead of its stream; `*`: one per destination. */
const consume = (stream: string, consumer: string): string[] => [
  info(stream),
  consumerInfo(stream, consumer),
  // The second form names the subject that the consumer filters by.
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}.>`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${consumer}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
  consumerDelete(stream, consumer),
  `$JS.ACK.${stream}.${consumer}.>`,
]

/** Reading along by consumers that the client names itself, in order and without acknowledgements. */
const follow = (stream: string): string[] => [
  info(stream),
  consumerInfo(stream, '*'),
  `$JS.API.CONSUMER.CREATE.${stream}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  consumerDelete(stream, '*'),
  `$JS.FC.${stream}.>`,
]

const readBucket = (bucket: string): string[] => [...follow(streamOf(bucket)), readMessage(streamOf(bucket))]

const writeBucket = (bucket: string): string[] => [
  ...readBucket(bucket),
  `$KV.${bucket}.>`,
  removeMessage(streamOf(bucket)),
]

/** The books: the ledger and the snapshots of it, which take its place. */
const keepBooks = [...follow(ledgerStream), purge(ledgerStream), ...writeBucket(booksBucket)]

/** What waits for a deleted destination. */
const dropBacklog = [
  nextMessage(deliveriesStream),
  consumerInfo(deliveriesStream, '*'),
  consumerDelete(deliveriesStream, '*'),
  purge(deliveriesStream),
]

// --- users ---

/** A role of Weir: it hears only the answers to its own questions, and the questions that it answers. */
const role = (name: string, publish: readonly string[], answers: readonly string[]): NatsUser => ({
  name,
  permissions: {
    publish: { allow: [...new Set([limits, ...publish])] },
    subscribe: { allow: [...answers, `${roleInboxPrefix(name)}.>`] },
    allow_responses: true,
  },
})

/** Where the answers to a role's own questions arrive. */
export const roleInboxPrefix = (name: string): string => `_INBOX.${name}`

/** The user that a role connects as. A pipeline that runs on its own starts a `decide` under its own user. */
export const natsUserOf = (name: string): string => (name === 'decide' ? 'pipeline' : name)

const stores = Object.values(bucketNames)

const roles: readonly NatsUser[] = [
  role(
    'api',
    [
      ...trafficStreams.flatMap(makeStream),
      ...[...stores, booksBucket].flatMap((bucket) => makeStream(streamOf(bucket))),
      ...stores.flatMap(writeBucket),
      ...stores.map((bucket) => purge(streamOf(bucket))),
      ...keepBooks,
      auditSubject('*'),
      readMessage(auditStream),
      nextMessage(deliveriesStream),
      consumerInfo(deliveriesStream, '*'),
      statusSubject,
      usageSubject,
    ],
    [abuseDecisionSubject, usageSubject],
  ),
  role(
    'pipeline',
    [
      ...trafficStreams.map(info),
      ...readBucket(bucketNames.config),
      ...[recordsStream, auditStream, auditInStream].flatMap((stream) => [
        ...consume(stream, inputConsumer),
        removeMessage(stream),
      ]),
      ...keepBooks,
      ...dropBacklog,
      removeMessage(deliveriesStream),
      ledgerSubject,
      deliverySubject('*'),
      deadRecordsSubject,
      deadAuditsSubject,
    ],
    [connectionSubject, agentSubject],
  ),
  role(
    'deliver',
    [
      ...trafficStreams.map(info),
      ...readBucket(bucketNames.config),
      ...readBucket(bucketNames.secrets),
      ...consume(deliveriesStream, '*'),
      ...keepBooks,
      ...dropBacklog,
      ledgerSubject,
      deadEventsSubject,
    ],
    [statusSubject],
  ),
]

/** For a person: backups, and looking at streams. No process of Weir connects as it. */
const admin: NatsUser = { name: 'admin' }

/** Everyone else, by what they publish on. */
const outside: Readonly<Record<string, readonly string[]>> = {
  ingress: [recordsSubjects, connectionSubject],
  // What accepts tunnels.
  tunnels: [agentSubject],
  // Tools that decide about abuse reports.
  operator: [abuseDecisionSubject],
  // Other services, which hand on their audit events.
  services: [auditInSubjects],
}

function accounts(): NatsAccounts {
  const users = Object.entries(outside)
  const imported = (subjects: readonly string[]) =>
    subjects.map((subject) => ({ service: { account, subject } }))
  const exportsTo = users.flatMap(([name, subjects]) => subjects.map((subject) => [subject, accountOf(name)]))
  const own = {
    jetstream: 'enabled' as const,
    users: [...roles, admin],
    exports: exportsTo.map(([service, to]) => ({ service: service!, accounts: [to!] })),
  }
  const others = users.map(([name, subjects]) => [
    accountOf(name),
    {
      users: [
        { name, permissions: { publish: { allow: subjects }, subscribe: { allow: ['_INBOX.>'] } } },
      ] satisfies NatsUser[],
      imports: imported(subjects),
    },
  ])
  return { [account]: own, ...Object.fromEntries(others) }
}

const accountOf = (user: string): string => user.toUpperCase()

export const natsAccess: NatsAccess = { accounts: accounts(), streamsOf: account }
