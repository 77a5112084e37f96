/**
 * The streams, and how they share the storage. Each stream has a limit and refuses messages beyond it: unprocessed work
 * is never removed to make room.
 */
import { sleep } from '../../ground/core/clock.js'
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { streamOf } from '../../ground/nats/bucket-stream.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { StreamOptions } from '../../ground/nats/streams.js'
import {
  apiBuckets,
  auditInStream,
  auditInSubjects,
  auditStream,
  auditSubject,
  behindBucket,
  booksBucket,
  bucketNames,
  deadLetterStream,
  deadLetterSubjects,
  decisionLogStream,
  decisionLogSubjects,
  ledgerStream,
  ledgerSubject,
  operatorSubjects,
  probeStream,
  replaysBucket,
  storeProbeSubject,
} from './names.js'
import {
  deliverySubjectsOf,
  type Partition,
  partitionBytesMin,
  partitionsUpTo,
  recordsSubjectsOf,
  streamsOf,
  trafficStreams,
} from './partitions.js'
import { partitionsToKeep, partitionsWithStreams } from './partitions-in-use.js'

/** Destinations that are behind: some thousands of them. */
const behindBytesMax = 8 * 1024 * 1024
/** The rest of its room is for the fetches of IP lists (`weir_feeds`). */
const behindShare = 3 / 4

interface StreamBounds {
  /** The limit of the dead letters, and of the records and the packs of all partitions together. */
  readonly storageMaxBytes: number
  readonly retentionMs: number
  /** How many; default: one. */
  readonly partitions?: number
}

const mebibyte = 1024 * 1024
const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The limit of small streams and buckets, reserved so that traffic that fills the storage never blocks a change. */
export const reservedBytes = (storageMaxBytes: number): number =>
  Math.floor(
    Math.min(
      1024 * mebibyte,
      // Thirteen small ones (two buckets share one of them), two of half that size and three large ones share the server's
      // storage: ten times `storageMaxBytes`.
      Math.max(storageMaxBytes / 8, Math.min(64 * mebibyte, storageMaxBytes / 2)),
    ),
  )

/**
 * How long audit and operator events can be looked up. With a short retention, an API that restarts on a busy machine would
 * otherwise find that what it has to announce is from too long ago.
 */
export const announcementsKeptMs = (retentionMs: number): number => Math.max(retentionMs, hourMs)

/** The limits of the two streams of each of so many partitions. */
const partitionBytes = (storageMaxBytes: number, count: number): number =>
  count === 1 ? storageMaxBytes : Math.max(partitionBytesMin, Math.floor(storageMaxBytes / count))

/** `existing`: partitions to make or to keep; new messages are spread over the first `partitions` of them. */
function streams(
  { storageMaxBytes, retentionMs, partitions = 1 }: StreamBounds,
  payloadBytesMax: number,
  existing: readonly Partition[],
): StreamOptions[] {
  const common = { ageMaxMs: retentionMs, duplicateWindowMs: 2 * minuteMs, discard: 'new' } as const
  const small = { ...common, retention: 'limits', bytesMax: reservedBytes(storageMaxBytes) } as const
  const large = { ...common, retention: 'limits', bytesMax: storageMaxBytes } as const
  const bytesOf = ({ number }: Partition): number =>
    // Nothing new gets into those that are only drained.
    partitionBytes(storageMaxBytes, number < partitions ? partitions : existing.length)
  const messageBytesMax = payloadBytesMax - payloadHeadroomBytes
  const isAlone = existing.length === 1
  return [
    {
      ...small,
      ageMaxMs: announcementsKeptMs(retentionMs),
      name: auditStream,
      subjects: [auditSubject('*'), operatorSubjects],
    },
    { ...small, name: auditInStream, subjects: [auditInSubjects], messageBytesMax },
    // Entries leave when a snapshot of the books holds them, and in an idle deployment that can take months.
    { ...small, name: ledgerStream, subjects: [ledgerSubject], ageMaxMs: 0 },
    { ...small, name: decisionLogStream, subjects: [decisionLogSubjects], retention: 'workqueue' },
    { ...large, name: deadLetterStream, subjects: [deadLetterSubjects] },
    ...existing.flatMap((partition): StreamOptions[] => [
      // A deliverer drops packs that are too old, and counts them: none may leave by itself.
      {
        ...common,
        bytesMax: bytesOf(partition),
        name: partition.deliveriesStream,
        subjects: deliverySubjectsOf(partition, isAlone),
        retention: 'workqueue',
        ageMaxMs: 0,
      },
      {
        ...common,
        retention: 'limits',
        bytesMax: bytesOf(partition),
        messageBytesMax,
        name: partition.recordsStream,
        subjects: recordsSubjectsOf(partition, isAlone),
        fastIngest: true,
      },
    ]),
  ]
}

