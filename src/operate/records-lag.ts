/**
 * The lag of the pipelines. The API measures it when metrics are asked for, so the lag is known also when no
 * pipeline runs. While NATS does not answer, the last measurement stays.
 */
import { now, within } from '../core/clock.js'
import { unavailable } from '../core/errors.js'
import type { Level } from '../core/telemetry/metrics.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { Inquiry } from '../process/inquiry.js'
import { measureWithinMs } from '../process/stream-watch.js'
import { inputConsumer, recordsStream, recordsSubjects } from '../wire/names.js'

type InputReader = Pick<Nats, 'consumerInfo' | 'nextMessage' | 'streamInfo'>

export interface Lag {
  readonly messages: number
  /** When the oldest one was stored; undefined if there is none. */
  readonly oldestAtMs: number | undefined
}

export class RecordsLag {
  readonly #nats: InputReader
  readonly #inquiry = new Inquiry(() => this.#measure())
  #lag: Lag | undefined

  constructor(nats: InputReader, occurrences: Occurrences) {
    this.#nats = nats
    occurrences.recordsLag(() => this.#level(({ messages }) => messages))
    occurrences.recordsOldest(() => this.#level(({ oldestAtMs }) => ageSeconds(oldestAtMs)))
  }

  /** Brings the lag up to date, if NATS answers. */
  async measured(): Promise<void> {
    await within(measureWithinMs, this.#inquiry.now(), 'late').catch(() => {})
  }

  /** The lag now; throws if NATS does not answer. */
  async now(): Promise<Lag> {
    const { lost } = await this.#inquiry.now()
    if (lost === undefined && this.#lag !== undefined) return this.#lag
    throw unavailable('The stream of records was not read: NATS does not answer.', lost)
  }

  #level(of: (lag: Lag) => number): Level<'stream'>[] {
    return this.#lag === undefined ? [] : [[{ stream: recordsStream }, of(this.#lag)]]
  }

  async #measure(): Promise<void> {
    const consumer = await this.#nats.consumerInfo(recordsStream, inputConsumer)
    const messages = consumer?.unacknowledged ?? (await this.#storedMessages())
    const oldestAtMs = messages === 0 ? undefined : await this.#oldestAfter(consumer?.ackFloor ?? 0)
    this.#lag = { messages, oldestAtMs }
  }

  /** The lag before the first pipeline, which makes the consumer. */
  async #storedMessages(): Promise<number> {
    return (await this.#nats.streamInfo(recordsStream))?.state.messages ?? 0
  }

  async #oldestAfter(ackFloor: number): Promise<number | undefined> {
    return (await this.#nats.nextMessage(recordsStream, recordsSubjects, ackFloor + 1))?.storedAtMs
  }

  close(): void {
    this.#inquiry.close()
  }
}

const ageSeconds = (atMs: number | undefined): number =>
  atMs === undefined ? 0 : Math.max(0, now() - atMs) / 1000
