/**
 * Replays: recorded traffic is processed again for one destination, because someone asked for it. All pipelines follow
 * the bucket of replays, do each one together (`replay-run.ts`), and write how far it is.
 */

import { endedJob, JobBucket } from '../../delivery/wire/job-bucket.js'
import { replayConsumer, replaysBucket } from '../../delivery/wire/names.js'
import { partitionNumbered } from '../../delivery/wire/partitions.js'
import {
  type NumberedPart,
  replayedParts,
  replayJobs,
  replaySeamMs,
  type StoredReplay,
  withParts,
} from '../../delivery/wire/replays.js'
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { BucketFollower } from '../../ground/nats/bucket-follower.js'
import { waitForBucket } from '../../ground/nats/bucket-stream.js'
import type { ConsumerPosition } from '../../ground/nats/consumers.js'
import { streamIdentity } from '../../ground/nats/streams.js'
import { hasSubscription } from '../produce/replayed-sources.js'
import { endReplay, ReplayRun, type ReplayRunDeps } from './replay-run.js'

const progressMs = 1_000

interface ReplayDeps extends ReplayRunDeps {
  readonly jobs: JobBucket<StoredReplay>
}

export async function openReplayWork(deps: ReplayRunDeps): Promise<Replays> {
  const jobs = new JobBucket(replayJobs, await waitForBucket(deps.nats, replaysBucket))
  const replays = new Replays({ ...deps, jobs })
  await replays.open()
  return replays
}

/** Follows the bucket: does what runs, and clears away what has ended. */
class Replays {
  readonly #deps: ReplayDeps
  readonly #follower: BucketFollower
  readonly #runs = new Map<string, RunningReplay>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stop = new AbortController()

