/**
 * Which destinations are busy: this process stores many packs for them. These go to the destination's own consumer, as do
 * those of destinations that have one because another pipeline is busy or a deliverer can't deliver; those of the others go
 * to the one that idle destinations share (`deliver/own-consumers.ts`). Processes need not agree: deliverers read both.
 */

import { ownConsumersSubject } from '../../delivery/wire/names.js'
import {
  formatNotice,
  hearNotices,
  noticeHoldsMs,
  type OwnConsumerNotice,
  Sharing,
} from '../../delivery/wire/own-consumers.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { monotonicMs } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'

const windowMs = 60_000
/** One with more packs in a window is busy in it, and in the next one. */
const idlePacksMax = 20

/** The packs of a destination. */
interface Tally {
  /** The number of the window that `packs` counts. */
  window: number
  packs: number
  before: number
  isAnnounced: boolean
}

interface BusyDestinationsOptions {
  readonly nats: Pick<Nats, 'emit' | 'subscribe'>
  readonly occurrences: Pick<Occurrences, 'ownConsumersUnheard'>
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  /** How many destinations there are. */
  readonly count: () => number
  /** If there are fewer, all count as busy. */
  readonly ownConsumersMax: number
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number
}

export class BusyDestinations {
  readonly #options: BusyDestinationsOptions
  readonly #nowMs: () => number
  readonly #tallies = new Map<string, Tally>()
  /** Until when a destination has a consumer of its own, as other processes say: milliseconds, monotonic. */
  readonly #ownUntilMs = new Map<string, number>()
  readonly #sharing: Sharing
  readonly #subscription: { close(): unknown }
  #window = 0

  constructor(options: BusyDestinationsOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? monotonicMs
    const { nats, occurrences, ownConsumersMax } = options
    this.#sharing = new Sharing(ownConsumersMax, true)
    this.#subscription = hearNotices(
      nats,
      (notice) => this.#hear(notice),
      (error) => occurrences.ownConsumersUnheard({ reason: messageOf(error) }),
    )
  }

  /** Are there so few destinations that each has a consumer of its own? */
  get areFew(): boolean {
    return !this.#sharing.isOn(this.#options.count())
  }

  /** A pack is about to be stored for a destination: is it one for its own consumer? */
  hasNext(destination: string): boolean {
    if (this.areFew) return true
    const window = Math.floor(this.#nowMs() / windowMs)
    this.#forgetBefore(window)
    const tally = getOrMake(this.#tallies, destination, () => ({
      window,
      packs: 0,
      before: 0,
      isAnnounced: false,
    }))
    if (tally.window !== window) {
      tally.before = tally.window === window - 1 ? tally.packs : 0
      tally.packs = 0
      tally.isAnnounced = false
      tally.window = window
    }
    tally.packs += 1
    const isBusy = Math.max(tally.packs, tally.before) > idlePacksMax
    // In each window again, for deliverers that did not hear it, or began later.
    if (isBusy && !tally.isAnnounced) this.#announce(destination)
    tally.isAnnounced = isBusy
    return isBusy || (this.#ownUntilMs.get(destination) ?? 0) > this.#nowMs()
  }

  #hear({ destination, partition }: OwnConsumerNotice): void {
    // Packs that wait elsewhere are from a time with another number of partitions.
    if (partition !== this.#options.partitions.homeOf(destination)) return
    this.#ownUntilMs.set(destination, this.#nowMs() + noticeHoldsMs)
  }

  /** Deliverers read its own consumer from now on. */
  #announce(destination: string): void {
    const { nats, partitions } = this.#options
    nats.emit(ownConsumersSubject, formatNotice({ destination, partition: partitions.homeOf(destination) }))
  }

  #forgetBefore(window: number): void {
    if (window === this.#window) return
    this.#window = window
    for (const [id, tally] of this.#tallies) if (tally.window < window - 1) this.#tallies.delete(id)
    for (const [id, untilMs] of this.#ownUntilMs) if (untilMs <= this.#nowMs()) this.#ownUntilMs.delete(id)
  }

  close(): void {
    this.#subscription.close()
  }
}
