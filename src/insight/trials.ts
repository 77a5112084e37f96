/**
 * The trials of all accounts. Each runs in a process that this API starts; its state is in a bucket, so that any API
 * process answers for it and can cancel it:
 *
 *     trial.<account>.<id>   the trial; its API replaces it by compare-and-set while it runs
 *     latest.<account>       the id of the account's latest trial: it must end before another one begins
 *
 * A trial is cancelled by writing that state. Its API notices at its next report, and ends the process.
 */
import { jsonOf } from '../core/bytes.js'
import { every, isoMillis, now, type Timer } from '../core/clock.js'
import { messageOf, WeirError } from '../core/errors.js'
import { isId, newId } from '../core/ids.js'
import { trialProgressMs } from '../core/limits.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { IpRule } from '../evaluate/policy-source.js'
import type { Bucket } from '../nats/bucket.js'
import type { Nats } from '../nats/nats.js'
import { type Trial, trialIdPrefix } from '../shape/trial.js'
import type { TrialJob } from '../trial/trial-child.js'
import type { RunningTrial, StartTrial } from '../trial/trial-process.js'
import { trialsBucket } from '../wire/names.js'

/** Trials at the same time in one API process. An account has one at a time in the whole deployment. */
const trialsAtOnceMax = 3
/** A trial that was silent for so long has lost its process. */
const trialSilentMs = 30_000
/** Results are kept for this long. */
const trialAgeMaxMs = 60 * 60_000
/** The bucket of results; the oldest ones make room. */
const trialsBytesMax = 32 * 1024 * 1024

/** A trial without its address, which depends on who asks. */
export type StoredTrial = Omit<Trial, 'uri'>

export interface TrialRequest {
  readonly draftOf: Trial['draft_of']
  readonly job: TrialJob
  /** What the draft removes, for people. */
  readonly removes: readonly string[]
  /** All rules of the drafted policy. */
  readonly rules: readonly IpRule[]
}

interface TrialsOptions {
  readonly bucket: Pick<Bucket, 'get' | 'replace'>
  /** Makes the bucket again if NATS has lost it. */
  readonly ensureBucket: () => Promise<unknown>
  readonly start: StartTrial
  /** Records are kept for so long. */
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'trialEnded'>
}

/** As it is in the bucket. */
interface Entry {
  readonly trial: StoredTrial
  /** When its API wrote it last. */
  readonly writtenMs: number
}

/** What a draft removes is named, up to so many parts: an IP policy has up to 100,000 rules. */
const removesMax = 100

/** A client waits for the answer. */
const patienceMs = 5_000

/** `bytesMax`: of any small bucket. */
export const openTrialsBucket = (nats: Nats, bytesMax: number): Promise<Bucket> =>
  nats.openBucket(trialsBucket, Math.min(bytesMax, trialsBytesMax), { patienceMs, ageMaxMs: trialAgeMaxMs })

interface OpenTrialsOptions extends Pick<TrialsOptions, 'start' | 'retentionMs' | 'occurrences'> {
  readonly nats: Nats
  readonly bucketBytesMax: number
}

export async function openTrials({ nats, bucketBytesMax, ...options }: OpenTrialsOptions): Promise<Trials> {
  const ensureBucket = () => openTrialsBucket(nats, bucketBytesMax)
  return new Trials({ ...options, bucket: await ensureBucket(), ensureBucket })
}

const keyOf = (accountId: string, id: string): string => `trial.${accountId}.${id}`

const entryJson = (trial: StoredTrial): string => JSON.stringify({ trial, writtenMs: now() } satisfies Entry)

export class Trials {
  readonly #options: TrialsOptions
  readonly #followed = new Map<string, FollowedTrial>()
  #starting = 0

  constructor(options: TrialsOptions) {
    this.#options = options
  }

  get retentionMs(): number {
    return this.#options.retentionMs
  }

  async start(request: TrialRequest): Promise<StoredTrial> {
    if (this.#followed.size + this.#starting >= trialsAtOnceMax)
      throw tooMany('Too many trials are running: wait for one of them.')
    this.#starting += 1
    try {
      return await this.#start(request)
    } finally {
      this.#starting -= 1
    }
  }

  async #start({ draftOf, job, removes, rules }: TrialRequest): Promise<StoredTrial> {
    const { bucket, ensureBucket, start, occurrences } = this.#options
    const { accountId } = job
    await ensureBucket()
    const trial = newTrial(draftOf, job, removes)
    await this.#beLatest(accountId, trial.id)
    const key = keyOf(accountId, trial.id)
    const revision = await bucket.replace(key, entryJson(trial), 0)
    if (revision === undefined) throw new Error(`The key ${key} was written before.`)
    const followed = new FollowedTrial({ bucket, key, trial, revision })
    this.#followed.set(trial.id, followed)
    void followed
      .follow((progressed) => start(job, rules, progressed))
      .then(({ state, error, progress }) => {
        this.#followed.delete(trial.id)
        const { records } = progress
        occurrences.trialEnded({ state, trial: trial.id, account: accountId, records, reason: error })
      })
    return trial
  }

