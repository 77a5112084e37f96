/**
 * Destinations that are behind (`wire/behind.ts`): which messages the live walk leaves them out of, and how they get
 * these later. Every second, each pipeline looks at the shares:
 *
 *     share full ▸ a window of records begins, and is extended while the backlog stays high
 *     backlog low again ▸ live records go to the destination again ▸ those of the windows are replayed
 *     everything in the windows is done ▸ the entry is removed
 */
import { every, isoMillis, monotonicMs, now, sleep, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { type Bucket, waitForBucket } from '../nats/bucket.js'
import { streamIdentity } from '../nats/streams.js'
import type { TrafficView } from '../produce/compiled-configuration.js'
import { viewWithout } from '../produce/replayed-sources.js'
import { keepsRecords } from '../resource/event-destination.js'
import type { FindDestination } from '../view/destinations.js'
import {
  type BehindDestination,
  BehindEntries,
  covers,
  extended,
  firstWaiting,
  type LivePosition,
  messagesWithin,
  newWindow,
  type StoredBehind,
  undone,
  untilOf,
} from '../wire/behind.js'
import { behindBucket, inputConsumer, recordsStream, replayConsumer } from '../wire/names.js'
import type { InputMessage } from './packs.js'
import { endReplay, ReplayRun, type ReplayRunDeps } from './replay-run.js'

const lookEveryMs = 1_000
/** How long a start waits for the entries, and a look for the entries that it wrote. */
const entriesWithinMs = 2_000
const entriesLookMs = 5
/** A rate that was measured over a shorter time says little. */
const rateOverMs = 200

interface CatchUpsDeps extends ReplayRunDeps {
  readonly bucket: Bucket
  readonly destinationOf: FindDestination
}

export async function openCatchUps(deps: Omit<CatchUpsDeps, 'bucket'>): Promise<CatchUps> {
  const catchUps = new CatchUps({ ...deps, bucket: await waitForBucket(deps.nats, behindBucket) })
  await catchUps.open()
  return catchUps
}

/** The present state of the stream of records. */
interface Records {
  readonly identity: string
  readonly firstSequence: number
  readonly lastSequence: number
  readonly live: LivePosition
}

export class CatchUps {
  readonly #deps: CatchUpsDeps
  readonly #behind: BehindEntries
  /** By the id of the catch-up. */
  readonly #runs = new Map<string, ReplayRun>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #timer: Timer | undefined
  /** The run of the sequences of live records. */
  #run = ''
  #seen: { readonly delivered: number; readonly atMs: number } | undefined
  #messagesPerSecond = 0
  #looking: Promise<void> = Promise.resolve()
  #isLeftToMessage = false
  #view: { readonly of: TrafficView; readonly without: string; readonly view: TrafficView } | undefined

  constructor(deps: CatchUpsDeps) {
    this.#deps = deps
    this.#behind = new BehindEntries(deps.bucket, ({ id }) => this.#end(id))
  }

  async open(): Promise<void> {
    await this.#behind.open()
    // Without the entries, events would be stored that the destinations get again later.
    await Promise.race([this.#behind.read, sleep(entriesWithinMs, this.#stop.signal)])
    this.#timer = every(lookEveryMs, () => this.#looked())
  }

  #end(id: string): void {
    const closing = endReplay(id, this.#runs.get(id), this.#deps, this.#stop.signal)
    this.#runs.delete(id)
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }

  // --- the live walk ---

  /** The configuration for a message of live records: without the destinations that get its events later. */
  viewFor(view: TrafficView, { sequence, since }: Pick<InputMessage, 'sequence' | 'since'>): TrafficView {
    this.#run = since
    if (this.#behind.size === 0) return view
    const leftOut = [...this.#behind.all()]
      .map(({ entry }) => entry)
      .filter(({ run, windows }) => run === since && covers(windows, sequence))
    if (leftOut.length === 0) return view
    const without = leftOut.map(({ id }) => id).join()
    if (this.#view?.of !== view || this.#view.without !== without)
      this.#view = { of: view, without, view: viewWithout(view, leftOut) }
    return this.#view.view
  }

  /** The first message that must stay in the stream; none may leave until the entries are known. */
  keptFrom(): number {
    if (!this.#behind.isComplete) return 0
    const isKept = (id: string): boolean => {
      const row = this.#deps.destinationOf(id)
      return row === undefined || (row !== null && keepsRecords(row))
    }
    const kept = [...this.#behind.all()].filter(({ entry }) => isKept(entry.destination_id))
    return Math.min(...kept.map(({ entry }) => firstWaiting(entry)))
  }

  /**
   * If a destination may have used its share since the last look, the message waits for another one and is the first that
   * is not stored for this destination; else undefined.
   */
  shareCheck(sequence: number): Promise<void> | undefined {
    return this.#deps.shares.isOutgrown ? this.#looked(sequence) : undefined
  }

  /** Looks, one time after another. `from`: the first message that a new window holds. */
  #looked(from?: number): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look(from))
    return this.#looking
  }

  async #look(from?: number): Promise<void> {
    const { shares, occurrences } = this.#deps
    if (this.#behind.size === 0 && !shares.isDue) return
    try {
      await shares.look()
      if (!shares.isCounting && this.#behind.size === 0) return
      const records = await this.#records(from)
      if (records === undefined) return
      const written = new Map<string, number>()
      for (const stored of [...this.#behind.all()]) await this.#tend(stored, records, written)
      const full = [...shares.full()].filter((id) => this.#behind.of(id) === undefined)
      // A window of this look begins after a burst of records that wait here. The next message knows where it must begin.
      this.#isLeftToMessage = from === undefined && full.length > 0 && !this.#isLeftToMessage
      if (this.#isLeftToMessage) shares.outgrow()
      else for (const id of full) await this.#leaveBehind(id, records, written)
      if (from !== undefined) await this.#known(written)
    } catch (error) {
      if (!this.#stop.signal.aborted) occurrences.sharesUnknown({ reason: messageOf(error) })
    }
  }

  /** Waits, for a short time, until entries of these revisions, or later ones, have been read. */
  async #known(revisions: ReadonlyMap<string, number>): Promise<void> {
    const untilMs = monotonicMs() + entriesWithinMs
    const isKnown = ([id, revision]: readonly [string, number]): boolean =>
      (this.#behind.of(id)?.revision ?? 0) >= revision
    while (![...revisions].every(isKnown) && monotonicMs() < untilMs && !this.#stop.signal.aborted)
      await sleep(entriesLookMs, this.#stop.signal)
  }

  async #records(from: number | undefined): Promise<Records | undefined> {
    const { nats } = this.#deps
    const info = await nats.streamInfo(recordsStream)
    const consumer = await nats.consumerInfo(recordsStream, inputConsumer)
    if (info === undefined || consumer === undefined) return undefined
    const { delivered } = consumer
    this.#measureRate(delivered)
    return {
      identity: streamIdentity(info),
      firstSequence: info.state.first_seq,
      lastSequence: info.state.last_seq,
      live: { delivered, messagesPerSecond: this.#messagesPerSecond, from },
    }
  }

  #measureRate(delivered: number): void {
    const atMs = monotonicMs()
    const seen = this.#seen ?? { delivered, atMs: atMs - lookEveryMs }
    if (atMs - seen.atMs < rateOverMs) return
    this.#seen = { delivered, atMs }
    this.#messagesPerSecond = Math.max(0, ((delivered - seen.delivered) * 1000) / (atMs - seen.atMs))
  }

  async #leaveBehind(
    destination: string,
    { identity, live }: Records,
    written: Map<string, number>,
  ): Promise<void> {
    const { bucket, destinationOf, occurrences } = this.#deps
    const row = destinationOf(destination)
    if (!row || !this.#run.startsWith(identity)) return
    const stored = await bucket.get(destination)
    if (stored?.value !== undefined) return void written.set(destination, stored.revision)
    const window = newWindow(live)
    const entry: BehindDestination = {
      id: newId('cu_'),
      account_id: row.account_id,
      destination_id: destination,
      since: isoMillis(now()),
      run: this.#run,
      windows: [window],
      done: window[0] - 1,
      missed: 0,
    }
    const revision = await bucket.replace(destination, JSON.stringify(entry), stored?.revision ?? 0)
    // If another pipeline was first, its entry counts.
    written.set(destination, revision ?? 1)
    if (revision !== undefined)
      occurrences.destinationBehind({ destination_id: destination, sequence: window[0] })
  }

  async #tend(
    { entry, revision }: StoredBehind,
    records: Records,
    written: Map<string, number>,
  ): Promise<void> {
    const { bucket, shares, destinationOf, occurrences } = this.#deps
    const { destination_id, since } = entry
    const present = continued(await this.#progressed(entry, records), this.#run, records)
    const { missed } = present
    const newlyMissed = missed - entry.missed
    const isDeleted = destinationOf(destination_id) === null
    if (isDeleted || present.windows.length === 0) {
      if (!(await bucket.remove(destination_id, revision)) || isDeleted) return
      if (newlyMissed > 0) occurrences.recordsMissed({ destination_id }, newlyMissed)
      occurrences.destinationCaughtUp({ destination_id, since, missed })
      return
    }
    const level = shares.levelOf(destination_id)
    const isLeftOut = untilOf(present.windows) > records.live.delivered
    const isBehind = level === 'full' || (level === 'high' && isLeftOut)
    const changed = isBehind ? { ...present, windows: extended(present.windows, records.live) } : present
    if (level === 'low' && changed.id === entry.id) this.#begin(entry)
    if (JSON.stringify(changed) === JSON.stringify(entry)) return
    const replaced = await bucket.replace(destination_id, JSON.stringify(changed), revision)
    written.set(destination_id, replaced ?? revision + 1)
    if (replaced !== undefined && newlyMissed > 0) occurrences.recordsMissed({ destination_id }, newlyMissed)
  }

  /** How far all pipelines are, and what left the stream before they got there. */
  async #progressed(
    entry: BehindDestination,
    { firstSequence, lastSequence }: Records,
  ): Promise<BehindDestination> {
    // Without a run there is nothing to ask: many destinations may be dead at the same time.
    const isRunning = this.#runs.has(entry.id)
    const position = isRunning
      ? await this.#deps.nats.consumerInfo(recordsStream, replayConsumer(entry.id))
      : undefined
    const ackFloor = position?.unacknowledged === 0 ? lastSequence : (position?.ackFloor ?? 0)
    const acknowledged = Math.max(entry.done, ackFloor)
    const missed = entry.missed + messagesWithin(entry.windows, acknowledged, firstSequence - 1)
    const done = Math.max(acknowledged, firstSequence - 1)
    return { ...entry, windows: undone(entry.windows, done), done, missed }
  }

  /** Replays the windows. The entry's windows may grow during the replay: a message behind them waits. */
  #begin({ id, account_id, destination_id, done }: BehindDestination): void {
    if (this.#runs.has(id)) return
    const has = (sequence: number): boolean | undefined => {
      const windows = this.#behind.of(destination_id)?.entry.windows ?? []
      return sequence < untilOf(windows) ? covers(windows, sequence) : undefined
    }
    const first = done + 1
    const all = { accountId: account_id, destinationId: destination_id, filter: null, types: null }
    const records = { id, ...all, first, has }
    this.#runs.set(id, new ReplayRun(records, this.#deps))
  }

  async close(): Promise<void> {
    this.#timer?.stop()
    this.#behind.close()
    this.#stop.abort()
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
    await Promise.all(this.#closing)
  }
}

/**
 * An entry of another run of sequences: after a restore of the stream, sequences above its end are assigned again, and
 * the consumer of the catch-up may be past them. Messages that the stream still has are caught up under another
 * id. A recreated stream has none of them.
 */
function continued(entry: BehindDestination, run: string, { identity, live }: Records): BehindDestination {
  if (entry.run === run || run === '' || !run.startsWith(identity)) return entry
  const kept = entry.run.startsWith(identity) ? entry.windows : []
  const end = live.delivered + 1
  const windows = kept
    .map(([from, until]) => [from, Math.min(until, end)] as const)
    .filter(([from, until]) => from < until)
  return { ...entry, id: newId('cu_'), run, windows, done: Math.min(entry.done, live.delivered) }
}
