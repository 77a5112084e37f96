/**
 * Permissions on NATS. The local nats-server is configured from this table, and `docker-compose.yml` has the same permissions.
 *
 * Weir's roles share the account WEIR, which holds the streams. Each role is allowed exactly the JetStream calls it
 * makes: only the API creates streams and buckets, and a role creates consumers only on streams it reads. The children
 * of a pipeline connect as the pipeline; a trial, which the API starts, has a user of its own.
 *
 * Every other user has a separate account, which imports only the subjects the user publishes on. The permissions of a user do not
 * restrict the reply subject of a message, and the server itself replies to it: within one account, a record published with the
 * reply subject `$KV.weir_config.x` or `$JS.API.STREAM.PURGE.…` would write configuration or purge it. An import replaces the reply
 * subject by a generated one. Therefore such a user may safely subscribe to every inbox of its account, which clients with default
 * settings need.
 *
 * The user `events` reads what destinations of the kind `nats` get here, and may do everything in an account of its own.
 */
import { streamOf } from '../nats/bucket-stream.js'
import {
  abuseDecisionSubject,
  agentSubject,
  apiBuckets,
  auditInStream,
  auditInSubjects,
  auditStream,
  auditSubject,
  behindBucket,
  booksBucket,
  bucketNames,
  connectionSubject,
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterStream,
  deadRecordsSubject,
  decisionLogConsumer,
  decisionLogStream,
  decisionRowsSubject,
  deliveriesStream,
  deliveryRowsSubject,
  deliverySubject,
  eventSubjects,
  failureRowsSubject,
  inputConsumer,
  keyUseBucket,
  ledgerStream,
  ledgerSubject,
  operatorSubjects,
  publishedRecordsSubject,
  recordsStream,
  recordsSubjects,
  removedLettersSubject,
  replaysBucket,
  resentRecordsSubject,
  statusSubjects,
  trafficStreams,
  usageSubject,
  watchedDeliveriesSubject,
  watchedRowsSubject,
  watchedSubject,
} from '../wire/names.js'
import type { NatsAccess, NatsAccounts, NatsUser } from './nats-access.js'

const account = 'WEIR'
const readers = 'EVENTS'

// --- the calls of the JetStream API ---

/** The limits of the account, which the client requests before it opens a bucket. */
const limits = '$JS.API.INFO'
const info = (stream: string): string => `$JS.API.STREAM.INFO.${stream}`
const purge = (stream: string): string => `$JS.API.STREAM.PURGE.${stream}`
const removeMessage = (stream: string): string => `$JS.API.STREAM.MSG.DELETE.${stream}`
/** Reads the message after a sequence, from any replica of the stream. */
const nextMessage = (stream: string): string => `$JS.API.DIRECT.GET.${stream}`
/** Reads a message from the stream's leader. */
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

/** A durable consumer: created, pulled from, recreated if it is ahead of its stream. `*`: one per destination or replay. */
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

/** Follows a stream with ordered consumers, which the client names itself and which don't acknowledge. */
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

/** The books: the ledger, and its snapshots, which allow purging it. */
const keepBooks = [...follow(ledgerStream), purge(ledgerStream), ...writeBucket(booksBucket)]

/** Removes the packs that wait for a deleted destination. */
const dropBacklog = [
  nextMessage(deliveriesStream),
  consumerInfo(deliveriesStream, '*'),
  consumerDelete(deliveriesStream, '*'),
  purge(deliveriesStream),
]

// --- users ---

/**
 * Subjects of replies: inboxes of users of the account, whose names can't be guessed, and the subjects by which the server replaces
 * inboxes of other accounts. The permission `allow_responses` would be narrower, but the server then notes the reply subject of every
 * message that the user receives, and looks through the notes at each message: with some thousands, half a millisecond of its CPU.
 */
const replies = ['_INBOX.>', '_R_.>']

/** A role of Weir: it receives only replies to its own requests, and the subjects it listens to. */
const role = (name: string, publish: readonly string[], listens: readonly string[]): NatsUser => ({
  name,
  permissions: {
    publish: { allow: [...new Set([limits, ...publish])] },
    subscribe: { allow: [...listens, `${roleInboxPrefix(name)}.>`] },
  },
})

/** Subject prefix for replies to a role's requests. */
export const roleInboxPrefix = (name: string): string => `_INBOX.${name}`

/**
 * The user of a role. The children of a pipeline have its user; so has the `decide` that a pipeline on its own starts.
 */
export const natsUserOf = (name: string): string =>
  name === 'decide' || name === 'quarantine' ? 'pipeline' : name

const stores = Object.values(bucketNames)

