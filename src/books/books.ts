/**
 * The books: the ledger added up. Each input message and each event counts once, however often crashes made it go
 * through.
 *
 * - An **input message** is known by its stream and sequence. Its entry is written when every pack that holds one
 *   of its events is stored and entered. From then on it is *settled*: packs that hold it again hold nothing new.
 * - A message that is not settled yet is *open*: per destination it counts as many events as the fullest of the
 *   packs that held it. Only messages in some process's hands are open, so these are few.
 * - A **pack** counts the events that it brought to open messages. A process may die between storing a pack and
 *   entering it; the pack is then met for the first time when it is delivered. If its messages are settled by then,
 *   whoever settled them entered packs of its own.
 * - A message that was processed again under another configuration may settle with fewer events than its packs
 *   held. Those beyond were produced, too: they are added to what the sources of the destination say. So are those
 *   of messages that are open when their stream is made anew or put back, unless they settle after all.
 */
import { getOrMake } from '../core/maps.js'
import { type RecordType, recordTypes } from '../record/traffic-record.js'
import { type LastOutcomes, laterOutcomes, noOutcomes } from '../wire/last-outcomes.js'
import { parseSegments } from '../wire/segments.js'
import { countsOf, type DestinationCounts, type DestinationTotals, newTotals } from './destination-totals.js'
import { InputRun, type InputRunSnapshot } from './input-run.js'
import type { DeliveredEntry, InputCounts, InputEntry, LedgerEntry, PackContents } from './ledger.js'

export interface RecordTotals extends Record<RecordType, number> {
  records: number
  bad: number
  allow: number
  block: number
  deny: number
  unserved: number
  audits: number
  audits_bad: number
}

/** Where counting begins; and the counts of what is no record, such as an audit event. */
export const noRecords: Readonly<RecordTotals> = {
  records: 0,
  bad: 0,
  ...(Object.fromEntries(recordTypes.map((type) => [type, 0])) as Record<RecordType, number>),
  allow: 0,
  block: 0,
  deny: 0,
  unserved: 0,
  audits: 0,
  audits_bad: 0,
}

export interface SourceTotals {
  readonly subscription: string
  readonly kind: string
  readonly destination: string
  produced: number
  filtered: number
}

/** Runs of one stream that are known at once: entries of the last one may still come when the next has begun. */
const runsMax = 4

/** A pack on its way. */
interface OpenPack {
  /** Events that count with it. */
  readonly events: number
  /** The messages that they are of, where not all of the pack's count. */
  readonly sequences: readonly number[] | null
}

/** The books as they are kept between processes. */
export interface BooksSnapshot {
  /** The ledger's sequence up to which everything is in here. */
  readonly sequence: number
  readonly records: RecordTotals
  readonly sources: readonly SourceTotals[]
  readonly destinations: readonly (readonly [string, DestinationTotals])[]
  readonly runs: readonly InputRunSnapshot[]
  readonly packs: readonly (readonly [string, OpenPack])[]
}

export class Books {
  sequence = 0
  readonly records: RecordTotals = { ...noRecords }
  readonly #sources = new Map<string, SourceTotals>()
  readonly #destinations = new Map<string, DestinationTotals>()
  /** The newest last. */
  #runs: InputRun[] = []
  readonly #packs = new Map<string, OpenPack>()

  constructor(snapshot?: BooksSnapshot) {
    if (snapshot === undefined) return
    this.sequence = snapshot.sequence
    Object.assign(this.records, snapshot.records)
    for (const source of snapshot.sources) this.#sources.set(sourceKey(source), { ...source })
    for (const [id, totals] of snapshot.destinations)
      this.#destinations.set(id, { ...newTotals(), ...totals })
    this.#runs = snapshot.runs.map((run) => new InputRun(run))
    for (const [id, pack] of snapshot.packs) this.#packs.set(id, pack)
  }

