/** The permissions of Weir's roles on NATS: the calls that each makes. Only the API creates streams and buckets. */
import { streamOf } from '../../ground/nats/bucket-stream.js'
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
  deliveryRowsSubject,
  eventSubjects,
  failureRowsSubject,
  inputConsumer,
  keyUseBucket,
  ledgerStream,
  ledgerSubject,
  operatorSubjects,
  ownConsumersSubject,
  pipelinesSubject,
  probeStream,
  processesSubject,
  publishedRecordsSubject,
  removedLettersSubject,
  replaysBucket,
  resentRecordsSubject,
  rolesSubject,
  statusSubject,
  statusSubjects,
  storeProbeSubject,
  usageSubject,
  watchedDeliveriesSubject,
  watchedRowsSubject,
  watchedSubject,
} from '../wire/names.js'
import {
  deliverySubject,
  type Partition,
  partitionsMax,
  partitionsUpTo,
  probeSubject,
  sharedSubject,
  streamsOf,
  trafficStreams,
} from '../wire/partitions.js'
import {
  consume,
  consumerDelete,
  consumerInfo,
  follow,
  info,
  limits,
  makeStream,
  nextMessage,
  purge,
  readBucket,
  readMessage,
  removeMessage,
  removeStream,
  writeBucket,
} from './jetstream-calls.js'
import type { NatsUser } from './nats-access.js'

/** The books: the ledger, and its snapshots, which allow purging it. */
const keepBooks = [...follow(ledgerStream), purge(ledgerStream), ...writeBucket(booksBucket)]

/** Stores and reads probes, in a stream that the role makes again if it is out of service. */
const probe = (name: string): string[] => [
  ...makeStream(probeStream),
  removeStream(probeStream),
  removeMessage(probeStream),
  readMessage(probeStream),
  storeProbeSubject(name),
]

/** Removes the packs that wait for a deleted destination. */
const dropBacklog = (deliveries: readonly string[]): string[] =>
  deliveries.flatMap((stream) => [
    nextMessage(stream),
    consumerInfo(stream, '*'),
    consumerDelete(stream, '*'),
    purge(stream),
  ])

// --- users ---

/**
 * Subjects of replies: inboxes of users of the account, whose names can't be guessed, and the subjects by which the server
 * replaces inboxes of other accounts. The permission `allow_responses` would be narrower, but the server then notes the
 * reply subject of every message that the user receives, and looks through the notes at each message: with some thousands,
 * half a millisecond of its CPU.
 */
const replies = ['_INBOX.>', '_R_.>']

/** A trial is of the version of its API, which is heard. */
const amongRoles = (name: string): readonly string[] => (name === 'trial' ? [] : [rolesSubject])

