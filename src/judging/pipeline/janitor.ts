/**
 * Makes room. A full stream refuses messages and removes none by itself, so that unprocessed work is never lost; work
 * that is finished is removed here.
 *
 * - Records and audit events are kept as long as there is room, for anyone who wants to read them again. When their
 *   stream is nearly full, the oldest *processed* ones are removed, except records that wait for a destination that
 *   is behind and may lose none.
 * - Acknowledged packs can return to the stream when its server is killed: they are below the ack floor of their
 *   consumer, which never delivers them again.
 * - Packs of a deleted destination may be stored until every pipeline knows of the deletion.
 */

import type { LedgerWriter } from '../../delivery/books/ledger.js'
import { dropBacklog } from '../../delivery/deliver/backlog.js'
import { auditInStream, auditStream, inputConsumer } from '../../delivery/wire/names.js'
import {
  type PackPlace,
  type Partition,
  type PartitionSet,
  sharedSubject,
} from '../../delivery/wire/partitions.js'
import { waitingPacks } from '../../delivery/wire/waiting-packs.js'
import { every, monotonicMs, now, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { LastingFailure } from '../../ground/core/lasting.js'
import { removalStopShare } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { FindDestination } from '../../words/view/destinations.js'
import type { CatchUps } from './catch-ups.js'

/** Messages removed in one pass, before the stream is checked again. */
const removalsPerPassMax = 10_000
/** Share of the records stream's limit at which removal of the oldest processed records starts. */
const removalStartShare = 0.8
/** A pack below its consumer's ack floor for this long was left over by a killed server. */
const leftoverPackAfterMs = 60_000
/** After this time a missing destination counts as deleted, and its packs are swept. */
const destinationGoneAfterMs = 60 * 60_000

interface JanitorOptions {
  readonly nats: Nats
  readonly partitions: PartitionSet
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly destinationOf: FindDestination
  readonly catchUps: Pick<CatchUps, 'keptFrom'>
  readonly sweepAfter?: { readonly leftoverMs: number; readonly goneMs: number }
}

const sweepAfterDefault = { leftoverMs: leftoverPackAfterMs, goneMs: destinationGoneAfterMs }

const inputEveryMs = 1_000
/** About what a server stores on a quick disk. One that fills a stream sooner refuses publishers for up to a second. */
const growthMaxPerMs = (512 * 1024 ** 2) / 1000
const inputEveryMaxMs = 10_000

/** A stream is not looked at before it could be nearly full. */
export const lookAgainAfterMs = (roomBytes: number): number =>
  Math.min(inputEveryMaxMs, roomBytes / growthMaxPerMs)

const packsEveryMs = 60_000

export class Janitor {
  readonly #options: JanitorOptions
  readonly #timers: readonly Timer[]
  /** When each input stream is looked at again. */
  readonly #dueMs = new Map<string, number>()
  /** When a destination that has packs was first found to be deleted: monotonic. */
  readonly #deletedSinceMs = new Map<string, number>()

  constructor(options: JanitorOptions) {
    this.#options = options
    const round = (tidy: () => Promise<void>) => {
      const failure = new LastingFailure((error) =>
        options.occurrences.janitorFailed({ reason: messageOf(error) }),
      )
      return () => failure.watch(tidy)
    }
    this.#timers = [
      every(
        inputEveryMs,
        round(() => this.#removeInputInTime()),
      ),
      every(
        packsEveryMs,
        round(() => this.sweepPacks()),
      ),
    ]
  }

  #removeInputInTime(): Promise<void> {
    return this.removeInput(
      this.#inputStreams().filter((stream) => monotonicMs() >= (this.#dueMs.get(stream) ?? 0)),
    )
  }

  #inputStreams(): readonly string[] {
    const { all } = this.#options.partitions
    return [...all.map(({ recordsStream }) => recordsStream), auditInStream, auditStream]
  }

  /** If an input stream is nearly full, removes processed messages until there is room again. */
  async removeInput(streams: readonly string[] = this.#inputStreams()): Promise<void> {
    for (const stream of streams) {
      const roomBytes = await this.#removeProcessed(stream)
      this.#dueMs.set(stream, monotonicMs() + lookAgainAfterMs(roomBytes))
    }
  }

  /** Resolves with the bytes that the stream can take before it is nearly full. */
  async #removeProcessed(stream: string): Promise<number> {
    const { nats, partitions, occurrences, catchUps } = this.#options
    const info = await nats.streamInfo(stream)
    if (info === undefined) return 0
    const { bytes, messages, first_seq, last_seq } = info.state
    const { max_bytes } = info.config
    const roomBytes = max_bytes * removalStartShare - bytes
    if (roomBytes > 0) return roomBytes
    const consumer = await nats.consumerInfo(stream, inputConsumer)
    // The position of a consumer that is ahead of its stream means nothing.
    if (consumer === undefined || consumer.delivered > last_seq) return 0
    const excess = Math.ceil((messages * (bytes - max_bytes * removalStopShare)) / bytes)
    const partition = partitions.all.find(({ recordsStream }) => recordsStream === stream)
    const keptFrom = partition === undefined ? Number.POSITIVE_INFINITY : catchUps.keptFrom(partition)
    const below = Math.min(first_seq + Math.min(excess, removalsPerPassMax), consumer.ackFloor + 1, keptFrom)
    if (below <= first_seq) return 0
    await nats.removeMessages(stream, range(first_seq, below))
    occurrences.inputRemoved({ stream, messages: below - first_seq, bytes, bytes_max: max_bytes })
    return 0
  }

  async sweepPacks(): Promise<void> {
    for (const partition of this.#options.partitions.all) await this.#sweepPartition(partition)
  }

  async #sweepPartition(partition: Partition): Promise<void> {
    const { nats, destinationOf } = this.#options
    for (const place of await waitingPacks(nats, partition)) {
      const id = place.destination
      const row = destinationOf(id)
      if (row !== null) this.#deletedSinceMs.delete(id)
      if (row) await this.#sweepLeftovers(partition, place)
      if (row === null) await this.#sweepDeleted(id)
    }
  }

  /** Removes packs below the ack floor, after some time: the server removes them shortly after it moves the floor. */
  async #sweepLeftovers({ deliveriesStream }: Partition, place: PackPlace): Promise<void> {
    const { nats, occurrences, sweepAfter = sweepAfterDefault } = this.#options
    const consumer = await nats.consumerInfo(deliveriesStream, place.consumer)
    const info = await nats.streamInfo(deliveriesStream)
    if (consumer === undefined || info === undefined || consumer.delivered > info.state.last_seq) return
    const oldest = await nats.nextMessage(deliveriesStream, place.subject)
    if (oldest === undefined || oldest.sequence > consumer.ackFloor) return
    if (oldest.storedAtMs > now() - sweepAfter.leftoverMs) return
    const left = await this.#packsUpTo(deliveriesStream, place.subject, consumer.ackFloor)
    await nats.removeMessages(deliveriesStream, left)
    occurrences.packsSwept({ destination_id: place.destination, below: consumer.ackFloor + 1 })
  }

  async #packsUpTo(deliveriesStream: string, subject: string, last: number): Promise<number[]> {
    const sequences: number[] = []
    for (let from = 1; sequences.length < removalsPerPassMax; ) {
      const pack = await this.#options.nats.nextMessage(deliveriesStream, subject, from)
      if (pack === undefined || pack.sequence > last) break
      sequences.push(pack.sequence)
      from = pack.sequence + 1
    }
    return sequences
  }

  async #sweepDeleted(id: string): Promise<void> {
    const { nats, partitions, occurrences, sweepAfter = sweepAfterDefault } = this.#options
    const sinceMs = getOrMake(this.#deletedSinceMs, id, monotonicMs)
    if (sinceMs > monotonicMs() - sweepAfter.goneMs) return
    this.#deletedSinceMs.delete(id)
    if (await dropBacklog(this.#options, id)) occurrences.packsSwept({ destination_id: id })
    // No deliverer that runs knows of the deletion, or it would have acknowledged these.
    for (const partition of partitions.all) {
      const { deliveriesStream } = partition
      const subject = sharedSubject(partition, id)
      const left = await this.#packsUpTo(deliveriesStream, subject, Number.POSITIVE_INFINITY)
      await nats.removeMessages(deliveriesStream, left)
    }
  }

  close(): void {
    for (const timer of this.#timers) timer.stop()
  }
}

function* range(from: number, below: number): Generator<number> {
  for (let number = from; number < below; number += 1) yield number
}