/** Creates missing streams, and the bucket that belongs to the stream of records; resolves with the streams' names. */
export async function ensureStreams(nats: Nats, bounds: StreamBounds): Promise<string[]> {
  const made: string[] = []
  const behindRoomBytes = Math.floor(reservedBytes(bounds.storageMaxBytes) * behindShare)
  await nats.openBucket(behindBucket, Math.min(behindRoomBytes, behindBytesMax))
  const existing = partitionsUpTo(await partitionsToKeep(nats, bounds.partitions ?? 1))
  for (const options of streams(bounds, nats.payloadBytesMax, existing))
    if (await nats.ensureStream(options)) made.push(options.name)
  return made
}

/**
 * Creates missing streams. A deployment that was in use has lost these. That is reported at once, because the next
 * start finds them. Resolves with the loss as a sentence.
 */
export async function restoreStreams(
  nats: Nats,
  bounds: StreamBounds,
  isInUse: boolean,
  occurrences: Pick<Occurrences, 'natsStoreLost'>,
): Promise<string | undefined> {
  const made = await ensureStreams(nats, bounds)
  if (!isInUse || made.length === 0) return undefined
  const count = await partitionsWithStreams(nats, bounds.partitions ?? 1)
  const loss = lossOf(made, partitionsUpTo(count))
  if (loss !== undefined) occurrences.natsStoreLost({ loss })
  return loss
}

/**
 * Describes in a sentence what a deployment in use lost with its streams; undefined if nothing. Only for streams that
 * every version of Weir had: a stream that a newer version adds is missing at first, and nothing is lost. Nor is it with the
 * streams of partitions that are added: they come after all others.
 */
function lossOf(made: readonly string[], partitions: readonly Partition[]): string | undefined {
  const wasThere = (stream: string): boolean => !made.includes(stream)
  const last = Math.max(
    0,
    partitions.findLastIndex((partition) => streamsOf([partition]).some(wasThere)),
  )
  const known = partitions.slice(0, last + 1)
  const losses: readonly (readonly [loss: string, streams: readonly string[]])[] = [
    ['unprocessed records are gone', known.map(({ recordsStream }) => recordsStream)],
    ['undelivered events are gone', known.map(({ deliveriesStream }) => deliveriesStream)],
    ['the books begin again at zero', [ledgerStream]],
  ]
  const lost = losses.flatMap(([loss, names]) => (names.every(wasThere) ? [] : [loss]))
  return lost.length === 0 ? undefined : `NATS lost what it stored (${made.join(', ')}): ${lost.join('; ')}.`
}

const lookAgainMs = 500

/** Resolves once the stream exists; the API creates it. */
export async function whenStream(nats: Nats, name: string): Promise<void> {
  for (;;) {
    const info = await nats.streamInfo(name).catch(() => undefined)
    if (info !== undefined) return
    await sleep(lookAgainMs)
  }
}

/** Holds the last probe of each role. It has nothing to lose: a role that finds it out of service makes it again. */
export const probeStreamOptions: StreamOptions = {
  name: probeStream,
  subjects: [storeProbeSubject('*')],
  retention: 'limits',
  bytesMax: mebibyte,
  ageMaxMs: minuteMs,
  duplicateWindowMs: minuteMs,
  discard: 'old',
}

const configuration = streamOf(bucketNames.config)

export const neededByDecide = [configuration]

/**
 * The streams that each other role reads or writes. A role is ready while all of them answer `STREAM.INFO`, a request that
 * it may always make for its own streams.
 */
export const neededStreams = (partitions: readonly Partition[]) => ({
  /** The API creates all streams. */
  api: [
    ...trafficStreams(partitions),
    ...[...Object.values(bucketNames), booksBucket, replaysBucket, behindBucket].map(streamOf),
  ],
  pipeline: [
    configuration,
    streamOf(replaysBucket),
    streamOf(behindBucket),
    ...streamsOf(partitions),
    ...[auditStream, auditInStream, deadLetterStream, ledgerStream],
  ],
  deliver: [
    configuration,
    streamOf(bucketNames.secrets),
    ...partitions.map(({ deliveriesStream }) => deliveriesStream),
    ...[deadLetterStream, ledgerStream],
  ],
})

/**
 * The streams that each role writes, other than `WEIR_PROBE`: it is ready only while none of them is out of service. Not the
 * dead letters of pipelines and deliverers, which may not ask about them: a letter that is not stored shows it.
 */
export const writtenStreams = (partitions: readonly Partition[]) => ({
  api: [
    ...trafficStreams(partitions),
    ...[...Object.values(bucketNames), booksBucket, replaysBucket, ...apiBuckets].map(streamOf),
  ],
  pipeline: [
    ...streamsOf(partitions),
    ...[auditStream, auditInStream, ledgerStream],
    ...[booksBucket, replaysBucket, behindBucket].map(streamOf),
  ],
  deliver: [
    ...partitions.map(({ deliveriesStream }) => deliveriesStream),
    ledgerStream,
    streamOf(booksBucket),
  ],
})
