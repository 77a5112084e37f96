/**
 * Makes room. The streams refuse what is beyond their bounds and remove nothing by themselves, so that no
 * unprocessed work is ever lost to make room; what is done with is removed here.
 *
 * - Records and audit events stay for as long as there is room, for those who want to read them again. When their
 *   stream nears its bound, the oldest *processed* ones go.
 * - Packs that were acknowledged come back to the stream when its server is killed: they lie below the
 *   acknowledgement floor of their consumer, which never delivers them again.
 * - Packs of a destination that is gone may still be stored while a pipeline has not heard of it.
 */

import type { LedgerWriter } from '../books/ledger.js'
import { every, now, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import {
  destinationGoneAfterMs,
  leftoverPackAfterMs,
  recordsFullShare,
  recordsKeptShare,
  removalsPerPassMax,
} from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import type { Occurrences } from '../core/occurrences.js'
import { dropBacklog } from '../deliver/deliverer.js'
import type { Nats } from '../nats/nats.js'
import {
  auditInStream,
  auditStream,
  deliveriesStream,
  deliverySubject,
  inputConsumer,
  recordsStream,
} from '../wire/names.js'

export interface JanitorOptions {
  readonly nats: Nats
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  /** Is there such a destination? Undefined where that is not known for sure. */
  readonly isDestination: (id: string) => boolean | undefined
  readonly sweepAfter?: { readonly leftoverMs: number; readonly goneMs: number }
}

const sweepAfterDefault = { leftoverMs: leftoverPackAfterMs, goneMs: destinationGoneAfterMs }

const inputEveryMs = 1_000
const packsEveryMs = 60_000

export class Janitor {
  readonly #options: JanitorOptions
  readonly #timers: readonly Timer[]
  /** When destinations that packs are for were first found to be gone. */
  readonly #goneSinceMs = new Map<string, number>()

  constructor(options: JanitorOptions) {
    this.#options = options
    this.#timers = [
      every(inputEveryMs, () => this.#attempt(() => this.removeInput())),
      every(packsEveryMs, () => this.#attempt(() => this.sweepPacks())),
    ]
  }

  async #attempt(tidy: () => Promise<void>): Promise<void> {
    try {
      await tidy()
    } catch (error) {
      this.#options.occurrences.janitorFailed({ reason: messageOf(error) })
    }
  }

  /** Where a stream of input nears its bound: removes what was processed until there is room again. */
  async removeInput(): Promise<void> {
    for (const stream of [recordsStream, auditInStream, auditStream]) await this.#removeProcessed(stream)
  }

  async #removeProcessed(stream: string): Promise<void> {
    const { nats, occurrences } = this.#options
    const info = await nats.streamInfo(stream)
    if (info === undefined) return
    const { bytes, messages, first_seq, last_seq } = info.state
    const { max_bytes } = info.config
    if (bytes < max_bytes * recordsFullShare) return
    const consumer = await nats.consumerInfo(stream, inputConsumer)
    // A consumer that is ahead of its stream says nothing of what the stream holds.
    if (consumer === undefined || consumer.delivered > last_seq) return
    const excess = Math.ceil((messages * (bytes - max_bytes * recordsKeptShare)) / bytes)
    const below = Math.min(first_seq + Math.min(excess, removalsPerPassMax), consumer.ackFloor + 1)
    if (below <= first_seq) return
    await nats.removeMessages(stream, range(first_seq, below))
    occurrences.inputRemoved({ stream, messages: below - first_seq, bytes, bytes_max: max_bytes })
  }

  async sweepPacks(): Promise<void> {
    const { nats, isDestination } = this.#options
    const counts = await nats.subjectCounts(deliveriesStream, deliverySubject('*'))
    const prefix = deliverySubject('')
    for (const subject of Object.keys(counts)) {
      const id = subject.slice(prefix.length)
      const isThere = isDestination(id)
      if (isThere !== false) this.#goneSinceMs.delete(id)
      if (isThere === true) await this.#sweepLeftovers(id)
      if (isThere === false) await this.#sweepGone(id)
    }
  }

  /** Packs below the floor: given some time, since the server removes them a moment after it moves the floor. */
  async #sweepLeftovers(id: string): Promise<void> {
    const { nats, occurrences, sweepAfter = sweepAfterDefault } = this.#options
    const consumer = await nats.consumerInfo(deliveriesStream, id)
    const info = await nats.streamInfo(deliveriesStream)
    if (consumer === undefined || info === undefined || consumer.delivered > info.state.last_seq) return
    const oldest = await nats.nextMessage(deliveriesStream, deliverySubject(id))
    if (oldest === undefined || oldest.sequence > consumer.ackFloor) return
    if (oldest.storedAtMs > now() - sweepAfter.leftoverMs) return
    await nats.removeMessages(deliveriesStream, await this.#packsUpTo(id, consumer.ackFloor))
    occurrences.packsSwept({ destination_id: id, below: consumer.ackFloor + 1 })
  }

  async #packsUpTo(id: string, last: number): Promise<number[]> {
    const sequences: number[] = []
    for (let from = 1; sequences.length < removalsPerPassMax; ) {
      const pack = await this.#options.nats.nextMessage(deliveriesStream, deliverySubject(id), from)
      if (pack === undefined || pack.sequence > last) break
      sequences.push(pack.sequence)
      from = pack.sequence + 1
    }
    return sequences
  }

  async #sweepGone(id: string): Promise<void> {
    const { occurrences, sweepAfter = sweepAfterDefault } = this.#options
    const sinceMs = getOrMake(this.#goneSinceMs, id, now)
    if (sinceMs > now() - sweepAfter.goneMs) return
    this.#goneSinceMs.delete(id)
    if (await dropBacklog(this.#options, id)) occurrences.packsSwept({ destination_id: id })
  }

  close(): void {
    for (const timer of this.#timers) timer.stop()
  }
}

function* range(from: number, below: number): Generator<number> {
  for (let number = from; number < below; number += 1) yield number
}
