/**
 * Start here: a trial evaluates a draft over recorded traffic, next to the configuration in force. It reads the stream
 * of records without a consumer, and stores nothing. A trial runs in a process of its own (`trial-child.ts`), which the
 * API starts (`trial-process.ts`), so that it delays neither. The room never knows the API or the pipeline.
 * When to take a trial, and when something else: docs/before-a-change.md.
 *
 *     messages since a time ▸ records of the account ▸ judged before and after ▸ counts, examples
 */

import { outsideOf, ownTimeOf } from '../../delivery/record/own-time.js'
import { type Line, parseLine, parseMessage } from '../../delivery/record/record.js'
import { recordBytes } from '../../delivery/record/record-encoding.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { historyOf } from '../../delivery/wire/names.js'
import { isoMillis, monotonicMs } from '../../ground/core/clock.js'
import { trialProgressMs } from '../../ground/core/limits.js'
import type { TrialTimes } from '../../words/shape/trial/times.js'
import type { Trial, TrialDecisions, TrialEvents } from '../../words/shape/trial.js'
import type { Endpoint } from '../evaluate/edges.js'
import type { PolicySet } from '../evaluate/policy-set.js'

/** A trial ends after this many records, bytes or milliseconds, other accounts' records included. */
const trialRecordsMax = 50_000_000
const trialBytesMax = 16 * 1024 ** 3
export const trialMsMax = 5 * 60_000
/** A result as JSON; it has fewer examples if they are too long. */
const trialResultBytesMax = 256 * 1024
export const trialExamplesMax = 10

/** A record of the account, and the endpoint that serves it at present. */
export interface OwnRecord {
  readonly record: TrafficRecord
  readonly endpoint: Endpoint
}

type Result = { readonly decisions: TrialDecisions } | { readonly events: TrialEvents }

/** Takes the records of the account one by one. */
export interface Examiner {
  add(record: OwnRecord, storedAtMs: number): void
  /** `readMs`: the length of the time that was read. */
  result(readMs: number): Result
}

export type TrialProgress = Trial['progress']

export interface TrialReport {
  readonly progress: TrialProgress
  readonly stoppedBy: Trial['stopped_by']
  readonly keptFrom: Trial['kept_from']
  readonly times: TrialTimes
  readonly result: Result
}

/** A message of records. */
interface RecordMessage {
  readonly data: Uint8Array
  readonly headers?: { get(name: string): string } | undefined
  readonly storedAtMs: number
}

interface TrialOptions {
  readonly accountId: string
  readonly untilMs: number
  /**
   * Set: records of this time or later, by their own times, those of the past included. Else records of now, as they were
   * stored.
   */
  readonly ownSinceMs?: number | undefined
  /** Finds the edges of records: those that another account has, or had, are never shown, whatever a draft says. */
  readonly policySet: PolicySet
  readonly examiner: Examiner
  readonly messages: AsyncIterable<RecordMessage>
  /** How many of them there are, about. */
  readonly messageCount: number
  /** When the oldest message that is kept was stored; undefined if there is none. */
  readonly keptFromMs: number | undefined
  readonly progressed: (progress: TrialProgress) => void
  /** Default: those of every trial. */
  readonly limits?: Partial<TrialLimits>
}

interface TrialLimits {
  readonly recordsMax: number
  readonly bytesMax: number
  readonly msMax: number
}

const limitsOfAll: TrialLimits = { recordsMax: trialRecordsMax, bytesMax: trialBytesMax, msMax: trialMsMax }

/** Examines messages until they end, or a limit is reached. */
export async function runTrial(options: TrialOptions): Promise<TrialReport> {
  const { messages, untilMs, examiner, progressed, keptFromMs } = options
  const reading = new Reading(options)
  let reportedMs = monotonicMs()
  for await (const message of messages) {
    if (message.storedAtMs > untilMs) break
    reading.messages += 1
    if (options.ownSinceMs === undefined && historyOf(message.headers) !== undefined) continue
    const decoded = await recordBytes({ headers: undefined, ...message })
    reading.add(message.storedAtMs, decoded.ok ? decoded.value : new Uint8Array())
    if (reading.stoppedBy !== null) break
    if (monotonicMs() - reportedMs < trialProgressMs) continue
    reportedMs = monotonicMs()
    progressed(reading.progress)
  }
  const { stoppedBy, times, readMs } = reading
  const progress = stoppedBy === null ? { ...reading.progress, share: 1 } : reading.progress
  const keptFrom = keptFromMs === undefined ? null : isoMillis(keptFromMs)
  return { progress, stoppedBy, keptFrom, times, result: shortened(examiner.result(readMs)) }
}

