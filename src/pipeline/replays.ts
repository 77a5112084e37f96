/**
 * Replays: recorded traffic is processed again for one destination. Each replay is an intake of its own, over the same
 * stream of records but with its own consumer, which all pipelines share:
 *
 *     bucket of replays ▸ pull from its first record ▸ walk for one destination ▸ packs ▸ ledger (`replay.<id>`)
 *
 * Events have the ids that they had before, because an id depends on the record and the subscription only. What is
 * evaluated is the configuration in force. Live records come first: while they wait, a replay takes a twentieth of the
 * time, and none while the stream of deliveries fills up.
 */
import { noRecords } from '../books/books.js'
import type { InputCounts, LedgerWriter, SourceTally } from '../books/ledger.js'
import { isoMillis, monotonicMs, now, sleep, yieldTurn } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Occurrences } from '../core/occurrences.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { type Bucket, waitForBucket } from '../nats/bucket.js'
import { BucketFollower } from '../nats/bucket-follower.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { streamIdentity } from '../nats/streams.js'
import type { Configuration } from '../produce/configuration.js'
import { replayedView } from '../produce/replayed-sources.js'
import type { TrafficView } from '../produce/traffic-view.js'
import type { GeoLookup } from '../record/geo.js'
import { deliveriesStream, recordsStream, replayConsumer, replaysBucket } from '../wire/names.js'
import { changeReplay, replayIn, replayKey, type StoredReplay } from '../wire/replays.js'
import { Intake, type ProcessedMessage } from './intake.js'
import type { InputMessage } from './packs.js'
import { walkMessage } from './process-record.js'

/** Messages in flight, in all pipelines together. */
const ackPendingMax = 16
/** The part of the time that a replay takes while live records wait. */
const timeShare = 0.05
/** A replay waits while the stream of deliveries is fuller than this. */
const backlogShareMax = 0.5
const progressMs = 1_000
/** After the end of a replay, until every pipeline has heard of it. */
const consumerKeptMs = 15_000
const giveWayLookMs = 50

interface ReplayDeps {
  readonly nats: Nats
  readonly bucket: Bucket
  readonly configuration: Configuration
  readonly eventKinds: readonly AnyTrafficEvent[]
  readonly geo: GeoLookup
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  /** Do live records wait? */
  readonly isBusy: () => boolean
}

export async function openReplayWork(deps: Omit<ReplayDeps, 'bucket'>): Promise<Replays> {
  const replays = new Replays({ ...deps, bucket: await waitForBucket(deps.nats, replaysBucket) })
  await replays.open()
  return replays
}

/** Follows the bucket: does what runs, and clears away what has ended. */
class Replays {
  readonly #deps: ReplayDeps
  readonly #follower: BucketFollower
  readonly #runs = new Map<string, ReplayRun>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stop = new AbortController()

