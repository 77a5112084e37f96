/**
 * Start here: the books are the sum of the ledger. Each input message and each event counts once, however often crashes
 * made a process repeat its work. This room never knows how events are produced or delivered, only their counts.
 *
 * - An **input message** is identified by its stream and sequence. Its entry is written when every pack that holds one
 *   of its events is stored and entered. From then on it is *settled*: packs that hold it again hold nothing new.
 * - A message that is not settled yet is *open*: per destination it counts as many events as the fullest of the packs
 *   that held it. Only messages in flight are open, so these are few.
 * - A **pack** counts the events that it added to open messages. A process may die between storing a pack and entering
 *   it; the pack then first appears in the ledger when it is delivered. If its messages are settled by then, the
 *   process that settled them entered packs of its own.
 * - A message that was processed again under another configuration may settle with fewer events than its packs held.
 *   The surplus was produced, too: it is added to the counts of the destination's sources. So are the events of
 *   messages that are open when their stream is recreated or restored, unless they settle after all.
 * - A pack that **vanished** from the stream of deliveries counts as dropped, unless the ledger said before that it was
 *   delivered. The order of the entries decides, so no one who writes them needs the latest books.
 * - A **dead letter** that is sent again is an input message, too, and its pack settles it: however often it is sent, it
 *   is produced again once, as a kind of its own.
 */
import { getOrMake } from '../../ground/core/maps.js'
import { type LastOutcomes, laterOutcomes, noOutcomes } from '../wire/delivery-attempts.js'
import { parseSegments } from '../wire/pack-message.js'
import {
  countsOf,
  type DestinationCounts,
  type DestinationTotals,
  hasLost,
  newTotals,
} from './destination-totals.js'
import { addDropped, addVanished, type DroppedTotals, type DropReason, noneDropped } from './dropped.js'
import { InputRun, type InputRunSnapshot, type LastSettled } from './input-run.js'
import {
  type DeliveredEntry,
  eventsByDestination,
  type InputEntry,
  type LedgerEntry,
  noRecords,
  type PackContents,
  type RecordTotals,
  resentInput,
  type VanishedEntry,
} from './ledger.js'
import type { OpenPack } from './open-pack.js'
import { SourceBooks, type SourcesSnapshot, type SourceTotals } from './source-books.js'

/** Runs kept per stream: entries of the previous run may still arrive when the next one has begun. */
const runsMax = 4

/** The kind under which events of dead letters count when they are sent again. */
const resentKind = 'resent'
const replaysKeptMax = 20

/** The books as stored in a bucket. */
export interface BooksSnapshot extends SourcesSnapshot {
  /** The ledger is included up to this sequence. */
  readonly sequence: number
  readonly records: RecordTotals
  readonly destinations: readonly (readonly [string, DestinationTotals])[]
  readonly runs: readonly InputRunSnapshot[]
  readonly packs: readonly (readonly [string, OpenPack])[]
}

export class Books {
  sequence = 0
  readonly records: RecordTotals = { ...noRecords }
  readonly #sources: SourceBooks
  readonly #destinations = new Map<string, DestinationTotals>()
  /** The newest last. */
  #runs: InputRun[] = []
  readonly #packs = new Map<string, OpenPack>()

  constructor(snapshot?: BooksSnapshot) {
    this.#sources = new SourceBooks(snapshot)
    if (snapshot === undefined) return
    this.sequence = snapshot.sequence
    Object.assign(this.records, snapshot.records)
    for (const [id, totals] of snapshot.destinations)
      this.#destinations.set(id, { ...newTotals(), ...totals })
    this.#runs = snapshot.runs.map((run) => new InputRun(run))
    for (const [id, pack] of snapshot.packs) this.#packs.set(id, pack)
  }

