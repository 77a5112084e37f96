/**
 * Destinations that are behind, as the API shows them: how many messages of records wait for each, and until when these
 * are kept. Measured by the API, so it is known also while no pipeline runs.
 */
import { every, isoMillis, now, type Timer } from '../core/clock.js'
import { removalStopShare } from '../core/limits.js'
import type { Failing } from '../core/telemetry/health.js'
import type { Level } from '../core/telemetry/metrics.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { Row } from '../resource/define.js'
import { chosenTarget } from '../resource/destination-target.js'
import { keepsRecords } from '../resource/event-destination.js'
import type { BehindStatus } from '../shape/delivery-status.js'
import { type BehindDestination, type BehindEntries, firstWaiting, messagesWithin } from '../wire/behind.js'
import { recordsStream, recordsSubjects } from '../wire/names.js'

const measureEveryMs = 5_000
const nanosPerMs = 1e6

type RecordsReader = Pick<Nats, 'streamInfo' | 'nextMessage' | 'payloadBytesMax'>

interface BehindDeps {
  readonly nats: RecordsReader
  readonly entries: BehindEntries
  readonly occurrences: Occurrences
  readonly destinationOf: (id: string) => Row | undefined
  /** How many destinations the metrics name. */
  readonly namedMax: number
}

/** The stream of records. */
interface KeptRecords {
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
 * The time at which a message of records will leave the stream: at the end of its age, or when the messages since then fill their
 * room, `share` of the stream, at the rate since then. Infinity if neither happens.
 */
export function leavesAtMs(
  message: { readonly sequence: number; readonly storedAtMs: number },
  { bytes, bytesMax, messages, lastSequence, ageMaxMs }: KeptRecords,
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
    const entry = this.#deps.entries.of(destination)?.entry
    const records = entry && (await this.#records())
    if (entry === undefined || records === undefined) return null
    const messages = waiting(entry, records)
    if (messages === 0) return null
    const atMs = await this.#leavesAtMs(entry, records)
    const expires_at = Number.isFinite(atMs) ? isoMillis(Math.round(atMs)) : null
    return { since: entry.since, messages, missed: entry.missed, expires_at }
  }

  async #records(): Promise<KeptRecords | undefined> {
    const info = await this.#deps.nats.streamInfo(recordsStream)
    if (info === undefined) return undefined
    const { max_age, max_bytes } = info.config
    return {
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
    const first = await nats.nextMessage(recordsStream, recordsSubjects, firstWaiting(entry))
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
    const { namedMax, entries, destinationOf } = this.#deps
    const records = await this.#records()
    if (records === undefined) return []
    this.#failing = this.#blocked(records)
    const behind = [...entries.all()]
      .map(({ entry }) => entry)
      .filter((entry) => waiting(entry, records) > 0)
      .sort((a, b) => firstWaiting(a) - firstWaiting(b))
    const measured: Measured[] = []
    for (const entry of behind.slice(0, namedMax)) {
      measured.push({
        destination: entry.destination_id,
        target: targetOf(destinationOf(entry.destination_id)),
        messages: waiting(entry, records),
        leavesAtMs: await this.#leavesAtMs(entry, records),
      })
    }
    const [next, ...more] = behind.slice(namedMax)
    if (next === undefined) return measured
    const messages = [next, ...more].reduce((sum, entry) => sum + waiting(entry, records), 0)
    const rest = { destination: others, target: others, messages }
    return [...measured, { ...rest, leavesAtMs: await this.#leavesAtMs(next, records) }]
  }

  #blocked({ bytes, bytesMax }: KeptRecords): Failing {
    const { nats, entries, destinationOf } = this.#deps
    if (bytes + nats.payloadBytesMax <= bytesMax) return {}
    const blocking = [...entries.all()]
      .map(({ entry }) => entry.destination_id)
      .filter((id) => keepsRecords(destinationOf(id)))
    if (blocking.length === 0) return {}
    const shown = blocking.slice(0, blockingShownMax).join(', ')
    const msg = `${recordsStream} is full of records that are kept for destinations which are behind, with "on_expiry": "block": ${shown}. Repair or delete them, or set on_expiry to drop.`
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

const waiting = ({ windows, done }: BehindDestination, { lastSequence }: KeptRecords): number =>
  messagesWithin(windows, done, lastSequence)
