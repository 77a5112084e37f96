/**
 * Partitions: one JetStream stream has one leader, and fills one core of it. Records and packs are therefore spread over up
 * to 64 streams of each kind, and over the servers of a cluster. This file alone knows their names.
 *
 * - A record's partition follows from the node that published it. Ingress nodes publish on `weir.records.<region>.<node>`;
 *   the server appends the partition to the subject (`subjectMapping`), so that they change nothing. What no mapping
 *   reaches, because one is missing, gets into partition 0: nothing is ever lost for it.
 * - A pack's partition follows from its destination.
 * - Partition 0 has the names that Weir had before there were partitions. So an older deployment is one with this partition
 *   alone, and its books, windows and rows of the decision log stay true.
 *
 * `WEIR_PARTITIONS` says over how many partitions new messages are spread. If there are streams of further ones, they are
 * drained like the others: no process owns a partition, and none is moved.
 */

import { auditInStream, auditStream, deadLetterStream, ledgerStream } from './names.js'

/** The most partitions: names and permissions of each are made at the start. */
export const partitionsMax = 64

/** The name of a partition's records in the books. */
export type RecordsInput = 'records' | `records.${number}`

/** Are these records that came in, rather than events that are sent again or audit events? */
export const isRecordsInput = (input: string): input is RecordsInput =>
  input === 'records' || input.startsWith('records.')

/** A stream of records and one of packs. */
export interface Partition {
  /** 0…63. */
  readonly number: number
  /** Records. Ingress nodes publish, pipelines read. */
  readonly recordsStream: string
  readonly recordsInput: RecordsInput
  /**
   * Packs of events. Pipelines publish, and the API those of dead letters; deliverers read; the janitor of a pipeline
   * removes packs that none will read.
   */
  readonly deliveriesStream: string
}

const makePartition = (number: number): Partition => ({
  number,
  recordsStream: `WEIR_RECORDS${number === 0 ? '' : `_${number}`}`,
  recordsInput: number === 0 ? 'records' : `records.${number}`,
  deliveriesStream: `WEIR_DELIVERIES${number === 0 ? '' : `_${number}`}`,
})

const all: readonly Partition[] = Array.from({ length: partitionsMax }, (_, number) => makePartition(number))

/** The partitions 0 to `count` - 1. */
export const partitionsUpTo = (count: number): readonly Partition[] => all.slice(0, count)

/** The partition with this number, undefined for none. */
export const partitionNumbered = (number: number): Partition | undefined => all[number]

// --- records ---

const recordsHead = 'weir.records.'
/** All subjects of records, of each partition. */
export const recordsSubjects = `${recordsHead}>`

/** The subjects of a partition's records. `isAlone`: there are no other partitions. */
export function recordsSubjectsOf({ number }: Partition, isAlone: boolean): readonly string[] {
  if (number > 0) return [`${recordsHead}*.*.${number}`]
  return isAlone ? [recordsSubjects] : [`${recordsHead}*`, `${recordsHead}*.*`, `${recordsHead}*.*.0`]
}

/** The rules by which the server spreads records: `mappings` of the account that has the streams; none for one partition. */
export const subjectMappings = (count: number): Readonly<Record<string, string>> =>
  count === 1
    ? {}
    : { [`${recordsHead}*.*`]: `${recordsHead}{{wildcard(1)}}.{{wildcard(2)}}.{{partition(${count},1,2)}}` }

/** Where the API publishes empty messages to see in which stream they get: messages without records change nothing. */
export const probeSubject = (node: string): string => `${recordsHead}weir.${node}`

const mappedSubject = /^(weir\.records\.[^.]+\.[^.]+)\.\d{1,2}$/

/** The subject that a record was published on, from that of its stored message. */
export const publishedSubject = (subject: string): string => mappedSubject.exec(subject)?.[1] ?? subject

/** The partition of the records of a node, as the server computes it from both tokens: FNV-1a of 32 bits, as a remainder. */
export const recordsPartition = (region: string, node: string, count: number): number =>
  fnv1a(`${region}${node}`) % count

// --- packs ---

const deliveriesHead = 'weir.deliveries.'

/** The subjects of a partition's packs. `isAlone`: there are no other partitions. */
export function deliverySubjectsOf(partition: Partition, isAlone: boolean): readonly string[] {
  return isAlone ? [allPacks] : [deliverySubject(partition, '*'), sharedSubject(partition, '*')]
}

/** All subjects of packs, of each partition. */
export const allPacks = `${deliveriesHead}>`

/** The subject of the packs that a destination's own consumer delivers; `*`: those of all. */
export const deliverySubject = ({ number }: Partition, destinationId: string): string =>
  `${deliveriesHead}${destinationId}${number === 0 ? '' : `.${number}`}`

/** The consumer that idle destinations share, one on each stream of packs; the last token of the subjects that it reads. */
export const sharedConsumer = 'shared'

/** The subject of the packs of a destination that the shared consumer delivers; `*`: those of all. */
export const sharedSubject = (partition: Partition, destinationId: string): string =>
  `${deliverySubject(partition, destinationId)}.${sharedConsumer}`

/** Where packs of a destination wait in the stream of a partition. */
export interface PackPlace {
  readonly destination: string
  readonly subject: string
  /** Reads them: the destination's own, or the shared one. */
  readonly consumer: string
}

/** Both places of a destination's packs. */
export const packPlaces = (partition: Partition, destination: string): readonly PackPlace[] => [
  { destination, subject: deliverySubject(partition, destination), consumer: destination },
  { destination, subject: sharedSubject(partition, destination), consumer: sharedConsumer },
]

/** The place of packs with this subject. */
export function placeOfSubject(subject: string): PackPlace {
  const tokens = subject.slice(deliveriesHead.length).split('.')
  const destination = tokens[0]!
  return { destination, subject, consumer: tokens.at(-1) === sharedConsumer ? sharedConsumer : destination }
}

/** The streams of these partitions: records, then packs. */
export const streamsOf = (partitions: readonly Partition[]): readonly string[] =>
  partitions.flatMap(({ recordsStream, deliveriesStream }) => [recordsStream, deliveriesStream])

/** The streams that hold traffic; a full one refuses further messages. */
export const trafficStreams = (partitions: readonly Partition[]): readonly string[] => [
  ...streamsOf(partitions),
  deadLetterStream,
  auditStream,
  auditInStream,
  ledgerStream,
]

/** The partitions that a process works on. */
export interface PartitionSet {
  readonly all: readonly Partition[]
  /** Where new packs of a destination go. */
  homeOf(destinationId: string): Partition
}

/** Partition 0 alone. */
export const onePartition: PartitionSet = { all: all.slice(0, 1), homeOf: () => all[0]! }

/** How many partitions have a stream or both, by the names of all streams that there are. */
export const partitionsAmong = (streams: readonly string[]): number =>
  1 + all.findLastIndex((partition) => streamsOf([partition]).some((stream) => streams.includes(stream)))

/** Bytes that each stream of a partition may hold at least: some messages of the largest size. */
export const partitionBytesMin = 8 * 1024 * 1024

/** Where packs of a destination go while new messages are spread over `count` partitions. */
export const homeOf = (destinationId: string, count: number): Partition =>
  count === 1 ? all[0]! : all[fnv1a(destinationId) % count]!

/** http://www.isthe.com/chongo/tech/comp/fnv/: the hash of nats-server's `partition`. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}
