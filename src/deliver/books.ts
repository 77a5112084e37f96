/**
 * The books: the ledger added up. Each input message and each event counts once, however often crashes made it go
 * through: an input message is known by its sequence, and an event by the message that caused it and its destination.
 *
 * A pack counts the events of those messages that no earlier pack of its destination held. A process may die between
 * storing a pack and writing its entry; the pack is then met for the first time when it is delivered. Messages are
 * done again soon after a crash, so what lies `windowMessages` behind is taken as counted by then.
 */
import type { DeliveredEntry, InputEntry, InputStream, LedgerEntry, PackEntry, Segment } from './ledger.js'
import { type SequenceRange, SequenceSet } from './sequence-set.js'

const windowMessages = 20_000

export interface RecordTotals {
  records: number
  bad: number
  tcp_connection: number
  http_request: number
  allow: number
  block: number
  deny: number
}

export interface SourceTotals {
  readonly subscription: string
  readonly kind: string
  readonly destination: string
  produced: number
  filtered: number
}

export interface DestinationTotals {
  delivered: number
  dead_lettered: number
  retried: number
  dropped: number
}

export interface DestinationCounts extends Readonly<DestinationTotals> {
  readonly produced: number
  readonly filtered: number
  /** Produced, and not come to an end. */
  readonly backlog: number
}

interface SeenInput {
  since: string
  set: SequenceSet
}

/** The books as they are kept between processes. */
export interface BooksSnapshot {
  /** The ledger's sequence up to which everything is in here. */
  readonly sequence: number
  readonly records: RecordTotals
  readonly sources: readonly SourceTotals[]
  readonly destinations: readonly (readonly [string, DestinationTotals])[]
  readonly inputs: readonly (readonly [string, string, readonly SequenceRange[]])[]
  readonly packed: readonly (readonly [string, string, readonly SequenceRange[]])[]
  readonly packs: readonly (readonly [string, number])[]
}

const noRecords = (): RecordTotals => ({
  records: 0,
  bad: 0,
  tcp_connection: 0,
  http_request: 0,
  allow: 0,
  block: 0,
  deny: 0,
})

export class Books {
  sequence = 0
  readonly records: RecordTotals = noRecords()
  readonly #sources = new Map<string, SourceTotals>()
  readonly #destinations = new Map<string, DestinationTotals>()
  /** Input messages that were counted, per stream. */
  readonly #inputs = new Map<InputStream, SeenInput>()
  /** Input messages whose events a pack holds, per destination and stream. */
  readonly #packed = new Map<string, SeenInput>()
  /** Packs that have not come to their end, and how many events each counts for. */
  readonly #packs = new Map<string, number>()

  constructor(snapshot?: BooksSnapshot) {
    if (snapshot === undefined) return
    this.sequence = snapshot.sequence
    Object.assign(this.records, snapshot.records)
    for (const source of snapshot.sources) this.#sources.set(sourceKey(source), { ...source })
    for (const [id, totals] of snapshot.destinations) this.#destinations.set(id, { ...totals })
    for (const [stream, since, ranges] of snapshot.inputs)
      this.#inputs.set(stream as InputStream, { since, set: new SequenceSet(ranges) })
    for (const [key, since, ranges] of snapshot.packed)
      this.#packed.set(key, { since, set: new SequenceSet(ranges) })
    for (const [key, events] of snapshot.packs) this.#packs.set(key, events)
  }