  constructor(deps: ReplayDeps) {
    this.#deps = deps
    this.#follower = new BucketFollower(deps.bucket, {
      begin: () => ({
        entry: (entry) => {
          const replay = replayIn(entry)
          if (replay !== undefined) this.#adapt(replay)
        },
        current: () => {},
      }),
    })
  }

  open(): Promise<void> {
    return this.#follower.open()
  }

  #adapt(replay: StoredReplay): void {
    const run = this.#runs.get(replay.id)
    if (replay.state === 'running') {
      if (run === undefined) this.#runs.set(replay.id, new ReplayRun(replay, this.#deps))
      return
    }
    this.#runs.delete(replay.id)
    const closing = this.#clear(replay, run).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  /** The consumer goes last: a pipeline that has not heard of the end would make it again, from its beginning. */
  async #clear({ id }: StoredReplay, run: ReplayRun | undefined): Promise<void> {
    const { nats, ledger, occurrences } = this.#deps
    try {
      await run?.close()
      if (run !== undefined) await ledger.write([{ type: 'replay_ended', stream: `replay.${id}` }])
      await sleep(consumerKeptMs, this.#stop.signal)
      if (!this.#stop.signal.aborted) await nats.deleteConsumer(recordsStream, replayConsumer(id))
    } catch (error) {
      if (!this.#stop.signal.aborted) occurrences.replayInterrupted({ replay: id, reason: messageOf(error) })
    }
  }

  async close(): Promise<void> {
    this.#follower.close()
    this.#stop.abort()
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
    await Promise.all(this.#closing)
  }
}

/** The part of this process in a replay. */
class ReplayRun {
  readonly #replay: StoredReplay
  readonly #deps: ReplayDeps
  readonly #intake: Intake
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>
  #view: { readonly of: TrafficView; readonly restricted: TrafficView } | undefined
  /** The stream of deliveries has no room for more. */
  #isHeld = false

  constructor(replay: StoredReplay, deps: ReplayDeps) {
    this.#replay = replay
    this.#deps = deps
    const { nats, ledger, occurrences } = deps
    const { id } = replay
    const interrupted = (error: unknown): void =>
      occurrences.replayInterrupted({ replay: id, reason: messageOf(error) })
    this.#intake = new Intake({
      nats,
      ledger,
      stream: recordsStream,
      consumer: { name: replayConsumer(id), firstSequence: replay.first },
      input: `replay.${id}`,
      ackPendingMax,
      process: (message, input) => this.#process(message, input),
      unavailable: interrupted,
      unstored: interrupted,
      stoppedEarly: (messages) => occurrences.stoppedEarly({ input: id, messages }),
    })
    this.#intake.open()
    this.#watching = this.#watch()
  }

  // --- a message of records ---

  async #process(message: PulledMessage, input: InputMessage): Promise<ProcessedMessage> {
    const begunMs = monotonicMs()
    const sources = await this.#walk(message, input)
    await this.#giveWay((monotonicMs() - begunMs) * (1 / timeShare - 1))
    return { counts: replayedCounts(sources) }
  }

  async #walk(
    { storedAtMs, data, sequence }: PulledMessage,
    input: InputMessage,
  ): Promise<readonly SourceTally[]> {
    const { packs } = this.#intake
    const buffers = packs.buffersFor(input)
    try {
      if (sequence > this.#replay.last) return []
      const context = { view: this.#viewNow(), geo: this.#deps.geo, buffers }
      const walk = walkMessage({ bytes: data, storedAtMs }, context)
      for (let step = walk.next(); ; step = walk.next()) {
        // A record that is bad, or has no result, was reported when it came.
        if (step.done) return step.value.counts.sources
        await yieldTurn()
        await packs.roomToFill()
      }
    } finally {
      buffers.close()
    }
  }

  #viewNow(): TrafficView {
    const { configuration, eventKinds } = this.#deps
    const { current } = configuration
    if (this.#view?.of !== current) {
      const { account_id, destination_id, filter } = this.#replay
      const events = { accountId: account_id, destinationId: destination_id, filter }
      this.#view = { of: current, restricted: replayedView(current, events, eventKinds) }
    }
    return this.#view.restricted
  }

  /** Waits so long while live records wait, and as long as there is no room for events. */
  async #giveWay(ms: number): Promise<void> {
    const { signal } = this.#stop
    for (let waitedMs = 0; !signal.aborted; waitedMs += giveWayLookMs) {
      const isDue = waitedMs >= ms || !this.#deps.isBusy()
      if (isDue && !this.#isHeld) return
      await sleep(giveWayLookMs, signal)
    }
  }

  // --- how far it is ---

  async #watch(): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      await sleep(progressMs, signal)
      if (signal.aborted) return
      try {
        this.#isHeld = await this.#isFull()
        if (await this.#report()) return
      } catch (error) {
        this.#deps.occurrences.replayInterrupted({ replay: this.#replay.id, reason: messageOf(error) })
      }
    }
  }

  async #isFull(): Promise<boolean> {
    const info = await this.#deps.nats.streamInfo(deliveriesStream)
    return info !== undefined && info.state.bytes > info.config.max_bytes * backlogShareMax
  }

  /** Writes how far all pipelines are; true if the replay has ended. */
  async #report(): Promise<boolean> {
    const { nats, bucket, occurrences } = this.#deps
    const { id, first, last, stream } = this.#replay
    const records = await nats.streamInfo(recordsStream)
    const position = await nats.consumerInfo(recordsStream, replayConsumer(id))
    if (records === undefined) return false
    const change = (running: StoredReplay): StoredReplay => {
      if (streamIdentity(records) !== stream) return ended(running, { state: 'failed', error: recreated })
      if (position === undefined) return running
      const { ackFloor, unacknowledged } = position
      const isDone = ackFloor >= last || unacknowledged === 0
      if (isDone) return ended(running, { state: 'done', done: last })
      return { ...running, done: Math.max(first - 1, ackFloor) }
    }
    const written = await changeReplay(bucket, replayKey(this.#replay), change)
    if (written?.state === 'running') return false
    if (written !== undefined)
      occurrences.replayEnded({ replay: id, state: written.state, reason: written.error })
    return true
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#watching
    await this.#intake.close()
  }
}

const ended = (replay: StoredReplay, changes: Partial<StoredReplay>): StoredReplay => ({
  ...replay,
  ended_at: isoMillis(now()),
  ...changes,
})

const recreated = 'The stream of records was recreated or restored while it was replayed.'

/** Records were counted when they came. In the books, replayed events are a kind of their own. */
function replayedCounts(sources: readonly SourceTally[]): InputCounts {
  const bySubscription = new Map<string, SourceTally>()
  for (const [subscription, , destination, produced, filtered] of sources) {
    const [, , , ...known] = bySubscription.get(subscription) ?? ['', '', '', 0, 0]
    const tally = [produced + known[0], filtered + known[1]] as const
    bySubscription.set(subscription, [subscription, replayedKind, destination, ...tally])
  }
  return { ...noRecords, sources: [...bySubscription.values()] }
}

const replayedKind = 'replayed'