  /** A copy: entries that arrive while it is saved come after its sequence and must not be in it. */
  snapshot(): BooksSnapshot {
    return {
      sequence: this.sequence,
      records: { ...this.records },
      ...this.#sources.snapshot(),
      destinations: [...this.#destinations].map(([id, totals]) => [id, { ...totals }]),
      runs: this.#runs.map((run) => run.snapshot()),
      packs: [...this.#packs],
    }
  }

  add(entry: LedgerEntry): void {
    switch (entry.type) {
      case 'sources':
        this.#sources.name(entry.list, entry.sources)
        break
      case 'input':
        this.#addInput(entry)
        break
      case 'pack':
        this.#activeRun(entry)
        this.#enter(entry, entry)
        break
      case 'vanished':
        this.#addVanished(entry)
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
        break
      case 'replay_ended':
        this.#endReplay(entry.stream)
    }
  }

  #addInput({ stream, since, ranges, storedAtMs, counts }: InputEntry): void {
    const run = this.#activeRun({ stream, since })
    const expected = eventsByDestination(counts)
    let messages = 0
    for (const range of ranges) messages += run.settle(range, expected, this.#addExtra)
    run.storedAt(ranges.at(-1)?.[1] ?? 0, storedAtMs)
    if (messages === 0) return
    for (const name of Object.keys(this.records) as (keyof RecordTotals)[])
      this.records[name] += messages * (counts[name] ?? 0)
    for (const [list, times] of counts.asked ?? []) this.#sources.ask(list, messages * times)
    for (const [subscription, kind, destination, produced, filtered] of counts.sources) {
      const asked = counts.asked === undefined ? produced + filtered : 0
      this.#sources.add([subscription, kind, destination], messages * produced, messages * asked)
    }
  }

  /** Counts the events of its packs as produced. Runs of the last replays are kept for packs delivered later. */
  #endReplay(stream: PackContents['stream']): void {
    for (const run of this.#runs) if (run.stream === stream) run.end(this.#addExtra)
    const over = this.#runs.filter((run) => run.isOver && run.replay !== undefined)
    const dropped = new Set([...new Set(over.map(({ replay }) => replay))].slice(0, -replaysKeptMax))
    this.#runs = this.#runs.filter((run) => !over.includes(run) || !dropped.has(run.replay))
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

  /** The run of an entry. If it is the newest of its stream, all earlier runs are over. */
  #activeRun({ stream, since }: Pick<PackContents, 'stream' | 'since'>): InputRun {
    const run = this.#run(stream, since)
    const ofStream = this.#runs.filter((one) => one.stream === stream)
    if (run !== ofStream.at(-1)) return run
    for (const one of ofStream) if (one !== run) one.end(this.#addExtra)
    run.resume(this.#addExtra)
    return run
  }

  /** Counts a pack; a pack without new events is not kept. */
  #enter(contents: PackContents, held: Partial<OpenPack> = {}): OpenPack {
    const { sequence, partition, kinds, first, last } = held
    const known = this.#packs.get(contents.pack)
    // After its stream was recreated, it can be stored again, in another message.
    if (known !== undefined && sequence !== undefined)
      this.#packs.set(contents.pack, { ...known, sequence, partition })
    if (known !== undefined) return known
    const run = this.#run(contents.stream, contents.since)
    const sequences: number[] = []
    let isWhole = true
    let events = 0
    for (const { range, part, events: ofEach } of parseSegments(contents.segments)) {
      for (let sequence = range[0]; sequence <= range[1]; sequence += 1) {
        const fresh =
          contents.stream === resentInput
            ? this.#resend(run, sequence, contents.destination, ofEach)
            : run.hold(sequence, contents.destination, part, ofEach, this.#addExtra)
        events += fresh
        if (fresh > 0) sequences.push(sequence)
        if (fresh < ofEach) isWhole = false
      }
    }
    const place = { sequence, partition, kinds, first, last }
    const pack: OpenPack = { events, sequences: isWhole ? null : sequences, ...place }
    if (events > 0) this.#packs.set(contents.pack, pack)
    return pack
  }

  #resend(run: InputRun, sequence: number, destination: string, events: number): number {
    const fresh = run.settle([sequence, sequence], new Map(), this.#addExtra) * events
    this.#sources.add([resentInput, resentKind, destination], fresh, fresh)
    return fresh
  }

  /** A pack that is delivered again, because its acknowledgement was lost, adds no new events. */
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
    totals.delivered += events - dead - addDropped(totals, entry.dropped, sequences, events - dead)
    totals.retried += entry.retried
  }

  #addVanished({ destination, packs, at }: VanishedEntry): void {
    for (const id of packs) {
      const pack = this.#packs.get(id)
      if (pack !== undefined) addVanished(this.#destination(destination), pack, at)
      this.#packs.delete(id)
    }
  }

  #destination(id: string): DestinationTotals {
    return getOrMake(this.#destinations, id, newTotals)
  }

  /** The settled message with the highest sequence of a run. */
  lastSettled(stream: PackContents['stream'], since: string): LastSettled | undefined {
    return this.#runs.find((run) => run.stream === stream && run.since === since)?.lastSettled
  }

  get sources(): Iterable<SourceTotals> {
    return this.#sources.all()
  }

  destination(id: string): DestinationCounts {
    return this.destinations([id]).get(id)!
  }

  /** Events produced in excess of the counts of this destination's sources. */
  extra(id: string): number {
    return this.#destinations.get(id)?.extra ?? 0
  }

  /** The kind of target of a destination, even a deleted one; undefined if no deliverer entered it. */
  targetOf(id: string): string | undefined {
    return this.#destinations.get(id)?.target ?? undefined
  }

  /** The last success and the last error of a destination, of all processes. */
  lastOutcomes(id: string): LastOutcomes {
    return this.#destinations.get(id)?.last ?? noOutcomes
  }

  /** Events of a destination that were dropped for this reason. */
  dropped(id: string, reason: DropReason): DroppedTotals {
    return this.#destinations.get(id)?.[reason === 'age' ? 'dropped' : 'vanished'] ?? noneDropped
  }

  /** Destinations of which events were dropped, for whatever reason. */
  get losing(): readonly string[] {
    return [...this.#destinations].flatMap(([id, totals]) => (hasLost(totals) ? [id] : []))
  }

  /** Packs that are stored and, by the ledger, not delivered yet, by their ids. */
  get openPacks(): ReadonlyMap<string, OpenPack> {
    return this.#packs
  }

  /** Counts of these destinations, by default of all that events were produced or filtered for. */
  destinations(ids: Iterable<string> = this.#allIds()): ReadonlyMap<string, DestinationCounts> {
    const sums = new Map([...ids].map((id) => [id, { produced: this.extra(id), filtered: 0 }]))
    for (const { destination, produced, filtered } of this.#sources.all()) {
      const sum = sums.get(destination)
      if (sum === undefined) continue
      sum.produced += produced
      sum.filtered += filtered
    }
    const totals = (id: string): DestinationTotals => this.#destinations.get(id) ?? newTotals()
    return new Map([...sums].map(([id, sum]) => [id, countsOf(totals(id), sum)]))
  }

  #allIds(): ReadonlySet<string> {
    const produced = [...this.#sources.all()].map(({ destination }) => destination)
    return new Set([...produced, ...this.#destinations.keys()])
  }
}