  snapshot(): BooksSnapshot {
    const seen = <K extends string>(map: ReadonlyMap<K, SeenInput>) =>
      [...map].map(([key, { since, set }]) => [key, since, set.ranges] as const)
    return {
      sequence: this.sequence,
      records: this.records,
      sources: [...this.#sources.values()],
      destinations: [...this.#destinations],
      inputs: seen(this.#inputs),
      packed: seen(this.#packed),
      packs: [...this.#packs],
    }
  }

  add(entry: LedgerEntry): void {
    switch (entry.type) {
      case 'input':
        return this.#addInput(entry)
      case 'pack':
        return this.#addPack(entry)
      case 'delivered':
        return this.#addDelivered(entry)
      case 'dropped':
        return this.#addDropped(entry.destination)
    }
  }

  #addInput({ stream, since, ranges, counts }: InputEntry): void {
    const seen = seenOf(this.#inputs, stream, since)
    let messages = 0
    for (const range of ranges) messages += seen.add(range)
    forget(seen)
    if (messages === 0) return
    for (const name of Object.keys(this.records) as (keyof RecordTotals)[])
      this.records[name] += messages * counts[name]
    for (const [subscription, kind, destination, produced, filtered] of counts.sources) {
      const totals = this.#source({ subscription, kind, destination, produced: 0, filtered: 0 })
      totals.produced += messages * produced
      totals.filtered += messages * filtered
    }
  }

  #source(fresh: SourceTotals): SourceTotals {
    const known = this.#sources.get(sourceKey(fresh))
    if (known === undefined) this.#sources.set(sourceKey(fresh), fresh)
    return known ?? fresh
  }

  #addPack(entry: PackEntry): void {
    const key = packKey(entry)
    if (!this.#packs.has(key)) this.#packs.set(key, this.#unseenEvents(entry))
  }

  /** Events of messages that no earlier pack of the destination held. */
  #unseenEvents({
    destination,
    stream,
    since,
    segments,
  }: Pick<PackEntry, 'destination' | 'stream' | 'since'> & { segments: readonly Segment[] }): number {
    let events = 0
    for (const { range, part, events: ofEach } of segments) {
      const seen = seenOf(this.#packed, `${destination} ${stream} ${part}`, since)
      events += seen.add(range) * ofEach
      forget(seen)
    }
    return events
  }

  /** A pack that ends a second time, because its acknowledgement was lost, holds no message that is new. */
  #addDelivered(entry: DeliveredEntry): void {
    const key = packKey(entry)
    const events = this.#packs.get(key) ?? this.#unseenEvents(entry)
    this.#packs.delete(key)
    const totals = this.#destination(entry.destination)
    const deadLettered = Math.min(entry.dead_lettered, events)
    totals.dead_lettered += deadLettered
    totals.delivered += events - deadLettered
    if (events > 0) totals.retried += entry.retried
  }

  #addDropped(destination: string): void {
    const { backlog } = this.destination(destination)
    this.#destination(destination).dropped += Math.max(0, backlog)
    for (const key of this.#packs.keys()) if (key.startsWith(`${destination} `)) this.#packs.delete(key)
  }

  #destination(id: string): DestinationTotals {
    let totals = this.#destinations.get(id)
    if (totals === undefined)
      this.#destinations.set(id, (totals = { delivered: 0, dead_lettered: 0, retried: 0, dropped: 0 }))
    return totals
  }

  get sources(): Iterable<Readonly<SourceTotals>> {
    return this.#sources.values()
  }

  destination(id: string): DestinationCounts {
    let produced = 0
    let filtered = 0
    for (const source of this.#sources.values()) {
      if (source.destination !== id) continue
      produced += source.produced
      filtered += source.filtered
    }
    const totals = this.#destinations.get(id) ?? { delivered: 0, dead_lettered: 0, retried: 0, dropped: 0 }
    const { delivered, dead_lettered, dropped } = totals
    return { ...totals, produced, filtered, backlog: produced - delivered - dead_lettered - dropped }
  }

  /** Every destination that anything was produced or filtered for. */
  get destinationIds(): ReadonlySet<string> {
    return new Set([...this.#sources.values()].map(({ destination }) => destination))
  }
}

const sourceKey = ({
  subscription,
  kind,
  destination,
}: Pick<SourceTotals, 'subscription' | 'kind' | 'destination'>): string =>
  `${subscription} ${kind} ${destination}`

const packKey = ({ destination, sequence }: { destination: string; sequence: number }): string =>
  `${destination} ${sequence}`

/** What was seen of a stream; a stream that was made anew begins with nothing. */
function seenOf<K>(map: Map<K, SeenInput>, key: K, since: string): SequenceSet {
  let seen = map.get(key)
  if (seen === undefined || seen.since !== since) map.set(key, (seen = { since, set: new SequenceSet() }))
  return seen.set
}

/** Keeps a set small: what lies far behind is settled, and is one range then. */
function forget(set: SequenceSet): void {
  if (set.ranges.length > 1_000) set.fillBelow(set.highest - windowMessages)
}
