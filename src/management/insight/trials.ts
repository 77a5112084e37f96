/**
 * The trials of all accounts. Each runs in a process that this API starts; its state is in a bucket, so that any API
 * process answers for it and can cancel it:
 *
 *     trial.<account>.<id>   the trial; its API replaces it by compare-and-set while it runs
 *     latest.<account>       the id of the account's latest trial: it must end before another one begins
 *
 * A trial is cancelled by writing that state. Its API notices at its next report, and ends the process.
 */

import { endedJob, type JobBucket, type JobKind, openJobBucket } from '../../delivery/wire/job-bucket.js'
import { trialsBucket } from '../../delivery/wire/names.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, isoMillis, monotonicMs, now, sleep, type Timer } from '../../ground/core/clock.js'
import { insistently } from '../../ground/core/concurrency.js'
import { messageOf, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { trialProgressMs } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { TrialJob } from '../../judging/trial/trial-child.js'
import type { LargeDraft, RunningTrial, StartTrial } from '../../judging/trial/trial-process.js'
import { type Trial, trialIdPrefix } from '../../words/shape/trial.js'

/** Trials at the same time in one API process. An account has one at a time in the whole deployment. */
const trialsAtOnceMax = 3
/** A trial of another process that was not written for so long, as this one has seen it, has lost its process … */
const trialSilentMs = 12_000
/**
 * One that this process has not seen before, and that its clock says is so old, is looked at again: the clock may be wrong.
 */
const trialOldMs = 60_000
/** A trial that runs is written by then. */
const lookAgainMs = 3 * trialProgressMs
/** Running trials whose last write is remembered: there is one per account. */
const seenMax = 1_000
/** NATS may be away for a moment just when a trial has ended. */
const lastWritesMax = 5
/** Results are kept for this long. */
const trialAgeMaxMs = 60 * 60_000
/** The bucket of results; the oldest ones make room. */
const trialsBytesMax = 32 * 1024 * 1024

/** A trial without its address, which depends on who asks. */
export type StoredTrial = Omit<Trial, 'uri'>

export interface TrialRequest {
  readonly draftOf: Trial['draft_of']
  readonly job: TrialJob
  /** The parts that the draft removes, for people. */
  readonly removes: readonly string[]
  /** The policy tests with the draft; null if it can change no decision. */
  readonly tests: Trial['tests']
  readonly large?: LargeDraft
}

interface TrialsOptions {
  readonly jobs: JobBucket<HeldTrial>
  readonly start: StartTrial
  /** Records are kept for so long. */
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'trialEnded'>
}

/** As it is in the bucket. */
interface HeldTrial extends StoredTrial {
  /** When its API wrote it last. */
  readonly writtenMs: number
}

/** The parts that a draft removes are named, up to so many: an IP policy has up to 100,000 rules. */
const removesMax = 100

export const trialJobs: JobKind<HeldTrial> = {
  name: 'trial',
  idPrefix: trialIdPrefix,
  bucket: trialsBucket,
  bytesMax: trialsBytesMax,
  ageMaxMs: trialAgeMaxMs,
  encode: ({ writtenMs, ...trial }) => JSON.stringify({ trial, writtenMs }),
  decode: (bytes) => {
    const { trial, writtenMs } = jsonOf<{ trial: StoredTrial; writtenMs: number }>(bytes)
    return { ...trial, writtenMs }
  },
}

interface OpenTrialsOptions extends Omit<TrialsOptions, 'jobs'> {
  readonly nats: Nats
  readonly bucketBytesMax: number
}

export const openTrials = async ({ nats, bucketBytesMax, ...options }: OpenTrialsOptions): Promise<Trials> =>
  new Trials({ ...options, jobs: await openJobBucket(nats, trialJobs, bucketBytesMax) })

export class Trials {
  readonly #options: TrialsOptions
  readonly #followed = new Map<string, FollowedTrial>()
  /** When running trials were seen to be written: by id, the time that the writer gave, and when it came, monotonic. */
  readonly #seen = new Map<string, { readonly writtenMs: number; readonly atMs: number }>()
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

  async #start(request: TrialRequest): Promise<StoredTrial> {
    const { jobs, start, occurrences } = this.#options
    const { job, large = {} } = request
    await jobs.ensure()
    const trial = newTrial(request)
    await this.#beLatest(job.accountId, trial.id)
    if (!(await jobs.create(job.accountId, held(trial))))
      throw new Error(`The trial ${trial.id} was written before.`)
    const followed = new FollowedTrial(jobs, job.accountId, trial)
    this.#followed.set(trial.id, followed)
    void followed
      .follow((progressed) => start(job, large, progressed))
      .then(({ state, error, progress }) => {
        this.#followed.delete(trial.id)
        const { records } = progress
        occurrences.trialEnded({ state, trial: trial.id, account: job.accountId, records, reason: error })
      })
    return trial
  }

  /** Refuses a second trial of the account. */
  async #beLatest(accountId: string, id: string): Promise<void> {
    const { bucket } = this.#options.jobs
    const key = `latest.${accountId}`
    const latest = await bucket.get(key)
    const before = latest?.value && (await this.get(accountId, Buffer.from(latest.value).toString()))
    const isFree = before === undefined || before.state !== 'running'
    if (isFree && (await bucket.replace(key, id, latest?.revision ?? 0)) !== undefined) return
    throw tooMany('A trial of the account is running: wait for its end, or cancel it.')
  }

  /** Undefined if the account has no such trial, or it has expired. */
  async get(accountId: string, id: string): Promise<StoredTrial | undefined> {
    const found = await this.#options.jobs.get(accountId, id)
    if (found === undefined || !this.#seemsLost(found)) return this.#shown(found)
    await sleep(lookAgainMs)
    const again = await this.#options.jobs.get(accountId, id)
    if (again?.writtenMs === found.writtenMs) this.#note(found, Number.NEGATIVE_INFINITY)
    return this.#shown(again)
  }

  #seemsLost({ id, state, writtenMs }: HeldTrial): boolean {
    return state === 'running' && !this.#seen.has(id) && now() - writtenMs >= trialOldMs
  }

  #shown(found: HeldTrial | undefined): StoredTrial | undefined {
    return found && (this.#isLost(found) ? lost(found) : withoutTime(found))
  }

  #isLost({ id, state, writtenMs }: HeldTrial): boolean {
    const seen = this.#seen.get(id)
    this.#seen.delete(id)
    if (state !== 'running' || this.#followed.has(id)) return false
    const atMs = seen?.writtenMs === writtenMs ? seen.atMs : monotonicMs()
    this.#note({ id, writtenMs }, atMs)
    return monotonicMs() - atMs >= trialSilentMs
  }

  #note({ id, writtenMs }: Pick<HeldTrial, 'id' | 'writtenMs'>, atMs: number): void {
    this.#seen.set(id, { writtenMs, atMs })
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= seenMax) break
      this.#seen.delete(oldest)
    }
  }

  /** Resolves with the trial: one that had ended is unchanged. */
  async cancel(accountId: string, id: string): Promise<StoredTrial | undefined> {
    const cancelled = await this.#options.jobs.change(accountId, id, (running) =>
      this.#isLost(running) ? running : endedJob(running, { state: 'cancelled' }),
    )
    if (cancelled?.state === 'cancelled') this.#followed.get(id)?.end()
    return this.#shown(cancelled)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#followed.values()].map((followed) => followed.close()))
  }
}

