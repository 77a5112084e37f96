/**
 * Destinations that are behind (`wire/behind.ts`): which messages the live walk leaves them out of, and how they get
 * these later. Every second, each pipeline looks at the shares:
 *
 *     share full ▸ a window of records begins, and is extended while the backlog stays high
 *     backlog low again ▸ live records go to the destination again ▸ those of the windows are replayed
 *     everything in the windows is done ▸ the entry is removed
 */

import {
  type BehindDestination,
  BehindEntries,
  behindKey,
  covers,
  extended,
  firstWaiting,
  messagesWithin,
  newWindow,
  partitionOf,
  type StoredBehind,
  undone,
  untilOf,
} from '../../delivery/wire/behind.js'
import { behindBucket, replayConsumer } from '../../delivery/wire/names.js'
import type { Partition } from '../../delivery/wire/partitions.js'
import { every, isoMillis, monotonicMs, now, sleep, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { LastingFailure } from '../../ground/core/lasting.js'
import { waitForBucket } from '../../ground/nats/bucket-stream.js'
import { keepsRecords } from '../../words/resource/event-destination.js'
import type { FindDestination } from '../../words/view/destinations.js'
import type { TrafficView } from '../produce/compiled-configuration.js'
import { viewWithout } from '../produce/replayed-sources.js'
import type { InputMessage } from './open-pack.js'
import { continued, type Records, RecordsPosition } from './records-position.js'
import { endReplay, ReplayRun, type ReplayRunDeps } from './replay-run.js'

const lookEveryMs = 1_000
/** How long a start waits for the entries, and a look for the entries that it wrote. */
const entriesWithinMs = 2_000
const entriesLookMs = 5

interface CatchUpsDeps extends ReplayRunDeps {
  readonly bucket: ConstructorParameters<typeof BehindEntries>[0]
  readonly destinationOf: FindDestination
}

export async function openCatchUps(deps: Omit<CatchUpsDeps, 'bucket'>): Promise<CatchUps> {
  const catchUps = new CatchUps({ ...deps, bucket: await waitForBucket(deps.nats, behindBucket) })
  await catchUps.open()
  return catchUps
}

/** The first message that a new window holds. */
type From = { readonly partition: Partition; readonly sequence: number }

export class CatchUps {
  readonly #deps: CatchUpsDeps
  readonly #behind: BehindEntries
  /** By the id of the catch-up. */
  readonly #runs = new Map<string, ReplayRun>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #timer: Timer | undefined
  /** Each by the number of the partition. */
  readonly #positions: RecordsPosition[] = []
  readonly #views: { readonly of: TrafficView; readonly without: string; readonly view: TrafficView }[] = []
  #looking: Promise<void> = Promise.resolve()
  #isLeftToMessage = false
  readonly #unknownShares = new LastingFailure((error) => {
    if (!this.#stop.signal.aborted) this.#deps.occurrences.sharesUnknown({ reason: messageOf(error) })
  })

  constructor(deps: CatchUpsDeps) {
    this.#deps = deps
    this.#behind = new BehindEntries(deps.bucket, (entry) => this.#end(entry), 'stays')
  }

  async open(): Promise<void> {
    await this.#behind.open()
    // Without the entries, events would be stored that the destinations get again later.
    await Promise.race([this.#behind.read, sleep(entriesWithinMs, this.#stop.signal)])
    this.#timer = every(lookEveryMs, () => this.#looked())
  }

  #end(entry: BehindDestination): void {
    const { id } = entry
    const replayed = { id, partition: partitionOf(entry) }
    const closing = endReplay(replayed, this.#runs.get(id), this.#deps, this.#stop.signal)
    this.#runs.delete(id)
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }

  /** The configuration for a message of live records: without the destinations that get its events later. */
  viewFor(
    partition: Partition,
    view: TrafficView,
    { sequence, since }: Pick<InputMessage, 'sequence' | 'since'>,
  ): TrafficView {
    this.#positionIn(partition).run = since
    if (this.#behind.size === 0) return view
    const leftOut = [...this.#behind.all()]
      .map(({ entry }) => entry)
      .filter((entry) => entry.run === since && partitionOf(entry) === partition)
      .filter(({ windows }) => covers(windows, sequence))
    if (leftOut.length === 0) return view
    const without = leftOut.map(({ id }) => id).join()
    const last = this.#views[partition.number]
    if (last?.of === view && last.without === without) return last.view
    const restricted = viewWithout(view, leftOut)
    this.#views[partition.number] = { of: view, without, view: restricted }
    return restricted
  }

  #positionIn(partition: Partition): RecordsPosition {
    this.#positions[partition.number] ??= new RecordsPosition(this.#deps.nats, partition, lookEveryMs)
    return this.#positions[partition.number]!
  }

  /** The first message that must stay in the stream of records; none may leave until the entries are known. */
  keptFrom(partition: Partition): number {
    if (!this.#behind.isComplete) return 0
    const isKept = (id: string): boolean => {
      const row = this.#deps.destinationOf(id)
      return row === undefined || (row !== null && keepsRecords(row))
    }
    const kept = [...this.#behind.all()].filter(
      ({ entry }) => partitionOf(entry) === partition && isKept(entry.destination_id),
    )
    return Math.min(...kept.map(({ entry }) => firstWaiting(entry)))
  }

  /**
   * If a destination may have used its share since the last look, the message waits for another one and is the first that
   * is not stored for this destination; else undefined.
   */
  shareCheck(partition: Partition, sequence: number): Promise<void> | undefined {
    return this.#deps.shares.isOutgrown ? this.#looked({ partition, sequence }) : undefined
  }

  /** Looks, one time after another. `from`: the first message that a new window holds. */
  #looked(from?: From): Promise<void> {
    this.#looking = this.#looking.then(() => this.#unknownShares.watch(() => this.#look(from)))
    return this.#looking
  }

  async #look(from?: From): Promise<void> {
    const { shares } = this.#deps
    if (this.#behind.size === 0 && !shares.isDue) return
    await shares.look()
    if (!shares.isCounting && this.#behind.size === 0) return
    const records = await this.#records(from)
    if (records.size === 0) return
    const written = new Map<string, number>()
    for (const stored of [...this.#behind.all()]) {
      const own = records.get(stored.entry.partition ?? 0)
      if (own !== undefined) await this.#tend(stored, own, written)
    }
    const full = [...records.values()].flatMap((own) => this.#unknownFull(own))
    // A window of this look begins after a burst of records that wait here. The next message of the partition knows better.
    const here = full.filter(([, { partition }]) => from === undefined || from.partition === partition)
    const isLeft = this.#isLeftToMessage
    this.#isLeftToMessage = from ? isLeft && full.length > here.length : full.length > 0 && !isLeft
    if (from === undefined && this.#isLeftToMessage) shares.outgrow()
    else for (const [id, own] of here) await this.#leaveBehind(id, own, written)
    if (from !== undefined) await this.#known(written)
  }

  /** Destinations that have used their share, and have no entry for these records yet. */
  #unknownFull(records: Records): [destination: string, records: Records][] {
    const { number } = records.partition
    return [...this.#deps.shares.full()]
      .filter((id) => this.#behind.of(id, number) === undefined)
      .map((id) => [id, records])
  }

  /** The present state of each partition, by its number. */
  async #records(from: From | undefined): Promise<ReadonlyMap<number, Records>> {
    const all = await Promise.all(
      this.#deps.partitions.all.map((partition) =>
        this.#positionIn(partition).now(from?.partition === partition ? from.sequence : undefined),
      ),
    )
    return new Map(
      all.flatMap((records) => (records === undefined ? [] : [[records.partition.number, records]])),
    )
  }

  /** Waits, for a short time, until entries of these keys and revisions, or later ones, have been read. */
  async #known(revisions: ReadonlyMap<string, number>): Promise<void> {
    const untilMs = monotonicMs() + entriesWithinMs
    const isKnown = ([key, revision]: readonly [string, number]): boolean =>
      (this.#behind.withKey(key)?.revision ?? 0) >= revision
    while (![...revisions].every(isKnown) && monotonicMs() < untilMs && !this.#stop.signal.aborted)
      await sleep(entriesLookMs, this.#stop.signal)
  }

  async #leaveBehind(
    destination: string,
    { partition, run, identity, live }: Records,
    written: Map<string, number>,
  ): Promise<void> {
    const { bucket, destinationOf, occurrences } = this.#deps
    const row = destinationOf(destination)
    if (!row || !run.startsWith(identity)) return
    const key = behindKey(destination, partition.number)
    const stored = await bucket.get(key)
    if (stored?.value !== undefined) return void written.set(key, stored.revision)
    const window = newWindow(live)
    const entry: BehindDestination = {
      id: newId('cu_'),
      account_id: row.account_id,
      destination_id: destination,
      ...(partition.number > 0 && { partition: partition.number }),
      since: isoMillis(now()),
      run,
      windows: [window],
      done: window[0] - 1,
      missed: 0,
    }
    const revision = await bucket.replace(key, JSON.stringify(entry), stored?.revision ?? 0)
    // If another pipeline was first, its entry counts.
    written.set(key, revision ?? 1)
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
    const key = behindKey(destination_id, records.partition.number)
    // NATS has lost it. Without it, nobody would process what was left out.
    if (revision === 0) return void (await bucket.replace(key, JSON.stringify(entry), 0))
    const present = continued(await this.#progressed(entry, records), records)
    const { missed } = present
    const newlyMissed = missed - entry.missed
    const isDeleted = destinationOf(destination_id) === null
    if (isDeleted || present.windows.length === 0) {
      if (!(await bucket.remove(key, revision)) || isDeleted) return
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
    const replaced = await bucket.replace(key, JSON.stringify(changed), revision)
    written.set(key, replaced ?? revision + 1)
    if (replaced !== undefined && newlyMissed > 0) occurrences.recordsMissed({ destination_id }, newlyMissed)
  }

  /** How far all pipelines are, and what left the stream before they got there. */
  async #progressed(
    entry: BehindDestination,
    { partition, firstSequence, lastSequence }: Records,
  ): Promise<BehindDestination> {
    // Without a run there is nothing to ask: many destinations may be dead at the same time.
    const isRunning = this.#runs.has(entry.id)
    const position = isRunning
      ? await this.#deps.nats.consumerInfo(partition.recordsStream, replayConsumer(entry.id))
      : undefined
    const ackFloor = position?.unacknowledged === 0 ? lastSequence : (position?.ackFloor ?? 0)
    const acknowledged = Math.max(entry.done, ackFloor)
    const missed = entry.missed + messagesWithin(entry.windows, acknowledged, firstSequence - 1)
    const done = Math.max(acknowledged, firstSequence - 1)
    return { ...entry, windows: undone(entry.windows, done), done, missed }
  }

  /** Replays the windows. The entry's windows may grow during the replay: a message behind them waits. */
  #begin(entry: BehindDestination): void {
    const { id, account_id, destination_id, done } = entry
    const partition = partitionOf(entry)
    if (this.#runs.has(id)) return
    const has = (sequence: number): boolean | undefined => {
      const windows = this.#behind.of(destination_id, partition.number)?.entry.windows ?? []
      return sequence < untilOf(windows) ? covers(windows, sequence) : undefined
    }
    const first = done + 1
    const all = { accountId: account_id, destinationId: destination_id, filter: null, types: null }
    const records = { id, partition, ...all, first, has }
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
