/**
 * Decides when packs of a destination are too old. JetStream removes none for its age, so that none is lost without being
 * counted. A pack that is older than the retention is dropped by a deliverer:
 *
 * - unless its destination accepts events: then it is delivered, however old it is;
 * - unless its destination may lose nothing;
 * - not within the time of the warning after a start. While no deliverer ran, no one could be warned in time.
 *
 * How old a pack is must not hang on one clock that may be wrong: the earliest of what this machine's clocks say
 * (`AgeClock`) and of what the server's clock says, which stored the pack, decides.
 */

import type { AgeClock } from '../../ground/core/age-clock.js'
import { monotonicMs, now } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { DroppedEvents } from '../books/ledger.js'
import { kindIn } from '../wire/event-template.js'
import { firstStoredAtMs, parseSegments, Segments, sequenceOfEvent } from '../wire/pack-message.js'
import type { PackedEvent } from '../wire/packed-event.js'
import { type Partition, type PartitionSet, packPlaces } from '../wire/partitions.js'
import type { DestinationConfig } from './kind/destination.js'

const longestMs = 6 * 60 * 60_000

/** How long before their removal for age dead letters and events are announced. */
export const warningMs = (retentionMs: number): number => Math.min(longestMs, Math.floor(retentionMs / 2))

const lookEveryMs = { min: 1_000, max: 60_000 }

type PackReader = Pick<Nats, 'consumerInfo' | 'nextMessage'>

export class Expiry {
  readonly #nats: PackReader
  readonly #retentionMs: number
  readonly #clock: Pick<AgeClock, 'now'>
  /** Nothing is dropped before this time: monotonic. */
  readonly #beginsMs: number
  /** The time of day of the server less the time that had passed here; servers before 2.10 do not say it. */
  #serverOffsetMs = Number.POSITIVE_INFINITY
  /** When the next look at a partition is due. */
  readonly #lookMs = new Map<Partition, number>()

  constructor(nats: PackReader, retentionMs: number, clock: Pick<AgeClock, 'now'>) {
    this.#nats = nats
    this.#retentionMs = retentionMs
    this.#clock = clock
    this.#beginsMs = monotonicMs() + warningMs(retentionMs)
  }

  #nowMs(): number {
    return Math.min(this.#clock.now(), monotonicMs() + this.#serverOffsetMs)
  }

  /** Packs that were stored before this time are too old. */
  beforeMs({ keepsEvents }: Pick<DestinationConfig, 'keepsEvents'>): number {
    if (keepsEvents || monotonicMs() < this.#beginsMs) return Number.NEGATIVE_INFINITY
    return this.#nowMs() - this.#retentionMs
  }

  /** Is there a pack in the stream of this partition that is too old? Mostly answered without a look. */
  async isDue(
    { id, keepsEvents }: Pick<DestinationConfig, 'id' | 'keepsEvents'>,
    partition: Partition,
  ): Promise<boolean> {
    if (keepsEvents || monotonicMs() < (this.#lookMs.get(partition) ?? 0)) return false
    const oldest = await oldestPack(this.#nats, { all: [partition] }, id)
    this.#serverOffsetMs = (oldest?.serverMs ?? Number.POSITIVE_INFINITY) - monotonicMs()
    const expiresInMs = (oldest?.storedAtMs ?? Infinity) + this.#retentionMs - this.#nowMs()
    const inMs = Math.max(this.#beginsMs - monotonicMs(), expiresInMs)
    const nextInMs = Math.min(lookEveryMs.max, Math.max(lookEveryMs.min, inMs))
    this.#lookMs.set(partition, monotonicMs() + nextInMs)
    return inMs <= 0
  }

  /** One was dropped: the next one may be due, too. */
  dropped(): void {
    this.#lookMs.clear()
  }
}

/**
 * The ledger's account of events that were dropped. `dropped` are some of the pack's events, in order, at least one;
 * `segments` is the pack's header.
 */
export function droppedEvents(
  events: readonly PackedEvent[],
  dropped: readonly PackedEvent[],
  segments: string,
): DroppedEvents {
  const parsed = parseSegments(segments)
  const positions = new Map(events.map((event, position) => [event, position]))
  const kinds = new Map<string, Map<number, number>>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const event of dropped) {
    const counts = getOrMake(kinds, kindIn(event.data.toString()), () => new Map<number, number>())
    const sequence = sequenceOfEvent(parsed, positions.get(event) ?? 0) ?? 0
    counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
    first = Math.min(first, event.timestampMs)
    last = Math.max(last, event.timestampMs)
  }
  return { kinds: [...kinds].map(([kind, counts]) => [kind, textOf(counts)]), first, last, at: now() }
}

function textOf(counts: ReadonlyMap<number, number>): string {
  const segments = new Segments()
  for (const [sequence, events] of counts) segments.add(sequence, 0, events)
  return segments.format()
}

interface OldestPack extends StoredMessage {
  /** The time of the server's clock then, if it is known. */
  readonly serverMs: number | undefined
}

/**
 * The oldest pack that is not delivered, of all partitions, and when it was stored first: a killed server leaves some below
 * the floor that were. A pack that was moved behind younger ones is found after them.
 */
export async function oldestPack(
  nats: PackReader,
  { all }: Pick<PartitionSet, 'all'>,
  id: string,
): Promise<OldestPack | undefined> {
  const oldest = await Promise.all(
    all.flatMap((partition) =>
      packPlaces(partition, id).map(async ({ subject, consumer }) => {
        const { deliveriesStream } = partition
        const position = await nats.consumerInfo(deliveriesStream, consumer)
        const pack = await nats.nextMessage(deliveriesStream, subject, (position?.ackFloor ?? 0) + 1)
        return pack && { ...pack, storedAtMs: firstStoredAtMs(pack), serverMs: position?.serverMs }
      }),
    ),
  )
  return oldest
    .filter((pack) => pack !== undefined)
    .reduce<OldestPack | undefined>(
      (first, pack) => (first === undefined || pack.storedAtMs < first.storedAtMs ? pack : first),
      undefined,
    )
}
