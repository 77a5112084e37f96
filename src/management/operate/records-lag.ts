/**
 * The lag of the pipelines. The API measures it when metrics are asked for, so the lag is known also when no
 * pipeline runs. While NATS does not answer, the last measurement stays.
 */

import { inputConsumer } from '../../delivery/wire/names.js'
import { type PartitionSet, recordsSubjects } from '../../delivery/wire/partitions.js'
import { now, within } from '../../ground/core/clock.js'
import { unavailable } from '../../ground/core/errors.js'
import type { Level } from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { Inquiry } from '../process/inquiry.js'
import { measureWithinMs } from '../process/stream-watch.js'

type InputReader = Pick<Nats, 'consumerInfo' | 'nextMessage' | 'streamInfo'>

export interface Lag {
  readonly messages: number
  /** When the oldest one was stored; undefined if there is none. */
  readonly oldestAtMs: number | undefined
}

export class RecordsLag {
  readonly #nats: InputReader
  readonly #partitions: Pick<PartitionSet, 'all'>
  readonly #inquiry = new Inquiry(() => this.#measure())
  /** By stream. */
  #lags: ReadonlyMap<string, Lag> | undefined

  constructor(nats: InputReader, partitions: Pick<PartitionSet, 'all'>, occurrences: Occurrences) {
    this.#nats = nats
    this.#partitions = partitions
    occurrences.recordsLag(() => this.#levels(({ messages }) => messages))
    occurrences.recordsOldest(() => this.#levels(({ oldestAtMs }) => ageSeconds(oldestAtMs)))
  }

  /** Brings the lag up to date, if NATS answers. */
  async measured(): Promise<void> {
    await within(measureWithinMs, this.#inquiry.now(), 'late').catch(() => {})
  }

  /** The lag now, of all partitions together; throws if NATS does not answer. */
  async now(): Promise<Lag> {
    const { lost } = await this.#inquiry.now()
    if (lost === undefined && this.#lags !== undefined) return sumOf([...this.#lags.values()])
    throw unavailable('The stream of records was not read: NATS does not answer.', lost)
  }

  #levels(of: (lag: Lag) => number): Level<'stream'>[] {
    return [...(this.#lags ?? [])].map(([stream, lag]) => [{ stream }, of(lag)])
  }

  async #measure(): Promise<void> {
    const streams = this.#partitions.all.map(({ recordsStream }) => recordsStream)
    this.#lags = new Map(
      await Promise.all(streams.map(async (stream) => [stream, await this.#lagOf(stream)] as const)),
    )
  }

  async #lagOf(stream: string): Promise<Lag> {
    const consumer = await this.#nats.consumerInfo(stream, inputConsumer)
    const messages = consumer?.unacknowledged ?? (await this.#storedMessages(stream))
    const oldestAtMs = messages === 0 ? undefined : await this.#oldestAfter(stream, consumer?.ackFloor ?? 0)
    return { messages, oldestAtMs }
  }

  /** The lag before the first pipeline, which makes the consumer. */
  async #storedMessages(stream: string): Promise<number> {
    return (await this.#nats.streamInfo(stream))?.state.messages ?? 0
  }

  async #oldestAfter(stream: string, ackFloor: number): Promise<number | undefined> {
    return (await this.#nats.nextMessage(stream, recordsSubjects, ackFloor + 1))?.storedAtMs
  }

  close(): void {
    this.#inquiry.close()
  }
}

const ageSeconds = (atMs: number | undefined): number =>
  atMs === undefined ? 0 : Math.max(0, now() - atMs) / 1000

function sumOf(lags: readonly Lag[]): Lag {
  const oldest = lags.flatMap(({ oldestAtMs }) => oldestAtMs ?? [])
  return {
    messages: lags.reduce((sum, { messages }) => sum + messages, 0),
    oldestAtMs: oldest.length === 0 ? undefined : Math.min(...oldest),
  }
}