class Reading {
  /** All that were taken, those that were left out included. */
  messages = 0
  readonly #options: TrialOptions
  readonly #limits: TrialLimits
  readonly #startMs = monotonicMs()
  /** Records and bytes of the account. */
  #ownRecords = 0
  #ownBytes = 0
  /** Records and bytes of all accounts, which determine the cost of reading. */
  #records = 0
  #bytes = 0
  #firstMs = 0
  #lastMs = 0
  /** By the time that the trial goes by. */
  readonly #tried = { firstMs: Number.POSITIVE_INFINITY, lastMs: Number.NEGATIVE_INFINITY }
  readonly #counted = { no_time: 0, past: 0, ahead: 0, left_out: 0 }

  constructor(options: TrialOptions) {
    this.#options = options
    this.#limits = { ...limitsOfAll, ...options.limits }
  }

  get progress(): TrialProgress {
    const at = this.#lastMs === 0 ? null : isoMillis(this.#lastMs)
    const share = Math.min(1, this.messages / Math.max(1, this.#options.messageCount))
    return { records: this.#ownRecords, bytes: this.#ownBytes, at, share }
  }

  get times(): TrialTimes {
    const { firstMs, lastMs } = this.#tried
    const isNone = firstMs > lastMs
    return {
      first: isNone ? null : isoMillis(firstMs),
      last: isNone ? null : isoMillis(lastMs),
      ...this.#counted,
    }
  }

  get stoppedBy(): TrialReport['stoppedBy'] {
    if (this.#records >= this.#limits.recordsMax) return 'records'
    if (this.#bytes >= this.#limits.bytesMax) return 'bytes'
    return monotonicMs() - this.#startMs >= this.#limits.msMax ? 'time' : null
  }

  /** From the first record that was read: earlier ones may be gone. */
  get readMs(): number {
    const { untilMs, ownSinceMs } = this.#options
    if (ownSinceMs !== undefined) return untilMs - ownSinceMs
    const endMs = this.stoppedBy === null ? untilMs : this.#lastMs
    return this.#firstMs === 0 ? 0 : endMs - this.#firstMs
  }

  /** `bytes`: the records of a message. */
  add(storedAtMs: number, bytes: Uint8Array): void {
    for (const line of parseMessage(bytes)) {
      this.#records += 1
      if (!this.#examine(line, storedAtMs)) continue
      this.#ownRecords += 1
      this.#ownBytes += line.byteLength
    }
    this.#bytes += bytes.length
    this.#firstMs ||= storedAtMs
    this.#lastMs = storedAtMs
  }

  /** Undefined if the record is not of the time that is tried. */
  #timeOf(record: TrafficRecord, storedAtMs: number): number | undefined {
    const { ownSinceMs, untilMs } = this.#options
    if (ownSinceMs === undefined) return storedAtMs
    const ownMs = ownTimeOf(record)
    const outside = ownMs === undefined ? 'no_time' : outsideOf(ownMs, storedAtMs)
    const atMs = outside === undefined ? ownMs! : storedAtMs
    const isOfRange = atMs >= ownSinceMs && atMs < untilMs
    if (!isOfRange) this.#counted.left_out += 1
    else if (outside !== undefined) this.#counted[outside] += 1
    return isOfRange ? atMs : undefined
  }

  /** True if the record is one of the account. A bad record belongs to no account. */
  #examine(line: Line, storedAtMs: number): boolean {
    const { policySet, accountId, examiner } = this.#options
    try {
      const parsed = parseLine(line)
      if (!parsed.ok) return false
      const found = policySet.findEdge(parsed.value)
      if (!found.ok || found.value.accountId !== accountId) return false
      const atMs = this.#timeOf(parsed.value, storedAtMs)
      if (atMs === undefined) return false
      this.#tried.firstMs = Math.min(this.#tried.firstMs, atMs)
      this.#tried.lastMs = Math.max(this.#tried.lastMs, atMs)
      examiner.add({ record: parsed.value, endpoint: found.value }, atMs)
      return true
    } catch {
      // The pipeline sets such a record aside, with the reason.
      return false
    }
  }
}

/** The result with as many examples as fit. */
function shortened(result: Result): Result {
  const examples: unknown[] = 'decisions' in result ? result.decisions.examples : result.events.examples
  while (examples.length > 0 && JSON.stringify(result).length > trialResultBytesMax) examples.pop()
  return result
}