  constructor(deps: ReplayDeps) {
    this.#deps = deps
    this.#follower = new BucketFollower(deps.jobs.bucket, {
      begin: () => ({
        entry: (entry) => {
          const replay = deps.jobs.read(entry)
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
      run?.follow(replay)
      if (run === undefined) this.#runs.set(replay.id, new RunningReplay(replay, this.#deps))
      return
    }
    this.#runs.delete(replay.id)
    const closing = this.#end(replay, run)
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }

  async #end(replay: StoredReplay, run: RunningReplay | undefined): Promise<void> {
    await run?.stop()
    const { id } = replay
    const ended = replayedParts(replay).map(({ partition }) =>
      endReplay(
        { id, partition: partitionNumbered(partition)! },
        run?.partIn(partition),
        this.#deps,
        this.#stop.signal,
      ),
    )
    await Promise.all(ended)
  }

  async close(): Promise<void> {
    this.#follower.close()
    this.#stop.abort()
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
    await Promise.all(this.#closing)
  }
}

class RunningReplay {
  /** As it was written last. */
  #replay: StoredReplay
  /** The subscription that it is for is in the configuration of this process, or was deleted. */
  #isKnown: boolean
  readonly #deps: ReplayDeps
  /** By the number of the partition. */
  readonly #parts: ReadonlyMap<number, ReplayRun>
  readonly #seenMs = monotonicMs()
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>

  constructor(replay: StoredReplay, deps: ReplayDeps) {
    this.#replay = replay
    this.#deps = deps
    const { id, account_id, destination_id, filter, types = null, subscription_id } = replay
    this.#isKnown = subscription_id === undefined
    const what = {
      id,
      accountId: account_id,
      destinationId: destination_id,
      filter,
      types,
      subscriptionId: subscription_id,
    }
    this.#parts = new Map(
      replayedParts(replay).map(({ partition: number, first }) => {
        const partition = partitionNumbered(number)!
        const has = (sequence: number): boolean | undefined => this.#has(number, sequence)
        return [number, new ReplayRun({ ...what, partition, first, has }, deps)]
      }),
    )
    this.#watching = this.#watch()
  }

  partIn(partition: number): ReplayRun | undefined {
    return this.#parts.get(partition)
  }

  follow(replay: StoredReplay): void {
    this.#replay = replay
  }

  #has(partition: number, sequence: number): boolean | undefined {
    this.#isKnown ||= this.#hasSubscription()
    if (!this.#isKnown) return undefined
    if (this.#replay.open_until !== undefined) return true
    return replayedParts(this.#replay).some((part) => part.partition === partition && sequence <= part.last)
  }

  /** A subscription that is still unknown when the replay gets its end was deleted. */
  #hasSubscription(): boolean {
    const { account_id, subscription_id = '', open_until } = this.#replay
    const { current } = this.#deps.configuration
    return open_until === undefined || hasSubscription(current, account_id, subscription_id)
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      await sleep(progressMs, signal)
      if (signal.aborted) return
      try {
        if (await this.#report()) return
      } catch (error) {
        this.#deps.occurrences.replayInterrupted({ replay: this.#replay.id, reason: messageOf(error) })
      }
    }
  }

  /** Writes how far all pipelines are; true if the replay has ended. */
  async #report(): Promise<boolean> {
    const { jobs, occurrences } = this.#deps
    const { id, account_id } = this.#replay
    const positions = new Map<number, Position>()
    for (const { partition } of replayedParts(this.#replay)) {
      const position = (await this.#positionIn(partition)) ?? this.#lostIn(partition)
      if (position === undefined) return false
      positions.set(partition, position)
    }
    // Not by `open_until`: the clock of the API that wrote it may be another one, and this one may be set.
    const isOpen = monotonicMs() - this.#seenMs < replaySeamMs
    const written = await jobs.change(account_id, id, (running) => progressed(running, positions, isOpen))
    if (written?.state === 'running') return false
    if (written !== undefined)
      occurrences.replayEnded({ replay: id, state: written.state, reason: written.error })
    return true
  }

  async #positionIn(partition: number): Promise<Position | undefined> {
    const { nats } = this.#deps
    const { recordsStream } = partitionNumbered(partition)!
    const records = await nats.streamInfo(recordsStream)
    const consumer = await nats.consumerInfo(recordsStream, replayConsumer(this.#replay.id))
    return records && { identity: streamIdentity(records), last: records.state.last_seq, consumer }
  }

  /** A missing stream will be made again, except that of a partition which was drained and deleted. */
  #lostIn(partition: number): Position | undefined {
    const isKept = this.#deps.partitions.all.some(({ number }) => number === partition)
    return isKept ? undefined : { identity: '', last: 0, consumer: undefined }
  }

  /** Leaves the parts to be closed. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  async close(): Promise<void> {
    await this.stop()
    await Promise.all([...this.#parts.values()].map((part) => part.close()))
  }
}

/** How far all pipelines are in the records of a partition. */
interface Position {
  readonly identity: string
  /** The last record. */
  readonly last: number
  readonly consumer: Pick<ConsumerPosition, 'ackFloor' | 'unacknowledged'> | undefined
}

function progressed(
  running: StoredReplay,
  positions: ReadonlyMap<number, Position>,
  isOpen: boolean,
): StoredReplay {
  const parts = replayedParts(running).map((part) => ({ part, position: positions.get(part.partition)! }))
  if (parts.some(({ part, position }) => part.stream !== position.identity))
    return endedJob(running, { state: 'failed', error: recreated })
  const { open_until, ...closed } = running
  if (open_until === undefined) {
    const moved = withParts(running, parts.map(movedPart))
    const isDone = replayedParts(moved).every(({ done, last }) => done >= last)
    return isDone ? endedJob(moved, { state: 'done' }) : moved
  }
  if (parts.some(({ position }) => position.consumer === undefined)) return running
  return withParts(isOpen ? running : closed, parts.map(openPart))
}

interface PartAt {
  readonly part: NumberedPart
  readonly position: Position
}

/** The part, with how far it is. */
function movedPart({ part, position: { consumer } }: PartAt): NumberedPart {
  if (consumer === undefined) return part
  const { first, last } = part
  const { ackFloor, unacknowledged } = consumer
  const isDone = ackFloor >= last || unacknowledged === 0
  return { ...part, done: isDone ? last : Math.max(first - 1, ackFloor) }
}

/** The same without an end: it ends with the record that is the last one when its time has come. */
const openPart = ({ part, position: { last, consumer } }: PartAt): NumberedPart => ({
  ...part,
  done: Math.max(part.first - 1, consumer?.ackFloor ?? 0),
  last: Math.max(last, part.first - 1),
})

const recreated = 'A stream of records was deleted, recreated or restored while it was replayed.'