/** A role of Weir: it receives only replies to its own requests, and the subjects it listens to. */
const role = (name: string, publish: readonly string[], listens: readonly string[]): NatsUser => ({
  name,
  permissions: {
    publish: { allow: [...new Set([limits, ...amongRoles(name), ...publish])] },
    subscribe: { allow: [...listens, ...amongRoles(name), `${roleInboxPrefix(name)}.>`] },
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

/** If there are several partitions, the server checks the permission for the subject to which a record is mapped. */
const mapped = (subject: string, { length }: readonly Partition[]): string[] =>
  length === 1 ? [subject] : [subject, `${subject}.*`]

/**
 * Streams that a role asks about, to find out whether there are more partitions than it knows: one alone has no others, and
 * its users ask about none.
 */
const allPartitions = (partitions: readonly Partition[]): string[] =>
  partitions.length === 1 ? [] : streamsOf(partitionsUpTo(partitionsMax)).map(info)

/** The names of the partitions' streams, and the subjects of their packs. */
interface Names {
  readonly partitions: readonly Partition[]
  readonly traffic: readonly string[]
  readonly records: readonly string[]
  readonly deliveries: readonly string[]
  readonly packs: readonly string[]
}

export function rolesFor(partitions: readonly Partition[]): readonly NatsUser[] {
  const names: Names = {
    partitions,
    traffic: trafficStreams(partitions),
    records: partitions.map(({ recordsStream }) => recordsStream),
    deliveries: partitions.map(({ deliveriesStream }) => deliveriesStream),
    packs: partitions.map((partition) => deliverySubject(partition, '*')),
  }
  return [api(names), pipeline(names), deliver(names), trial(names)]
}

const api = ({ partitions, traffic, records, deliveries, packs }: Names): NatsUser =>
  role(
    'api',
    [
      ...[...traffic, decisionLogStream].flatMap(makeStream),
      ...allPartitions(partitions),
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
      ...records.flatMap((stream) => [readMessage(stream), nextMessage(stream)]),
      readMessage(deadLetterStream),
      nextMessage(deadLetterStream),
      // Removing a message that was never stored shows whether a stream is in service.
      ...traffic.map(removeMessage),
      ...probe('api'),
      removedLettersSubject('*'),
      ...[resentRecordsSubject, publishedRecordsSubject].flatMap((subject) => mapped(subject, partitions)),
      ...(partitions.length === 1 ? [] : mapped(probeSubject('*'), partitions)),
      auditInSubjects,
      ...packs,
      ledgerSubject,
      ...deliveries.map(nextMessage),
      ...records.map((stream) => consumerInfo(stream, inputConsumer)),
      ...deliveries.map((stream) => consumerInfo(stream, '*')),
      statusSubjects,
      usageSubject,
      watchedSubject,
      // Test events.
      eventSubjects,
      ...replies,
    ],
    [
      abuseDecisionSubject,
      processesSubject,
      usageSubject,
      decisionRowsSubject,
      watchedRowsSubject,
      watchedDeliveriesSubject,
      deadRecordsSubject,
      deadEventsSubject,
      deadAuditsSubject,
    ],
  )

/** One partition is everyone's: pipelines need not know of each other. */
const amongPipelines = ({ length }: readonly Partition[]): readonly string[] =>
  length === 1 ? [] : [pipelinesSubject]

const pipeline = ({ partitions, traffic, records, deliveries, packs }: Names): NatsUser =>
  role(
    'pipeline',
    [
      ...traffic.map(info),
      ...allPartitions(partitions),
      ...readBucket(bucketNames.config),
      ...[replaysBucket, behindBucket].flatMap(writeBucket),
      ...[auditStream, auditInStream].flatMap((stream) => consume(stream, inputConsumer)),
      // Each replay has a consumer of its own.
      ...records.flatMap((stream) => consume(stream, '*')),
      ...[...records, auditStream, auditInStream].flatMap((stream) => [
        readMessage(stream),
        removeMessage(stream),
      ]),
      ...keepBooks,
      ...dropBacklog(deliveries),
      // `decide` notes the uses of API keys over HTTP, and of tunnel credentials.
      info(streamOf(keyUseBucket)),
      `$KV.${keyUseBucket}.>`,
      ...[...deliveries, ledgerStream].map(removeMessage),
      ...probe('pipeline'),
      ledgerSubject,
      ...packs,
      ...partitions.map((partition) => sharedSubject(partition, '*')),
      ownConsumersSubject,
      ...amongPipelines(partitions),
      // The question that deliverers of older versions answer.
      statusSubject,
      deadRecordsSubject,
      deadAuditsSubject,
      decisionRowsSubject,
      failureRowsSubject,
      watchedRowsSubject,
      ...replies,
    ],
    [
      connectionSubject,
      agentSubject,
      processesSubject,
      watchedSubject,
      ownConsumersSubject,
      ...amongPipelines(partitions),
    ],
  )

const deliver = ({ partitions, traffic, deliveries, packs }: Names): NatsUser =>
  role(
    'deliver',
    [
      ...traffic.map(info),
      ...allPartitions(partitions),
      ...readBucket(bucketNames.config),
      ...readBucket(bucketNames.secrets),
      ...deliveries.flatMap((stream) => consume(stream, '*')),
      ...keepBooks,
      ...dropBacklog(deliveries),
      ...[...deliveries, ledgerStream].map(removeMessage),
      ...probe('deliver'),
      ledgerSubject,
      // A pack that its destination can't take now is moved to the destination's own consumer.
      ...packs,
      ownConsumersSubject,
      deadEventsSubject,
      deliveryRowsSubject,
      watchedDeliveriesSubject,
      eventSubjects,
      ...replies,
    ],
    [statusSubjects, watchedSubject, ownConsumersSubject],
  )

/** A process of the API that evaluates a draft over recorded traffic: it changes nothing, consumers included. */
const trial = ({ partitions, records }: Names): NatsUser =>
  role(
    'trial',
    [
      ...records.flatMap((stream) => [info(stream), nextMessage(stream)]),
      ...allPartitions(partitions),
      ...readBucket(bucketNames.config),
    ],
    [],
  )
