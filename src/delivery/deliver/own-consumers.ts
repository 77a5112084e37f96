/**
 * Where destinations have consumers of their own.
 *
 * A server with some ten thousand consumers takes minutes to start, and each one that a deliverer reads costs it a request
 * that waits. So only up to `ownConsumersMax` destinations have one each. If there are more, those that have little to do
 * share one (`shared-consumer.ts`), and one gets its own
 *
 * - when it is busy: a pipeline that stores many packs for it says so (`pipeline/busy-destinations.ts`);
 * - when it can't take a pack: the deliverer that has the pack moves it there, and says so, again and again until it can.
 *   Pipelines hear that, too, and store its packs there: a move costs a deliverer as much as a delivery.
 *
 * A process that missed a message finds the same in the streams: packs that wait for such a consumer. A deliverer that got
 * nothing from one for two minutes stops reading it, and the server deletes it when no one has read it for ten; those that
 * were made while each had its own, too. Where packs of a destination do not come any more, because there is another number
 * of partitions, it is the same for all.
 */
import { monotonicMs } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { ownConsumersSubject } from '../wire/names.js'
import { formatNotice, hearNotices, noticeHoldsMs, type OwnConsumerNotice } from '../wire/own-consumers.js'
import type { Partition, PartitionSet } from '../wire/partitions.js'
import { waitingPacks } from '../wire/waiting-packs.js'

/** One that delivered nothing to a process for so long is not read any more. */
export const readIdleMs = 120_000
/** One that is not read for so long is deleted by the server. */
export const deletedAfterMs = 600_000

/** So that pipelines know also if a notice is lost. */
const remindEveryMs = noticeHoldsMs / 3

/** Destinations, and the partitions in which packs wait for their own consumers. */
export type PacksWaiting = ReadonlyMap<string, ReadonlySet<Partition>>

interface OwnConsumersOptions {
  readonly nats: Pick<Nats, 'emit' | 'subscribe' | 'subjectCounts'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly occurrences: Pick<Occurrences, 'deliveryFaulted'>
  /** Another process says that a destination has one. */
  readonly heard: (notice: OwnConsumerNotice) => void
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number
}

export class OwnConsumers {
  readonly #options: OwnConsumersOptions
  readonly #subscription: { close(): unknown }
  readonly #nowMs: () => number
  /** When a process said last that a destination has one: milliseconds, monotonic. */
  readonly #saidMs = new Map<string, number>()

  constructor(options: OwnConsumersOptions) {
    this.#options = options
    const { nats, partitions, occurrences, heard, nowMs = monotonicMs } = options
    this.#nowMs = nowMs
    const receive = (notice: OwnConsumerNotice): void => {
      this.#note(notice)
      if (partitions.all.includes(notice.partition)) heard(notice)
    }
    const unheard = (error: Error): void => occurrences.deliveryFaulted({ reason: messageOf(error) })
    this.#subscription = hearNotices(nats, receive, unheard)
  }

  /** Tells pipelines, which store packs there from then on, and other deliverers. */
  announce(notice: OwnConsumerNotice): void {
    this.#note(notice)
    this.#options.nats.emit(ownConsumersSubject, formatNotice(notice))
  }

  /** Says again what still holds, unless a process said it lately: there may be thousands of destinations that fail. */
  remind(notice: OwnConsumerNotice): void {
    const saidMs = this.#saidMs.get(notice.destination) ?? Number.NEGATIVE_INFINITY
    if (this.#nowMs() - saidMs >= remindEveryMs) this.announce(notice)
  }

  #note({ destination }: OwnConsumerNotice): void {
    const nowMs = this.#nowMs()
    // The oldest is the first.
    this.#saidMs.delete(destination)
    this.#saidMs.set(destination, nowMs)
    for (const [id, saidMs] of this.#saidMs) {
      if (nowMs - saidMs < remindEveryMs) return
      this.#saidMs.delete(id)
    }
  }

  async waitedFor(): Promise<PacksWaiting> {
    const { nats, partitions } = this.#options
    const places = new Map<string, Set<Partition>>()
    for (const partition of partitions.all)
      for (const { destination, consumer } of await waitingPacks(nats, partition))
        if (consumer === destination) getOrMake(places, destination, () => new Set()).add(partition)
    return places
  }

  close(): void {
    this.#subscription.close()
  }
}

/** Consumers of one look. There may be 100,000: a server that is asked about all of them at once does nothing else. */
const atOnceMax = 100

interface KeptConsumersOptions {
  readonly nats: Pick<Nats, 'expireConsumer'>
  readonly partitions: Pick<PartitionSet, 'all' | 'homeOf'>
  /** The server deletes one that no one has read for so long. */
  readonly deletedAfterMs: number
}

/** A consumer that a destination may have in a partition. */
interface Place {
  readonly id: string
  readonly partition: Partition
}

/**
 * Own consumers from a time with fewer destinations, or with another number of partitions: the server keeps them. When a
 * deliverer starts, and when idle destinations begin to share, it asks for each such consumer that the server deletes it
 * when it is not read. The server alone can decide that: it knows whether a deliverer reads the consumer, as each does that
 * has a pack of it in flight, and as those do that do not know the new number yet. A pack that comes later waits in the
 * stream, where the next look finds it.
 */
export class KeptConsumers {
  readonly #options: KeptConsumersOptions
  #areShared: boolean | undefined
  /** Those that were not looked at since the start, or since sharing began or ended. */
  #left: Iterator<Place, undefined> = [][Symbol.iterator]()
  #next: Place | undefined

  constructor(options: KeptConsumersOptions) {
    this.#options = options
  }

  /** Gives back some of the consumers that these destinations do not need; all of them, if it is called often enough. */
  async look(areShared: boolean, destinations: Iterable<string>): Promise<void> {
    if (areShared !== this.#areShared) {
      const ids = [...destinations]
      // The configuration was not read yet.
      if (ids.length === 0) return
      this.#areShared = areShared
      this.#left = this.#unneeded(ids, areShared)
      this.#next = undefined
    }
    for (let looked = 0; looked < atOnceMax; looked += 1) {
      const place = this.#next ?? this.#left.next().value
      if (place === undefined) return
      // If the server does not answer, the next look begins here.
      this.#next = place
      const { nats, deletedAfterMs } = this.#options
      await nats.expireConsumer(place.partition.deliveriesStream, place.id, deletedAfterMs)
      if (this.#next === place) this.#next = undefined
    }
  }

  /** Where destinations need no consumer of their own, unless packs wait there. */
  *#unneeded(ids: readonly string[], areShared: boolean): Generator<Place, undefined> {
    const { partitions } = this.#options
    if (areShared) for (const id of ids) yield { id, partition: partitions.homeOf(id) }
    for (const partition of partitions.all)
      for (const id of ids) if (partitions.homeOf(id) !== partition) yield { id, partition }
  }
}