  /** Refuses a second trial of the account. */
  async #beLatest(accountId: string, id: string): Promise<void> {
    const { bucket } = this.#options
    const key = `latest.${accountId}`
    const latest = await bucket.get(key)
    const before = latest?.value && (await this.get(accountId, Buffer.from(latest.value).toString()))
    const isFree = before === undefined || before.state !== 'running'
    if (isFree && (await bucket.replace(key, id, latest?.revision ?? 0)) !== undefined) return
    throw tooMany('A trial of the account is running: wait for its end, or cancel it.')
  }

  /** Undefined if the account has no such trial, or its time is over. */
  async get(accountId: string, id: string): Promise<StoredTrial | undefined> {
    return (await readEntry(this.#options.bucket, accountId, id))?.trial
  }

  /** The trial after it: one that had ended is as it was. */
  async cancel(accountId: string, id: string): Promise<StoredTrial | undefined> {
    const { bucket } = this.#options
    for (;;) {
      const found = await readEntry(bucket, accountId, id)
      if (found === undefined || found.trial.state !== 'running') return found?.trial
      const cancelled = ended(found.trial, { state: 'cancelled' })
      if ((await bucket.replace(keyOf(accountId, id), entryJson(cancelled), found.revision)) === undefined)
        continue
      this.#followed.get(id)?.end()
      return cancelled
    }
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    await Promise.all([...this.#followed.values()].map((followed) => followed.close()))
  }
}

const tooMany = (message: string): WeirError =>
  new WeirError('ERR_RATE_LIMIT', message, { retryAfterSeconds: 5 })

function newTrial(
  draftOf: Trial['draft_of'],
  { sinceMs, untilMs }: TrialJob,
  removes: readonly string[],
): StoredTrial {
  return {
    id: newId(trialIdPrefix),
    created_at: isoMillis(now()),
    state: 'running',
    draft_of: draftOf,
    removes: removes.slice(0, removesMax),
    removes_left_out: Math.max(0, removes.length - removesMax),
    since: isoMillis(sinceMs),
    until: isoMillis(untilMs),
    progress: { records: 0, bytes: 0, at: null },
    stopped_by: null,
    ended_at: null,
    error: null,
    decisions: null,
    events: null,
  }
}

const ended = (trial: StoredTrial, changes: Partial<StoredTrial>): StoredTrial => ({
  ...trial,
  ended_at: isoMillis(now()),
  ...changes,
})

async function readEntry(
  bucket: TrialsOptions['bucket'],
  accountId: string,
  id: string,
): Promise<{ trial: StoredTrial; revision: number } | undefined> {
  if (!isId(trialIdPrefix, id)) return undefined
  const entry = await bucket.get(keyOf(accountId, id))
  if (entry?.value === undefined) return undefined
  const { trial, writtenMs } = jsonOf<Entry>(entry.value)
  const { revision } = entry
  if (trial.state !== 'running' || now() - writtenMs < trialSilentMs) return { trial, revision }
  return {
    trial: ended(trial, {
      state: 'failed',
      error: 'It was lost: the API process that ran it has ended, or NATS was away.',
    }),
    revision,
  }
}

interface FollowedOptions {
  readonly bucket: TrialsOptions['bucket']
  readonly key: string
  readonly trial: StoredTrial
  readonly revision: number
}

/** A trial of this process, kept up to date in the bucket. */
class FollowedTrial {
  readonly #bucket: TrialsOptions['bucket']
  readonly #key: string
  #trial: StoredTrial
  #revision: number
  #running: RunningTrial | undefined
  #stopReason: string | undefined
  #done: Promise<StoredTrial> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor({ bucket, key, trial, revision }: FollowedOptions) {
    this.#bucket = bucket
    this.#key = key
    this.#trial = trial
    this.#revision = revision
  }

  /** Resolves with the trial as it ended. */
  follow(start: (progressed: (progress: Trial['progress']) => void) => RunningTrial): Promise<StoredTrial> {
    const running = start((progress) => {
      this.#trial = { ...this.#trial, progress }
    })
    this.#running = running
    const report: Timer = every(trialProgressMs, () => this.#write())
    const finish = async (last: Partial<StoredTrial>): Promise<StoredTrial> => {
      report.stop()
      if (this.#trial.state === 'running') this.#trial = ended(this.#trial, last)
      await this.#write()
      return this.#trial
    }
    this.#done = running.ended.then(
      ({ progress, stoppedBy, result }) =>
        finish({ state: 'done', progress, stopped_by: stoppedBy, ...result }),
      (error) => finish({ state: 'failed', error: this.#stopReason ?? messageOf(error) }),
    )
    return this.#done
  }

  end(): void {
    this.#running?.end()
  }

  async close(): Promise<void> {
    this.#stopReason = 'The API process stopped.'
    this.end()
    await this.#done
  }

  /** A failed write is repeated with the next one; a missing last one is found by the silence. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#replace()).catch(() => {})
    return this.#writing
  }

  async #replace(): Promise<void> {
    const revision = await this.#bucket.replace(this.#key, entryJson(this.#trial), this.#revision)
    if (revision !== undefined) {
      this.#revision = revision
      return
    }
    // It was cancelled, or an earlier attempt was stored whose answer was lost.
    const present = await this.#bucket.get(this.#key)
    const stored = present?.value && jsonOf<Entry>(present.value).trial
    if (present === undefined || stored === undefined || stored.state !== 'running') {
      this.#trial = stored ?? ended(this.#trial, { state: 'cancelled' })
      this.end()
      return
    }
    this.#revision = present.revision
    await this.#replace()
  }
}
