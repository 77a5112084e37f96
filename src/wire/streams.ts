/**
 * The streams, and how they share the storage. Each stream has a limit and refuses messages beyond it: unprocessed work
 * is never removed to make room.
 */
import { sleep } from '../core/clock.js'
import { payloadHeadroomBytes } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { StreamOptions } from '../nats/streams.js'
import {
  auditInStream,
  auditInSubjects,
  auditStream,
  auditSubject,
  deadLetterStream,
  deadLetterSubjects,
  deliveriesStream,
  deliverySubjects,
  ledgerStream,
  ledgerSubject,
  recordsStream,
  recordsSubjects,
} from './names.js'

interface StreamBounds {
  /** The limit of each of the three large streams. */
  readonly storageMaxBytes: number
  readonly retentionMs: number
  readonly payloadBytesMax: number
}

const mebibyte = 1024 * 1024
const minuteMs = 60_000

/** The limit of small streams and buckets, reserved so that traffic that fills the storage never blocks a change. */
export const reservedBytes = (storageMaxBytes: number): number =>
  Math.floor(
    Math.min(
      1024 * mebibyte,
      // Nine small ones and three large ones share the server's storage: eight times `storageMaxBytes`.
      Math.max(storageMaxBytes / 8, Math.min(64 * mebibyte, storageMaxBytes / 2)),
    ),
  )

function streams({ storageMaxBytes, retentionMs, payloadBytesMax }: StreamBounds): StreamOptions[] {
  const common = { ageMaxMs: retentionMs, duplicateWindowMs: 2 * minuteMs, discard: 'new' as const }
  const reserved = reservedBytes(storageMaxBytes)
  return [
    { ...common, name: auditStream, subjects: [auditSubject('*')], retention: 'limits', bytesMax: reserved },
    {
      ...common,
      name: auditInStream,
      subjects: [auditInSubjects],
      retention: 'limits',
      bytesMax: reserved,
      messageBytesMax: payloadBytesMax - payloadHeadroomBytes,
    },
    { ...common, name: ledgerStream, subjects: [ledgerSubject], retention: 'limits', bytesMax: reserved },
    {
      ...common,
      name: deadLetterStream,
      subjects: [deadLetterSubjects],
      retention: 'limits',
      bytesMax: storageMaxBytes,
    },
    {
      ...common,
      name: deliveriesStream,
      subjects: [deliverySubjects],
      retention: 'workqueue',
      bytesMax: storageMaxBytes,
    },
    {
      ...common,
      name: recordsStream,
      subjects: [recordsSubjects],
      retention: 'limits',
      bytesMax: storageMaxBytes,
      messageBytesMax: payloadBytesMax - payloadHeadroomBytes,
    },
  ]
}

/** Creates missing streams; resolves with their names. */
export async function ensureStreams(
  nats: Nats,
  bounds: Omit<StreamBounds, 'payloadBytesMax'>,
): Promise<string[]> {
  const made: string[] = []
  for (const options of streams({ ...bounds, payloadBytesMax: nats.payloadBytesMax }))
    if (await nats.ensureStream(options)) made.push(options.name)
  return made
}

/**
 * Creates missing streams. A deployment that was in use has lost these. That is reported at once, because the next
 * start finds them. Resolves with the loss as a sentence.
 */
export async function restoreStreams(
  nats: Nats,
  bounds: Omit<StreamBounds, 'payloadBytesMax'>,
  isInUse: boolean,
  occurrences: Pick<Occurrences, 'natsStoreLost'>,
): Promise<string | undefined> {
  const made = await ensureStreams(nats, bounds)
  const loss = isInUse ? lossOf(made) : undefined
  if (loss !== undefined) occurrences.natsStoreLost({ loss })
  return loss
}

/**
 * Describes in a sentence what a deployment in use lost with its streams; undefined if nothing. Only for streams that
 * every version of Weir had: a stream that a newer version adds is missing at first, and nothing is lost.
 */
function lossOf(made: readonly string[]): string | undefined {
  const losses = Object.entries(lostWith).flatMap(([name, loss]) => (made.includes(name) ? [loss] : []))
  if (losses.length === 0) return undefined
  return `NATS lost what it stored (${made.join(', ')}): ${losses.join('; ')}.`
}

const lostWith: Readonly<Record<string, string>> = {
  [recordsStream]: 'unprocessed records are gone',
  [deliveriesStream]: 'undelivered events are gone',
  [ledgerStream]: 'the books begin again at zero',
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
