/**
 * Replays: recorded traffic is processed again for one destination, because someone asked for it. All pipelines follow
 * the bucket of replays, do each one together (`replay-run.ts`), and write how far it is.
 */
import { now, sleep } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { waitForBucket } from '../nats/bucket.js'
import { BucketFollower } from '../nats/bucket-follower.js'
import { streamIdentity } from '../nats/streams.js'
import { hasSubscription } from '../produce/replayed-sources.js'
import { endedJob, JobBucket } from '../wire/job-bucket.js'
import { recordsStream, replayConsumer, replaysBucket } from '../wire/names.js'
import { replayJobs, type StoredReplay } from '../wire/replays.js'
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
    const closing = endReplay(replay.id, run, this.#deps, this.#stop.signal)
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
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
  readonly #run: ReplayRun
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>

  constructor(replay: StoredReplay, deps: ReplayDeps) {
    this.#replay = replay
    this.#deps = deps
    const { id, account_id, destination_id, filter, types = null, subscription_id, first } = replay
    this.#isKnown = subscription_id === undefined
    this.#run = new ReplayRun(
      {
        id,
        accountId: account_id,
        destinationId: destination_id,
        filter,
        types,
        subscriptionId: subscription_id,
        first,
        has: (sequence) => this.#has(sequence),
      },
      deps,
    )
    this.#watching = this.#watch()
  }

  follow(replay: StoredReplay): void {
    this.#replay = replay
  }

  #has(sequence: number): boolean | undefined {
    this.#isKnown ||= this.#hasSubscription()
    if (!this.#isKnown) return undefined
    const { open_until, last } = this.#replay
    return open_until !== undefined || sequence <= last
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
    const { nats, jobs, occurrences } = this.#deps
    const { id, account_id, first, stream } = this.#replay
    const records = await nats.streamInfo(recordsStream)
    const position = await nats.consumerInfo(recordsStream, replayConsumer(id))
    if (records === undefined) return false
    const change = (running: StoredReplay): StoredReplay => {
      if (streamIdentity(records) !== stream) return endedJob(running, { state: 'failed', error: recreated })
      if (position === undefined) return running
      const { ackFloor, unacknowledged } = position
      const done = Math.max(first - 1, ackFloor)
      if (running.open_until !== undefined) return stillOpen({ ...running, done }, records.state.last_seq)
      const isDone = ackFloor >= running.last || unacknowledged === 0
      return isDone ? endedJob(running, { state: 'done', done: running.last }) : { ...running, done }
    }
    const written = await jobs.change(account_id, id, change)
    if (written?.state === 'running') return false
    if (written !== undefined)
      occurrences.replayEnded({ replay: id, state: written.state, reason: written.error })
    return true
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#watching
    await this.#run.close()
  }
}

/** It ends with the record that is the last one when its time has come. */
function stillOpen({ open_until, ...replay }: StoredReplay, lastSequence: number): StoredReplay {
  const last = Math.max(lastSequence, replay.first - 1)
  const isOpen = open_until !== undefined && now() < Date.parse(open_until)
  return isOpen ? { ...replay, last, open_until } : { ...replay, last }
}

const recreated = 'The stream of records was recreated or restored while it was replayed.'