const roles: readonly NatsUser[] = [
  role(
    'api',
    [
      ...[...trafficStreams, decisionLogStream].flatMap(makeStream),
      ...consume(decisionLogStream, decisionLogConsumer),
      ...[...stores, booksBucket, replaysBucket, behindBucket, ...apiBuckets]
        .map(streamOf)
        .flatMap(makeStream),
      ...[...stores, replaysBucket, ...apiBuckets].flatMap(writeBucket),
      ...readBucket(behindBucket),
      ...stores.map((bucket) => purge(streamOf(bucket))),
      ...keepBooks,
      auditSubject('*'),
      operatorSubjects,
      readMessage(auditStream),
      readMessage(recordsStream),
      nextMessage(recordsStream),
      readMessage(deadLetterStream),
      nextMessage(deadLetterStream),
      removeMessage(deadLetterStream),
      removedLettersSubject('*'),
      resentRecordsSubject,
      publishedRecordsSubject,
      auditInSubjects,
      deliverySubject('*'),
      ledgerSubject,
      nextMessage(deliveriesStream),
      consumerInfo(recordsStream, inputConsumer),
      consumerInfo(deliveriesStream, '*'),
      statusSubjects,
      usageSubject,
      watchedSubject,
      // Test events.
      eventSubjects,
      ...replies,
    ],
    [
      abuseDecisionSubject,
      usageSubject,
      decisionRowsSubject,
      watchedRowsSubject,
      watchedDeliveriesSubject,
      deadRecordsSubject,
      deadEventsSubject,
      deadAuditsSubject,
    ],
  ),
  role(
    'pipeline',
    [
      ...trafficStreams.map(info),
      ...readBucket(bucketNames.config),
      ...[replaysBucket, behindBucket].flatMap(writeBucket),
      ...[auditStream, auditInStream].flatMap((stream) => consume(stream, inputConsumer)),
      // Each replay has a consumer of its own.
      ...consume(recordsStream, '*'),
      ...[recordsStream, auditStream, auditInStream].flatMap((stream) => [
        readMessage(stream),
        removeMessage(stream),
      ]),
      ...keepBooks,
      ...dropBacklog,
      // `decide` notes the uses of API keys over HTTP, and of tunnel credentials.
      info(streamOf(keyUseBucket)),
      `$KV.${keyUseBucket}.>`,
      removeMessage(deliveriesStream),
      ledgerSubject,
      deliverySubject('*'),
      deadRecordsSubject,
      deadAuditsSubject,
      decisionRowsSubject,
      failureRowsSubject,
      watchedRowsSubject,
      ...replies,
    ],
    [connectionSubject, agentSubject, watchedSubject],
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
      deliveryRowsSubject,
      watchedDeliveriesSubject,
      eventSubjects,
      ...replies,
    ],
    [statusSubjects, watchedSubject],
  ),
  // A process of the API that evaluates a draft over recorded traffic: it changes nothing, consumers included.
  role('trial', [info(recordsStream), nextMessage(recordsStream), ...readBucket(bucketNames.config)], []),
]

/** For people who make backups or inspect streams. No process of Weir uses it. */
const admin: NatsUser = { name: 'admin' }

/** For programs that read events: Weir's account imports from theirs the subjects it publishes on, and nothing else. */
const reader: NatsUser = { name: 'events' }

/** All other users, with the subjects they publish on. */
const outside: Readonly<Record<string, readonly string[]>> = {
  ingress: [recordsSubjects, connectionSubject],
  // Tunnel servers.
  tunnels: [agentSubject],
  // Tools that decide abuse reports.
  operator: [abuseDecisionSubject],
  // Other services, which pass on their audit events.
  services: [auditInSubjects],
}

function accounts(): NatsAccounts {
  const users = Object.entries(outside)
  const exports = users.flatMap(([name, subjects]) =>
    subjects.map((service) => ({ service, accounts: [accountOf(name)] })),
  )
  const others = users.map(([name, subjects]) => [
    accountOf(name),
    {
      users: [
        { name, permissions: { publish: { allow: subjects }, subscribe: { allow: ['_INBOX.>'] } } },
      ] satisfies NatsUser[],
      imports: subjects.map((subject) => ({ service: { account, subject } })),
    },
  ])
  const imports = [{ service: { account: readers, subject: eventSubjects } }]
  const taken = [{ service: eventSubjects, accounts: [account] }]
  return {
    [account]: { jetstream: 'enabled', users: [...roles, admin], exports, imports },
    ...Object.fromEntries(others),
    [readers]: { jetstream: 'enabled', users: [reader], exports: taken },
  }
}

const accountOf = (user: string): string => user.toUpperCase()

export const natsAccess: NatsAccess = { accounts: accounts(), streamsOf: account }
