/**
 * Where destinations have consumers of their own.
 *
 * A server with some ten thousand consumers takes minutes to start, and each one that a deliverer reads costs it a request that
 * waits. So only up to `ownConsumersMax` destinations have one each. If there are more, those that have little to do share one
 * (`shared-consumer.ts`), and one gets its own
 *
 * - when it is busy: a pipeline that stores many packs for it says so (`pipeline/busy-destinations.ts`);
 * - when it can't take a pack: the deliverer that has the pack moves it there, and says so, again and again until it can. Pipelines
 *   hear that, too, and store its packs there: a move costs a deliverer as much as a delivery.
 *
 * What a process did not hear, it finds in the streams: packs that wait for such a consumer. A deliverer that got nothing from one
 * for two minutes stops reading it, and the server deletes it when no one has read it for ten; those that were made while each had
 * its own, too.
 */
import { monotonicMs } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { getOrMake } from '../core/maps.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Nats } from '../nats/nats.js'
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

/** Destinations of one look. There may be 100,000: a server that is asked about all of them at once does nothing else. */
const atOnceMax = 100

interface KeptConsumersOptions {
  readonly nats: Pick<Nats, 'expireConsumer'>
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  /** The server deletes one that no one has read for so long. */
  readonly deletedAfterMs: number
}

/**
 * Own consumers from a time with fewer destinations: the server keeps them. When idle destinations begin to share, a deliverer asks for
 * each that the server deletes it when it is not read. The server alone can decide that: it knows whether a deliverer reads the
 * consumer, as each does that has a pack of it in flight. A pack that comes later waits in the stream, where the next look finds it.
 */
export class KeptConsumers {
  readonly #options: KeptConsumersOptions
  /** Destinations whose consumers were not looked at since sharing began; undefined while they share none. */
  #left: string[] | undefined

  constructor(options: KeptConsumersOptions) {
    this.#options = options
  }

  /** Gives back the consumers of some destinations; of all, if it is called often enough while they share. */
  async look(areShared: boolean, destinations: Iterable<string>): Promise<void> {
    this.#left = areShared ? (this.#left ?? [...destinations]) : undefined
    const { nats, partitions, deletedAfterMs } = this.#options
    for (let looked = 0; looked < atOnceMax; looked += 1) {
      const id = this.#left?.at(-1)
      if (id === undefined) return
      await nats.expireConsumer(partitions.homeOf(id).deliveriesStream, id, deletedAfterMs)
      this.#left?.pop()
    }
  }
}
