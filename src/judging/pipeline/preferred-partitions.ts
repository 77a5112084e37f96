/**
 * Which partitions a pipeline takes messages of at once. All pipelines may take those of all partitions; but if each took
 * some of every one, each would fill packs of every partition for every destination, and store them before they are full. So
 * each partition is preferred by as many as it takes to have all of them at work, one if there are more partitions than
 * pipelines.
 *
 * Nobody owns a partition. Pipelines tell each other that they are there, and each computes from those it heard who prefers
 * what; they need not agree. Of another partition, a pipeline takes messages once they wait for longer than a moment: who
 * prefers it has died, or has too much to do.
 */

import { inputConsumer, pipelinesSubject } from '../../delivery/wire/names.js'
import type { Partition, PartitionSet } from '../../delivery/wire/partitions.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, monotonicMs, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { hash128, newId } from '../../ground/core/ids.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'

/** A message that waits at two looks has waited for too long. */
const lookEveryMs = 1_000
const announceEveryMs = 5_000
/** One that was not heard for three announcements is gone. */
const forgetAfterMs = 16_000
/** A new pipeline waits for the answers of the others. Before, it would fetch what they prefer. */
const answersWithinMs = 500
/** Help ends when less waits than this share of what was taken since the last look. */
const littleWaits = 0.1

/** A message on `pipelinesSubject`. */
interface Announcement {
  readonly pipeline: string
  readonly stops?: boolean
}

function announcementIn(data: Uint8Array): Announcement | undefined {
  try {
    const { pipeline, stops } = jsonOf<Record<string, unknown>>(data)
    return typeof pipeline === 'string' ? { pipeline, stops: stops === true } : undefined
  } catch {
    return undefined
  }
}

/**
 * The partitions, 0 to `count` - 1, that a pipeline prefers of all these, itself included: rendezvous hashing among those
 * that have least so far. So none is without, and none has more than one beyond another.
 */
export function preferredBy(pipeline: string, all: Iterable<string>, count: number): ReadonlySet<number> {
  const loads = new Map([...all].map((id) => [id, 0]))
  const perPartition = Math.max(1, Math.ceil(loads.size / count))
  const preferred = new Set<number>()
  for (let number = 0; number < count; number += 1) {
    const ranked = [...loads]
      .map(([id, load]) => ({ id, load, rank: hash128(id, String(number)) }))
      .sort((a, b) => a.load - b.load || (a.rank < b.rank ? -1 : 1))
    for (const { id, load } of ranked.slice(0, perPartition)) {
      loads.set(id, load + 1)
      if (id === pipeline) preferred.add(number)
    }
  }
  return preferred
}

interface PreferredPartitionsOptions {
  readonly nats: Pick<Nats, 'emit' | 'subscribe' | 'consumerInfo'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly occurrences: Pick<Occurrences, 'pipelinesUnheard'>
}

/** A look at the consumer of a partition. */
interface Look {
  readonly delivered: number
  /** The last message that waited. */
  readonly last: number
}

export class PreferredPartitions {
  readonly #options: PreferredPartitionsOptions
  readonly #id = newId('pl_')
  readonly #openedMs = monotonicMs()
  /** When each of the others was heard last. */
  readonly #heardMs = new Map<string, number>()
  #subscription: { close(): unknown } | undefined
  #isRefused = false
  #preferred: ReadonlySet<number> | undefined
  readonly #looks = new Map<number, Look>()
  readonly #helped = new Set<number>()
  readonly #timers: readonly Timer[]

  constructor(options: PreferredPartitionsOptions) {
    this.#options = options
    this.#announce()
    this.#timers = [
      every(announceEveryMs, () => this.#announce()),
      every(lookEveryMs, () => void this.#look()),
    ]
  }

  /** Is this partition's message for this pipeline, if one is there? */
  mayTake({ number }: Partition): boolean {
    if (this.#isAlone) return true
    if (monotonicMs() - this.#openedMs < answersWithinMs) return false
    return this.#current().has(number) || this.#helped.has(number)
  }

  /** Of how many partitions it takes messages at once. */
  get count(): number {
    return Math.max(1, this.#isAlone ? this.#options.partitions.all.length : this.#current().size)
  }

  /** With one partition, everyone takes of it, and none needs to be heard. */
  get #isAlone(): boolean {
    return this.#isRefused || this.#options.partitions.all.length === 1
  }

  #current(): ReadonlySet<number> {
    this.#preferred ??= preferredBy(
      this.#id,
      [this.#id, ...this.#heardMs.keys()],
      this.#options.partitions.all.length,
    )
    return this.#preferred
  }

  // --- who is there ---

  #announce(stops = false): void {
    if (this.#isAlone) return
    this.#subscription ??= this.#options.nats.subscribe(
      pipelinesSubject,
      (data) => this.#hear(data),
      (error) => this.#refused(error),
    )
    this.#options.nats.emit(
      pipelinesSubject,
      JSON.stringify({ pipeline: this.#id, ...(stops && { stops }) } satisfies Announcement),
    )
    for (const [id, heardMs] of this.#heardMs)
      if (monotonicMs() - heardMs > forgetAfterMs) this.#heardMs.delete(id)
    // The number of partitions may have changed, too.
    this.#preferred = undefined
  }

  #hear(data: Uint8Array): void {
    const heard = announcementIn(data)
    if (heard === undefined || heard.pipeline === this.#id) return
    const isKnown = this.#heardMs.has(heard.pipeline)
    if (heard.stops) this.#heardMs.delete(heard.pipeline)
    else this.#heardMs.set(heard.pipeline, monotonicMs())
    if (isKnown === !heard.stops) return
    this.#preferred = undefined
    if (!isKnown && !heard.stops) this.#announce()
  }

  /** It takes messages of every partition from now on. */
  #refused(error: Error): void {
    this.#isRefused = true
    this.#options.occurrences.pipelinesUnheard({ reason: messageOf(error) })
  }

  // --- help ---

  async #look(): Promise<void> {
    if (this.#isAlone || this.#heardMs.size === 0) return
    const others = this.#options.partitions.all.filter(({ number }) => !this.#current().has(number))
    await Promise.all(others.map((partition) => this.#lookAt(partition)))
  }

  async #lookAt({ number, recordsStream }: Partition): Promise<void> {
    const position = await this.#options.nats
      .consumerInfo(recordsStream, inputConsumer)
      .catch(() => undefined)
    // Nothing to take is known there. Whoever prefers the partition says what is wrong with its stream.
    if (position === undefined) return
    const before = this.#looks.get(number)
    const { delivered, waiting } = position
    this.#looks.set(number, { delivered, last: delivered + waiting })
    if (before === undefined) return
    if (delivered < before.last) this.#helped.add(number)
    else if (waiting <= littleWaits * (delivered - before.delivered)) this.#helped.delete(number)
  }

  /** Others take over at once: to be called before the pipeline finishes what it has. */
  close(): void {
    for (const timer of this.#timers) timer.stop()
    this.#announce(true)
    this.#subscription?.close()
  }
}