const tooMany = (message: string): WeirError =>
  new WeirError('ERR_RATE_LIMIT', message, { retryAfterSeconds: 5 })

function newTrial({ draftOf, job, removes, tests }: TrialRequest): StoredTrial {
  const { sinceMs, untilMs, isByOwnTime } = job
  return {
    id: newId(trialIdPrefix),
    created_at: isoMillis(now()),
    state: 'running',
    draft_of: draftOf,
    removes: removes.slice(0, removesMax),
    removes_left_out: Math.max(0, removes.length - removesMax),
    tests,
    since: isoMillis(sinceMs),
    until: isoMillis(untilMs),
    time: isByOwnTime ? 'own' : 'stored',
    times: null,
    progress: { records: 0, bytes: 0, at: null, share: 0 },
    kept_from: null,
    stopped_by: null,
    ended_at: null,
    error: null,
    decisions: null,
    events: null,
  }
}

const held = (trial: StoredTrial): HeldTrial => ({ ...trial, writtenMs: now() })

const withoutTime = ({ writtenMs: _, ...trial }: HeldTrial): StoredTrial => trial

const lost = (trial: HeldTrial): StoredTrial =>
  endedJob(withoutTime(trial), {
    state: 'failed',
    error: 'It was lost: the API process that ran it has ended, or NATS was away.',
  })

/** A trial of this process, kept up to date in the bucket. */
class FollowedTrial {
  readonly #jobs: JobBucket<HeldTrial>
  readonly #accountId: string
  #trial: StoredTrial
  #running: RunningTrial | undefined
  #stopReason: string | undefined
  #done: Promise<StoredTrial> | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(jobs: JobBucket<HeldTrial>, accountId: string, trial: StoredTrial) {
    this.#jobs = jobs
    this.#accountId = accountId
    this.#trial = trial
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
      if (this.#trial.state === 'running') this.#trial = endedJob(this.#trial, last)
      await this.#write(lastWritesMax)
      return this.#trial
    }
    this.#done = running.ended.then(
      ({ progress, stoppedBy, keptFrom, times, result }) =>
        finish({ state: 'done', progress, stopped_by: stoppedBy, kept_from: keptFrom, times, ...result }),
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

  /** A failed write is repeated with the next one; without the last one, the trial counts as lost after some silence. */
  #write(triesMax = 1): Promise<void> {
    const insisting = () => insistently(() => this.#replace(), triesMax, trialProgressMs)
    this.#writing = this.#writing.then(insisting).catch(() => {})
    return this.#writing
  }

  /** A trial that is missing, or was cancelled, ends. */
  async #replace(): Promise<void> {
    // The trial may end while this is written: the next write says so.
    const written = this.#trial
    const stored = await this.#jobs.change(this.#accountId, written.id, () => held(written))
    if (stored?.state === written.state) return
    this.#trial = stored === undefined ? endedJob(written, { state: 'cancelled' }) : withoutTime(stored)
    this.end()
  }
}
