/** Begins, shows and cancels replays; pipelines do them (`pipeline/replay-work.ts`). */
import { isoMillis, now } from '../core/clock.js'
import { conflict, unavailable, WeirError } from '../core/errors.js'
import { isId, newId } from '../core/ids.js'
import type { Bucket } from '../nats/bucket.js'
import type { Nats } from '../nats/nats.js'
import { firstSince } from '../nats/stream-replay.js'
import { streamIdentity } from '../nats/streams.js'
import { recordsStream, recordsSubjects, replaysBucket } from '../wire/names.js'
import { changeReplay, replayIdPrefix, replayIn, replayKey, type StoredReplay } from '../wire/replays.js'

/**
 * A pipeline may evaluate records without a new subscription for so long. A lost watch of the configuration is noticed
 * within 20 s and resumed.
 */
const replaySeamMs = 30_000
/** Replays of a deployment that run at the same time. */
const replaysAtOnceMax = 20
/** A replay can be looked up for so long. */
const replayAgeMaxMs = 7 * 24 * 60 * 60_000
const replaysBytesMax = 8 * 1024 * 1024

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
  readonly bucket: Bucket
  /** Makes the bucket again if NATS has lost it. */
  readonly ensureBucket: () => Promise<unknown>
  /** Records are kept for so long. */
  readonly retentionMs: number
}

/** A client waits for the answer. */
const patienceMs = 5_000

/** `bucketBytesMax`: of any small bucket. */
export async function openReplays({
  nats,
  bucketBytesMax,
  retentionMs,
}: {
  readonly nats: Nats
  readonly bucketBytesMax: number
  readonly retentionMs: number
}): Promise<Replays> {
  const options = { patienceMs, ageMaxMs: replayAgeMaxMs }
  const ensureBucket = () =>
    nats.openBucket(replaysBucket, Math.min(bucketBytesMax, replaysBytesMax), options)
  return new Replays({ nats, bucket: await ensureBucket(), ensureBucket, retentionMs })
}

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
    const { bucket } = this.#options
    const running = await this.#running()
    const other = running.find(({ destination_id }) => destination_id === destinationId)
    if (other !== undefined)
      throw conflict(`The replay ${other.id} of this destination is running: wait for its end, or cancel it.`)
    checkRoom(running.length, 1)
    const replay: StoredReplay = {
      id: newId(replayIdPrefix),
      account_id: accountId,
      destination_id: destinationId,
      from: isoMillis(fromMs),
      to: isoMillis(toMs),
      filter,
      types,
      types_left_out,
      state: 'running',
      created_at: isoMillis(now()),
      ended_at: null,
      error: null,
      ...(await this.#messagesBetween(fromMs, toMs)),
    }
    const stored =
      replay.first > replay.last ? { ...replay, state: 'done' as const, ended_at: replay.created_at } : replay
    if ((await bucket.replace(replayKey(replay), JSON.stringify(stored), 0)) === undefined)
      throw new Error(`The key ${replayKey(replay)} was written before.`)
    return stored
  }

  async #running(): Promise<StoredReplay[]> {
    await this.#options.ensureBucket()
    return (await replaysIn(this.#options.bucket, '*')).filter(({ state }) => state === 'running')
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
    const { bucket, ensureBucket } = this.#options
    await ensureBucket()
    const key = replayKey({ account_id: accountId, id })
    if ((await bucket.get(key)) !== undefined) return
    const nowMs = now()
    const openUntil = isoMillis(nowMs + replaySeamMs)
    const replay: StoredReplay = {
      id,
      account_id: accountId,
      destination_id: destinationId,
      from: isoMillis(fromMs),
      to: openUntil,
      filter: null,
      subscription_id: subscriptionId,
      open_until: openUntil,
      state: 'running',
      created_at: isoMillis(nowMs),
      ended_at: null,
      error: null,
      ...(await this.#messagesBetween(fromMs, nowMs)),
    }
    // Another process that carries out the same request may be first.
    await bucket.replace(key, JSON.stringify(replay), 0)
  }

  /** The messages of records that were stored from one time to the other, both included. */
  async #messagesBetween(
    fromMs: number,
    toMs: number,
  ): Promise<Pick<StoredReplay, 'stream' | 'first' | 'last' | 'done'>> {
    const { nats } = this.#options
    const info = await nats.streamInfo(recordsStream)
    if (info === undefined) throw unavailable('The stream of records is missing.')
    const records = nats.stored(recordsStream, recordsSubjects)
    const first = await firstSince(records, info.state, fromMs)
    const last = (await firstSince(records, info.state, toMs + 1)) - 1
    return { stream: streamIdentity(info), first, last, done: first - 1 }
  }

  /** Those of an account, newest first. */
  async list(accountId: string): Promise<StoredReplay[]> {
    const replays = await replaysIn(this.#options.bucket, accountId)
    return replays.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  }

  /** Undefined if the account has no such replay, or its time is over. */
  async get(accountId: string, id: string): Promise<StoredReplay | undefined> {
    if (!isId(replayIdPrefix, id)) return undefined
    const entry = await this.#options.bucket.get(replayKey({ account_id: accountId, id }))
    return entry && replayIn(entry)
  }

  /** The replay after it: one that had ended is as it was. */
  async cancel(accountId: string, id: string): Promise<StoredReplay | undefined> {
    if (!isId(replayIdPrefix, id)) return undefined
    const cancelled = { state: 'cancelled', ended_at: isoMillis(now()) } as const
    return changeReplay(this.#options.bucket, replayKey({ account_id: accountId, id }), (running) => ({
      ...running,
      ...cancelled,
    }))
  }
}

async function replaysIn(bucket: Bucket, accountId: string): Promise<StoredReplay[]> {
  const replays: StoredReplay[] = []
  for (const key of await bucket.keys(replayKey({ account_id: accountId, id: '*' }))) {
    const entry = await bucket.get(key)
    const replay = entry && replayIn(entry)
    if (replay !== undefined) replays.push(replay)
  }
  return replays
}

function checkRoom(running: number, more: number): void {
  if (running + more <= replaysAtOnceMax) return
  throw new WeirError('ERR_RATE_LIMIT', 'Too many replays are running: wait for one of them.', {
    retryAfterSeconds: 60,
  })
}