  /** It stays as it is: entries that come while it is saved are behind its sequence, and must not be in it. */
  snapshot(): BooksSnapshot {
    return {
      sequence: this.sequence,
      records: { ...this.records },
      sources: [...this.#sources.values()].map((source) => ({ ...source })),
      destinations: [...this.#destinations].map(([id, totals]) => [id, { ...totals }]),
      runs: this.#runs.map((run) => run.snapshot()),
      packs: [...this.#packs],
    }
  }

  add(entry: LedgerEntry): void {
    switch (entry.type) {
      case 'input':
        this.#addInput(entry)
        break
      case 'pack':
        this.#workedOn(entry)
        this.#enter(entry)
        break
      case 'delivered':
        this.#addDelivered(entry)
        break
      case 'retried':
        this.#destination(entry.destination).retried += entry.retried
        break
      case 'destination':
        this.#destination(entry.destination).target = entry.target
        break
      case 'dropped':
        this.#destination(entry.destination).gone = true
    }
  }

  #addInput({ stream, since, ranges, counts }: InputEntry): void {
    const run = this.#workedOn({ stream, since })
    const expected = eventsByDestination(counts)
    let messages = 0
    for (const range of ranges) messages += run.settle(range, expected, this.#addExtra)
    if (messages === 0) return
    for (const name of Object.keys(this.records) as (keyof RecordTotals)[])
      this.records[name] += messages * (counts[name] ?? 0)
    for (const [subscription, kind, destination, produced, filtered] of counts.sources) {
      const totals = this.#source({ subscription, kind, destination, produced: 0, filtered: 0 })
      totals.produced += messages * produced
      totals.filtered += messages * filtered
    }
  }

  readonly #addExtra = (destination: string, events: number): void => {
    this.#destination(destination).extra += events
  }

  #run(stream: PackContents['stream'], since: string): InputRun {
    const ofStream = this.#runs.filter((run) => run.stream === stream)
    const known = ofStream.find((run) => run.since === since)
    if (known !== undefined) return known
    const run = new InputRun({ stream, since, settled: [], open: [], isOver: true })
    const dropped = ofStream.length < runsMax ? undefined : ofStream.find(({ isOver }) => isOver)
    this.#runs = [...this.#runs.filter((one) => one !== dropped), run]
    return run
  }

  /** Somebody works on this run. Where it is the newest, that is so from now on; else, it was long ago. */
  #workedOn({ stream, since }: Pick<PackContents, 'stream' | 'since'>): InputRun {
    const run = this.#run(stream, since)
    const ofStream = this.#runs.filter((one) => one.stream === stream)
    if (run !== ofStream.at(-1)) return run
    for (const one of ofStream) if (one !== run) one.end(this.#addExtra)
    run.resume(this.#addExtra)
    return run
  }

  #source(fresh: SourceTotals): SourceTotals {
    return getOrMake(this.#sources, sourceKey(fresh), () => fresh)
  }

  /** Counts a pack; one that brings nothing new is not kept. */
  #enter(contents: PackContents): OpenPack {
    const known = this.#packs.get(contents.pack)
    if (known !== undefined) return known
    const run = this.#run(contents.stream, contents.since)
    const sequences: number[] = []
    let isWhole = true
    let events = 0
    for (const { range, part, events: ofEach } of parseSegments(contents.segments)) {
      for (let sequence = range[0]; sequence <= range[1]; sequence += 1) {
        const fresh = run.hold(sequence, contents.destination, part, ofEach, this.#addExtra)
        events += fresh
        if (fresh > 0) sequences.push(sequence)
        if (fresh < ofEach) isWhole = false
      }
    }
    const pack: OpenPack = { events, sequences: isWhole ? null : sequences }
    if (events > 0) this.#packs.set(contents.pack, pack)
    return pack
  }

  /** A pack that ends a second time, because its acknowledgement was lost, holds no message that is new. */
  #addDelivered(entry: DeliveredEntry): void {
    const { events, sequences } = this.#enter(entry)
    this.#packs.delete(entry.pack)
    const totals = this.#destination(entry.destination)
    totals.target = entry.target
    totals.last = laterOutcomes(totals.last, entry.last)
    if (events === 0) return
    let dead = 0
    for (const [sequence, count] of entry.dead)
      if (sequences === null || sequences.includes(sequence)) dead += count
    dead = Math.min(dead, events)
    totals.dead_lettered += dead
    totals.delivered += events - dead
    totals.retried += entry.retried
  }

  #destination(id: string): DestinationTotals {
    return getOrMake(this.#destinations, id, newTotals)
  }

  get sources(): Iterable<Readonly<SourceTotals>> {
    return this.#sources.values()
  }

  destination(id: string): DestinationCounts {
    return this.destinations([id]).get(id)!
  }

  /** What was produced beyond what the sources of this destination say. */
  extra(id: string): number {
    return this.#destinations.get(id)?.extra ?? 0
  }

  /** The kind of target of a destination, also of one that was deleted; undefined where no deliverer told it. */
  targetOf(id: string): string | undefined {
    return this.#destinations.get(id)?.target ?? undefined
  }

  /** The last success and the last error of a destination in any process. */
  lastOutcomes(id: string): LastOutcomes {
    return this.#destinations.get(id)?.last ?? noOutcomes
  }

  /** The counts of these, or of every destination that anything was produced or filtered for. */
  destinations(ids: Iterable<string> = this.#allIds()): ReadonlyMap<string, DestinationCounts> {
    const sums = new Map([...ids].map((id) => [id, { produced: this.extra(id), filtered: 0 }]))
    for (const { destination, produced, filtered } of this.#sources.values()) {
      const sum = sums.get(destination)
      if (sum === undefined) continue
      sum.produced += produced
      sum.filtered += filtered
    }
    return new Map(
      [...sums].map(([id, sum]) => [id, countsOf(this.#destinations.get(id) ?? newTotals(), sum)]),
    )
  }

  #allIds(): ReadonlySet<string> {
    return new Set([
      ...[...this.#sources.values()].map(({ destination }) => destination),
      ...this.#destinations.keys(),
    ])
  }
}

const sourceKey = ({ subscription, kind, destination }: SourceTotals): string =>
  `${subscription} ${kind} ${destination}`

function eventsByDestination({ sources }: InputCounts): ReadonlyMap<string, number> {
  const events = new Map<string, number>()
  for (const [, , destination, produced] of sources)
    events.set(destination, (events.get(destination) ?? 0) + produced)
  return events
}
