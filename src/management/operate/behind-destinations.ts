/**
 * Destinations that are behind, as the API shows them: how many messages of records wait for each, and until when these
 * are kept. Measured by the API, so it is known also while no pipeline runs.
 */

import {
  type BehindDestination,
  type BehindEntries,
  firstWaiting,
  messagesWithin,
  partitionOf,
} from '../../delivery/wire/behind.js'
import { type PartitionSet, recordsSubjects } from '../../delivery/wire/partitions.js'
import { every, isoMillis, now, type Timer } from '../../ground/core/clock.js'
import { removalStopShare } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import type { Level } from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { chosenTarget } from '../../words/resource/destination-target.js'
import { keepsRecords } from '../../words/resource/event-destination.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { BehindStatus } from '../../words/shape/delivery-status.js'

const measureEveryMs = 5_000
const nanosPerMs = 1e6

type RecordsReader = Pick<Nats, 'streamInfo' | 'nextMessage' | 'payloadBytesMax'>

interface BehindDeps {
  readonly nats: RecordsReader
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly entries: BehindEntries
  readonly occurrences: Occurrences
  readonly destinationOf: (id: string) => Row | undefined
  /** How many destinations the metrics name. */
  readonly namedMax: number
}

/** A partition's stream of records. */
interface KeptRecords {
  readonly stream: string
  readonly bytes: number
  readonly bytesMax: number
  readonly messages: number
  readonly lastSequence: number
  /** Infinity: their age does not matter. */
  readonly ageMaxMs: number
}

/** Processed records are removed to make room for new ones, but not below this part of the stream. */
const roomOfProcessed = removalStopShare

/**
 * The time at which a message of records will leave the stream: at the end of its age, or when the messages since then fill
 * their room, `share` of the stream, at the rate since then. Infinity if neither happens.
 */
export function leavesAtMs(
  message: { readonly sequence: number; readonly storedAtMs: number },
  { bytes, bytesMax, messages, lastSequence, ageMaxMs }: Omit<KeptRecords, 'stream'>,
  nowMs: number,
  share = roomOfProcessed,
): number {
  const bytesSince = (bytes * (lastSequence + 1 - message.sequence)) / Math.max(1, messages)
  const bytesPerMs = bytesSince / Math.max(1, nowMs - message.storedAtMs)
  const bytesLeft = Math.max(0, bytesMax * share - bytesSince)
  return Math.min(message.storedAtMs + ageMaxMs, nowMs + bytesLeft / bytesPerMs)
}

interface Measured {
  readonly destination: string
  readonly target: string
  readonly messages: number
  readonly leavesAtMs: number
}

export class BehindDestinations {
  readonly #deps: BehindDeps
  readonly #timer: Timer
  #measured: readonly Measured[] = []
  #failing: Failing = {}

  constructor(deps: BehindDeps) {
    this.#deps = deps
    this.#timer = every(measureEveryMs, () => this.measure())
    deps.occurrences.behindMessages(() => this.#levels(({ messages }) => messages))
    deps.occurrences.behindExpiry(() =>
      this.#levels(({ leavesAtMs }) => Math.max(0, leavesAtMs - now()) / 1000).filter(([, value]) =>
        Number.isFinite(value),
      ),
    )
  }

  /** Null if nothing waits for it. */
  async of(destination: string): Promise<BehindStatus | null> {
    const entries = this.#deps.entries.ofDestination(destination)
    if (entries.length === 0) return null
    const records = await this.#records()
    const measured = await this.#measureOne(destination, waitingOf(entries, records))
    if (measured.messages === 0) return null
    const expires_at = Number.isFinite(measured.leavesAtMs)
      ? isoMillis(Math.round(measured.leavesAtMs))
      : null
    const since = entries.map((entry) => entry.since).sort()[0]!
    const missed = entries.reduce((sum, entry) => sum + entry.missed, 0)
    return { since, messages: measured.messages, missed, expires_at }
  }

