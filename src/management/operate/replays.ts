/** Begins, shows and cancels replays; pipelines do them (`pipeline/replay-work.ts`). */

import { endedJob, type JobBucket, openJobBucket } from '../../delivery/wire/job-bucket.js'
import { type Partition, type PartitionSet, recordsSubjects } from '../../delivery/wire/partitions.js'
import {
  type NumberedPart,
  replayIdPrefix,
  replayJobs,
  replaySeamMs,
  type StoredReplay,
  withParts,
} from '../../delivery/wire/replays.js'
import { isoMillis, now } from '../../ground/core/clock.js'
import { conflict, unavailable, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import type { Nats } from '../../ground/nats/nats.js'
import { firstSince } from '../../ground/nats/stream-replay.js'
import { streamIdentity } from '../../ground/nats/streams.js'

/** Replays of a deployment that run at the same time. */
const replaysAtOnceMax = 20

interface ReplayOrder {
  readonly accountId: string
  readonly destinationId: string
  /** Milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
  readonly filter: string | null
  readonly types: readonly string[] | null
  readonly types_left_out: readonly string[]
}

interface SubscriptionStart extends Pick<ReplayOrder, 'accountId' | 'destinationId' | 'fromMs'> {
  /** The id of the replay. */
  readonly id: string
  readonly subscriptionId: string
}

interface ReplaysOptions {
  readonly nats: Pick<Nats, 'streamInfo' | 'stored'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly jobs: JobBucket<StoredReplay>
  /** Records are kept for so long. */
  readonly retentionMs: number
}

interface OpenReplaysOptions {
  readonly nats: Nats
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly bucketBytesMax: number
  readonly retentionMs: number
}

export const openReplays = async ({
  nats,
  partitions,
  bucketBytesMax,
  retentionMs,
}: OpenReplaysOptions): Promise<Replays> =>
  new Replays({ nats, partitions, jobs: await openJobBucket(nats, replayJobs, bucketBytesMax), retentionMs })

export class Replays {
  readonly #options: ReplaysOptions

  constructor(options: ReplaysOptions) {
    this.#options = options
  }

  get retentionMs(): number {
    return this.#options.retentionMs
  }

  async start(order: ReplayOrder): Promise<StoredReplay> {
    const { accountId, destinationId, fromMs, toMs, filter, types, types_left_out } = order
    const running = await this.#running()
    const other = running.find(({ destination_id }) => destination_id === destinationId)
    if (other !== undefined)
      throw conflict(`The replay ${other.id} of this destination is running: wait for its end, or cancel it.`)
    checkRoom(running.length, 1)
    const replay = {
      id: newId(replayIdPrefix),
      account_id: accountId,
      destination_id: destinationId,
      from: isoMillis(fromMs),
      to: isoMillis(toMs),
      filter,
      types,
      types_left_out,
      state: 'running' as const,
      created_at: isoMillis(now()),
      ended_at: null,
      error: null,
    }
    const parts = await this.#messagesBetween(fromMs, toMs)
    const isEmpty = parts.every(({ first, last }) => first > last)
    const ended = isEmpty ? { state: 'done' as const, ended_at: replay.created_at } : {}
    const stored = withParts({ ...replay, ...ended }, parts)
    if (!(await this.#options.jobs.create(accountId, stored)))
      throw new Error(`The replay ${stored.id} was written before.`)
    return stored
  }

  async #running(): Promise<StoredReplay[]> {
    const { jobs } = this.#options
    await jobs.ensure()
    return (await jobs.list()).filter(({ state }) => state === 'running')
  }

  // --- a subscription that starts in the past ---

  /** Throws a `WeirError` if so many more would be too many. */
  async checkRoomFor(count: number): Promise<void> {
    checkRoom((await this.#running()).length, count)
  }

  /**
   * Begins the replay of a new subscription, unless that was done before. It goes on with the records that come in until
   * every pipeline evaluates them with the subscription: some are evaluated twice, and none is left out.
   */
  async startSubscription(start: SubscriptionStart): Promise<void> {
    const { id, accountId, subscriptionId, destinationId, fromMs } = start
    const { jobs } = this.#options
    await jobs.ensure()
    if ((await jobs.get(accountId, id)) !== undefined) return
    const nowMs = now()
    const openUntil = isoMillis(nowMs + replaySeamMs)
    const replay = {
      id,
      account_id: accountId,
      destination_id: destinationId,
      from: isoMillis(fromMs),
      to: openUntil,
      filter: null,
      subscription_id: subscriptionId,
      open_until: openUntil,
      state: 'running' as const,
      created_at: isoMillis(nowMs),
      ended_at: null,
      error: null,
    }
    // Another process that carries out the same request may be first.
    await jobs.create(accountId, withParts(replay, await this.#messagesBetween(fromMs, nowMs)))
  }

  /** The messages of records that were stored from one time to the other, both included, in each partition. */
  #messagesBetween(fromMs: number, toMs: number): Promise<NumberedPart[]> {
    const { all } = this.#options.partitions
    return Promise.all(all.map((partition) => this.#partBetween(partition, fromMs, toMs)))
  }

  async #partBetween(
    { number, recordsStream }: Partition,
    fromMs: number,
    toMs: number,
  ): Promise<NumberedPart> {
    const { nats } = this.#options
    const info = await nats.streamInfo(recordsStream)
    if (info === undefined) throw unavailable('The stream of records is missing.')
    const records = nats.stored(recordsStream, recordsSubjects)
    const first = await firstSince(records, info.state, fromMs)
    const last = (await firstSince(records, info.state, toMs + 1)) - 1
    return { partition: number, stream: streamIdentity(info), first, last, done: first - 1 }
  }

  /** The replays of an account, newest first. */
  async list(accountId: string): Promise<StoredReplay[]> {
    const replays = await this.#options.jobs.list(accountId)
    return replays.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Undefined if the account has no such replay, or it has expired. */
  get(accountId: string, id: string): Promise<StoredReplay | undefined> {
    return this.#options.jobs.get(accountId, id)
  }

  /** Resolves with the replay: one that had ended is unchanged. */
  cancel(accountId: string, id: string): Promise<StoredReplay | undefined> {
    return this.#options.jobs.change(accountId, id, (running) => endedJob(running, { state: 'cancelled' }))
  }
}

function checkRoom(running: number, more: number): void {
  if (running + more <= replaysAtOnceMax) return
  throw new WeirError('ERR_RATE_LIMIT', 'Too many replays are running: wait for one of them.', {
    retryAfterSeconds: 60,
  })
}
