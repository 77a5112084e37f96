/**
 * Checks the streams that a role needs, and measures them, when readiness or metrics are requested. Each must answer,
 * have a leader with a quorum, and have room. An open connection proves nothing: the server may be frozen, or the
 * cluster without a quorum.
 */

import type { StreamInfo } from '@nats-io/jetstream'
import { every, monotonicMs, now, type Timer, within } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { failureText } from '../../ground/nats/failures.js'
import type { Nats } from '../../ground/nats/nats.js'
import { quorumProblem } from '../../ground/nats/streams.js'
import { Inquiry } from './inquiry.js'

export interface StreamWatchOptions {
  readonly nats: Nats
  /** Those the role reads or writes. */
  readonly streams: readonly string[] | (() => readonly string[])
  readonly occurrences: Occurrences
  /** Creates missing streams, if that is this process' job. */
  readonly makeStreams?: () => Promise<void>
  /** Further streams that it creates; the role is ready without them. */
  readonly alsoMade?: () => readonly string[]
}

/** A deleted stream is noticed at the next publish, and is recreated after this time. */
const makeEveryMs = 10_000
/** Each stream is looked at this often, although the number of streams is still the same. */
const lookEveryMs = 60_000
/**
 * An answer may be of the moment before a stream was lost, and the number of the moment after: a second look is not
 * deceived.
 */
const looksMin = 2

/** Metrics wait this long for new values of the streams; after that, they have the last ones. */
export const measureWithinMs = 500

export class StreamWatch {
  readonly #options: StreamWatchOptions
  readonly #inquiry: Inquiry<Failing>
  readonly #timer: Timer | undefined
  #failing: Failing = {}
  /** How many streams the account had when none was missing, and how many looks in a row found that. */
  #complete: { readonly count: number; readonly atMs: number; readonly looks: number } | undefined
  #making: Promise<void> | undefined
  /** Why missing streams could not be made again, the last time. */
  #unmade: string | undefined

  constructor(options: StreamWatchOptions) {
    this.#options = options
    this.#inquiry = new Inquiry(() => this.#look())
    if (options.makeStreams !== undefined) this.#timer = every(makeEveryMs, () => this.restoreMissing())
  }

  /**
   * Makes missing streams. Each stream is looked up only if the number of streams has changed, so one request is
   * usually enough.
   */
  async restoreMissing(): Promise<void> {
    const count = await this.#options.nats.streamCount().catch(() => undefined)
    const known = this.#complete
    const looksBefore = known?.count === count ? (known?.looks ?? 0) : 0
    if (looksBefore >= looksMin && monotonicMs() - (known?.atMs ?? 0) < lookEveryMs) return
    this.#complete = undefined
    const { answer } = await this.#inquiry.now()
    const isComplete =
      answer !== undefined && !Object.values(answer).includes(missing) && (await this.#hasOthers())
    if (isComplete && count !== undefined)
      this.#complete = { count, atMs: monotonicMs(), looks: looksBefore + 1 }
  }

  /** Does each of the further streams exist? Makes those that do not. */
  async #hasOthers(): Promise<boolean> {
    const { nats, alsoMade } = this.#options
    const names = alsoMade?.() ?? []
    try {
      const infos = await Promise.all(names.map((name) => nats.streamInfo(name)))
      const areThere = !infos.includes(undefined)
      if (!areThere) this.#make()
      return areThere
    } catch {
      // NATS is unreachable: they are looked at again.
      return false
    }
  }

  /** Resolves when all streams have answered for the first time. */
  first(): Promise<void> {
    return this.#inquiry.first()
  }

  /** Streams that refuse publishes, each with the reason as a sentence. */
  async failing(): Promise<Failing> {
    const { lost } = await this.#inquiry.now()
    const unmade = this.#unmade === undefined ? '' : ` It can't be made again: ${this.#unmade}`
    const found = Object.entries(this.#failing).map(([name, problem]) => [
      name,
      problem === missing ? `${problem}${unmade}` : problem,
    ])
    const failing = Object.fromEntries(found) as Failing
    return lost === undefined ? failing : { ...failing, nats: `Nothing can be stored: ${lost}.` }
  }

  /** Brings the metrics of the streams up to date, if they answer. */
  async measured(): Promise<void> {
    await within(measureWithinMs, this.#inquiry.now(), 'late').catch(() => {})
  }

  async #look(): Promise<Failing> {
    const { nats, streams } = this.#options
    if (!nats.isConnected) {
      const because = nats.lostBecause
      throw new Error(`the connection to NATS is lost${because === undefined ? '' : ` (${because})`}`)
    }
    const names = typeof streams === 'function' ? streams() : streams
    const problems = await Promise.all(
      names.map(async (name) => [name, await this.#problemOf(name)] as const),
    )
    const failing = problems.filter((each): each is [string, string] => each[1] !== undefined)
    if (failing.some(([, problem]) => problem === missing)) this.#make()
    this.#failing = Object.fromEntries(failing)
    return this.#failing
  }

  async #problemOf(name: string): Promise<string | undefined> {
    const info = await this.#options.nats.streamInfo(name).catch((error: unknown) => {
      throw new Error(`JetStream does not answer for ${name} (${messageOf(error)})`)
    })
    if (info === undefined) return missing
    this.#measure(name, info)
    return roomProblem(info, this.#options.nats.payloadBytesMax) ?? quorumProblem(info)
  }

  #measure(stream: string, { state, config }: StreamInfo): void {
    const { occurrences } = this.#options
    const { bytes, messages, first_ts } = state
    // The age is the difference between the server's clock and ours, which may disagree a little.
    const oldestMs = messages === 0 ? 0 : Math.max(0, now() - Date.parse(first_ts))
    occurrences.streamBytes({ stream }, bytes)
    occurrences.streamBytesMax({ stream }, config.max_bytes)
    occurrences.streamOldest({ stream }, oldestMs / 1000)
    occurrences.streamRetention({ stream }, config.max_age / nanosPerSecond)
  }

  /** Not awaited: the streams are checked meanwhile. */
  #make(): void {
    const { makeStreams, occurrences } = this.#options
    const made = () => {
      this.#unmade = undefined
    }
    this.#making ??= makeStreams?.()
      .then(made, (error: unknown) => {
        this.#unmade = failureText(error)
        occurrences.streamsUnmade({ reason: messageOf(error) })
      })
      .finally(() => {
        this.#making = undefined
      })
  }

  close(): void {
    this.#timer?.stop()
    this.#inquiry.close()
  }
}

/** A small stream need not have room for the largest message of its server, but for one of this part of its size. */
const neededShare = 1 / 4

/** Why a stream has no room for the messages of a role, as a sentence. `payloadBytesMax`: the limit of the server. */
export function roomProblem(
  { state: { bytes }, config: { max_bytes } }: Pick<StreamInfo, 'state' | 'config'>,
  payloadBytesMax: number,
): string | undefined {
  const roomBytes = max_bytes - bytes
  if (max_bytes <= 0 || roomBytes >= Math.min(payloadBytesMax, max_bytes * neededShare)) return undefined
  return `The stream is full (${bytes} of ${max_bytes} bytes): it refuses messages of more than ${Math.max(0, roomBytes)} bytes.`
}

const nanosPerSecond = 1e9

const missing = 'The stream is missing.'