  /** By the number of the partition. */
  async #records(): Promise<ReadonlyMap<number, KeptRecords>> {
    const kept = new Map<number, KeptRecords>()
    for (const { number, recordsStream } of this.#deps.partitions.all) {
      const records = await this.#recordsIn(recordsStream)
      if (records !== undefined) kept.set(number, records)
    }
    return kept
  }

  async #recordsIn(stream: string): Promise<KeptRecords | undefined> {
    const info = await this.#deps.nats.streamInfo(stream)
    if (info === undefined) return undefined
    const { max_age, max_bytes } = info.config
    return {
      stream,
      bytes: info.state.bytes,
      bytesMax: max_bytes,
      messages: info.state.messages,
      lastSequence: info.state.last_seq,
      ageMaxMs: max_age === 0 ? Number.POSITIVE_INFINITY : max_age / nanosPerMs,
    }
  }

  /** The time at which the first message that waits will leave the stream. */
  async #leavesAtMs(entry: BehindDestination, records: KeptRecords): Promise<number> {
    const { nats, destinationOf } = this.#deps
    const first = await nats.nextMessage(records.stream, recordsSubjects, firstWaiting(entry))
    if (first === undefined) return Number.POSITIVE_INFINITY
    const share = keepsRecords(destinationOf(entry.destination_id)) ? 1 : roomOfProcessed
    return leavesAtMs(first, records, now(), share)
  }

  // --- metrics and health ---

  /** Publishes of records are refused, because records are kept for these destinations. */
  get failing(): Failing {
    return this.#failing
  }

  #levels(of: (measured: Measured) => number): Level<'destination' | 'target'>[] {
    return this.#measured.map((each) => [{ destination: each.destination, target: each.target }, of(each)])
  }

  async measure(): Promise<void> {
    if (this.#deps.entries.size === 0) this.#failing = {}
    try {
      this.#measured = this.#deps.entries.size === 0 ? [] : await this.#measureAll()
    } catch {
      // The health of NATS is reported elsewhere; the next measurement tries again.
    }
  }

  /** Names the destinations whose messages leave first, and adds up the others. */
  async #measureAll(): Promise<Measured[]> {
    const { namedMax, entries } = this.#deps
    const records = await this.#records()
    if (records.size === 0) return []
    this.#failing = this.#blocked([...records.values()])
    const byDestination = new Map<string, BehindDestination[]>()
    for (const { entry } of entries.all())
      getOrMake(byDestination, entry.destination_id, () => []).push(entry)
    const behind = [...byDestination]
      .map(([destination, all]) => [destination, waitingOf(all, records)] as const)
      .filter(([, waiting]) => waiting.length > 0)
      .sort(([, a], [, b]) => firstWaiting(a[0]!.entry) - firstWaiting(b[0]!.entry))
    const measured: Measured[] = []
    for (const [destination, waiting] of behind.slice(0, namedMax))
      measured.push(await this.#measureOne(destination, waiting))
    const rest = behind.slice(namedMax)
    const [next] = rest
    if (next === undefined) return measured
    const messages = rest.reduce((sum, [, waiting]) => sum + messagesOf(waiting), 0)
    const { leavesAtMs } = await this.#measureOne(...next)
    return [...measured, { destination: others, target: others, messages, leavesAtMs }]
  }

  async #measureOne(destination: string, waiting: readonly Waiting[]): Promise<Measured> {
    const leave = await Promise.all(waiting.map(({ entry, records }) => this.#leavesAtMs(entry, records)))
    return {
      destination,
      target: targetOf(this.#deps.destinationOf(destination)),
      messages: messagesOf(waiting),
      leavesAtMs: Math.min(...leave),
    }
  }

  #blocked(records: readonly KeptRecords[]): Failing {
    const { nats, entries, destinationOf } = this.#deps
    const full = records.filter(({ bytes, bytesMax }) => bytes + nats.payloadBytesMax > bytesMax)
    if (full.length === 0) return {}
    const blocking = [...entries.all()]
      .filter(({ entry }) => full.some(({ stream }) => stream === partitionOf(entry).recordsStream))
      .map(({ entry }) => entry.destination_id)
      .filter((id) => keepsRecords(destinationOf(id)))
    if (blocking.length === 0) return {}
    const shown = [...new Set(blocking)].slice(0, blockingShownMax).join(', ')
    const streams = full.map(({ stream }) => stream).join(', ')
    const msg = `${streams} ${full.length === 1 ? 'is' : 'are'} full of records that are kept for destinations which are behind, with "on_expiry": "block": ${shown}. Repair or delete them, or set on_expiry to drop.`
    return { on_expiry: msg }
  }

  close(): void {
    this.#timer.stop()
  }
}

const blockingShownMax = 5

/** Labels of destinations that are not named, and of one that was deleted. */
export const others = 'other'
const unknown = 'unknown'

export const targetOf = (row: Row | undefined): string =>
  row === undefined ? unknown : chosenTarget(row['target'] as never).kind

/** An entry for which messages wait, and their stream. */
interface Waiting {
  readonly entry: BehindDestination
  readonly records: KeptRecords
  readonly messages: number
}

function waitingOf(
  entries: readonly BehindDestination[],
  records: ReadonlyMap<number, KeptRecords>,
): Waiting[] {
  return entries.flatMap((entry) => {
    const own = records.get(entry.partition ?? 0)
    const messages = own === undefined ? 0 : messagesWithin(entry.windows, entry.done, own.lastSequence)
    return messages === 0 ? [] : [{ entry, records: own!, messages }]
  })
}

const messagesOf = (waiting: readonly Waiting[]): number =>
  waiting.reduce((sum, { messages }) => sum + messages, 0)
