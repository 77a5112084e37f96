/**
 * How far the pipelines are behind, measured by the API: it shows the lag also when no pipeline runs. While NATS does
 * not answer, the last measurement stays.
 */
import { every, now, type Timer } from '../core/clock.js'
import type { Level } from '../core/metrics.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { inputConsumer, recordsStream, recordsSubjects } from '../wire/names.js'

const measureEveryMs = 5_000

type InputReader = Pick<Nats, 'consumerInfo' | 'nextMessage' | 'streamInfo'>

interface Lag {
  readonly messages: number
  /** When the oldest one was stored; undefined if there is none. */
  readonly oldestAtMs: number | undefined
}

export class RecordsLag {
  readonly #nats: InputReader
  readonly #timer: Timer
  #lag: Lag | undefined

  constructor(nats: InputReader, occurrences: Occurrences) {
    this.#nats = nats
    this.#timer = every(measureEveryMs, () => this.#measure())
    occurrences.recordsLag(() => this.#level(({ messages }) => messages))
    occurrences.recordsOldest(() => this.#level(({ oldestAtMs }) => ageSeconds(oldestAtMs)))
    void this.#measure()
  }

  #level(of: (lag: Lag) => number): Level<'stream'>[] {
    return this.#lag === undefined ? [] : [[{ stream: recordsStream }, of(this.#lag)]]
  }

  async #measure(): Promise<void> {
    try {
      const consumer = await this.#nats.consumerInfo(recordsStream, inputConsumer)
      const messages = consumer?.unacknowledged ?? (await this.#storedMessages())
      const oldestAtMs = messages === 0 ? undefined : await this.#oldestAfter(consumer?.ackFloor ?? 0)
      this.#lag = { messages, oldestAtMs }
    } catch {
      // The health of NATS is reported elsewhere; the next measurement tries again.
    }
  }

  /** The lag before the first pipeline, which makes the consumer. */
  async #storedMessages(): Promise<number> {
    return (await this.#nats.streamInfo(recordsStream))?.state.messages ?? 0
  }

  async #oldestAfter(ackFloor: number): Promise<number | undefined> {
    return (await this.#nats.nextMessage(recordsStream, recordsSubjects, ackFloor + 1))?.storedAtMs
  }

  close(): void {
    this.#timer.stop()
  }
}

const ageSeconds = (atMs: number | undefined): number =>
  atMs === undefined ? 0 : Math.max(0, now() - atMs) / 1000
