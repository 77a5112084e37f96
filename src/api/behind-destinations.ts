/**
 * Destinations that are behind, as the API shows them: how many messages of records wait for each, and until when these
 * are kept. Measured by the API, so it is known also while no pipeline runs.
 */
import { every, isoMillis, now, type Timer } from '../core/clock.js'
import { removalStopShare } from '../core/limits.js'
import type { Level } from '../core/metrics.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { BehindStatus } from '../resource/delivery-status.js'
import { type BehindDestination, messagesWithin } from '../wire/behind.js'
import { BehindEntries } from '../wire/behind-entries.js'
import { behindBucket, recordsStream, recordsSubjects } from '../wire/names.js'

const measureEveryMs = 5_000
const nanosPerMs = 1e6

type RecordsReader = Pick<Nats, 'streamInfo' | 'nextMessage' | 'findBucket'>

interface BehindDeps {
  readonly nats: RecordsReader
  readonly occurrences: Occurrences
  /** The kind of a destination's target. */
  readonly targetOf: (destination: string) => string | undefined
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

/**
 * When a message of records will leave the stream: at the end of its age, or when the messages after it fill the room
 * that processed records always have, at the rate since it came. Infinity if neither happens.
 */
export function leavesAtMs(
  message: { readonly sequence: number; readonly storedAtMs: number },
  { bytes, bytesMax, messages, lastSequence, ageMaxMs }: KeptRecords,
  nowMs: number,
): number {
  const bytesSince = (bytes * (lastSequence + 1 - message.sequence)) / Math.max(1, messages)
  const bytesPerMs = bytesSince / Math.max(1, nowMs - message.storedAtMs)
  const bytesLeft = Math.max(0, bytesMax * removalStopShare - bytesSince)
  return Math.min(message.storedAtMs + ageMaxMs, nowMs + bytesLeft / bytesPerMs)
}

interface Measured {
  readonly destination: string
  readonly target: string
  readonly messages: number
  readonly leavesAtMs: number
}

export async function openBehindDestinations(deps: BehindDeps): Promise<BehindDestinations> {
  const bucket = await deps.nats.findBucket(behindBucket)
  if (bucket === undefined) throw new Error(`The bucket ${behindBucket} is missing.`)
  const entries = new BehindEntries(bucket)
  await entries.open()
  return new BehindDestinations(deps, entries)
}

export class BehindDestinations {
  readonly #deps: BehindDeps
  readonly #entries: BehindEntries
  readonly #timer: Timer
  #measured: readonly Measured[] = []

  constructor(deps: BehindDeps, entries: BehindEntries) {
    this.#deps = deps
    this.#entries = entries
    this.#timer = every(measureEveryMs, () => this.#measure())
    deps.occurrences.behindMessages(() => this.#levels(({ messages }) => messages))
    deps.occurrences.behindExpiry(() =>
      this.#levels(({ leavesAtMs }) => Math.max(0, leavesAtMs - now()) / 1000).filter(([, value]) =>
        Number.isFinite(value),
      ),
    )
  }

  /** Null if nothing waits for it. */
  async of(destination: string): Promise<BehindStatus | null> {
    const entry = this.#entries.of(destination)?.entry
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

  /** When the first message that waits will leave the stream. */
  async #leavesAtMs(entry: BehindDestination, records: KeptRecords): Promise<number> {
    const first = await this.#deps.nats.nextMessage(recordsStream, recordsSubjects, firstWaiting(entry))
    return first === undefined ? Number.POSITIVE_INFINITY : leavesAtMs(first, records, now())
  }

  // --- metrics ---

  #levels(of: (measured: Measured) => number): Level<'destination' | 'target'>[] {
    return this.#measured.map((each) => [{ destination: each.destination, target: each.target }, of(each)])
  }

  async #measure(): Promise<void> {
    try {
      this.#measured = this.#entries.size === 0 ? [] : await this.#measureAll()
    } catch {
      // The health of NATS is reported elsewhere; the next measurement tries again.
    }
  }

  /** Names the destinations whose messages leave first, and adds up the others. */
  async #measureAll(): Promise<Measured[]> {
    const { namedMax, targetOf } = this.#deps
    const records = await this.#records()
    if (records === undefined) return []
    const behind = [...this.#entries.all()]
      .map(({ entry }) => entry)
      .filter((entry) => waiting(entry, records) > 0)
      .sort((a, b) => firstWaiting(a) - firstWaiting(b))
    const measured: Measured[] = []
    for (const entry of behind.slice(0, namedMax)) {
      measured.push({
        destination: entry.destination_id,
        target: targetOf(entry.destination_id) ?? unknown,
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

  close(): void {
    this.#timer.stop()
    this.#entries.close()
  }
}

/** Labels of destinations that are not named, and of one that was deleted. */
const others = 'other'
const unknown = 'unknown'

const waiting = ({ windows, done }: BehindDestination, { lastSequence }: KeptRecords): number =>
  messagesWithin(windows, done, lastSequence)

const firstWaiting = ({ windows, done }: BehindDestination): number =>
  Math.max(done + 1, windows[0]?.[0] ?? 0)
