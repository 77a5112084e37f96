/**
 * Jobs that a client begins, watches and cancels: replays and trials. Each is kept as JSON in a bucket, under
 * `<kind>.<account>.<id>`, until it expires there. Every process that has a part in a job changes it by compare-and-set,
 * and only while it runs: a job that has ended stays as it is.
 */
import { isoMillis, now } from '../../ground/core/clock.js'
import { isId } from '../../ground/core/ids.js'
import { isObject } from '../../ground/core/json-object.js'
import type { Bucket, BucketEntry } from '../../ground/nats/bucket.js'
import type { Nats } from '../../ground/nats/nats.js'

interface Job {
  readonly id: string
  readonly state: 'running' | 'done' | 'cancelled' | 'failed'
  readonly ended_at: string | null
}

export interface JobKind<Stored extends Job> {
  readonly name: string
  readonly idPrefix: string
  readonly bucket: string
  /** At most; the oldest jobs are removed first. */
  readonly bytesMax: number
  /** A job expires at this age. */
  readonly ageMaxMs: number
  readonly encode: (job: Stored) => string
  readonly decode: (bytes: Uint8Array) => Stored
}

const states: ReadonlySet<unknown> = new Set<Job['state']>(['running', 'done', 'cancelled', 'failed'])

/** A client waits for the answer. */
const patienceMs = 5_000

/** Creates the bucket if it is missing. `bytesMax`: of any small bucket. */
export async function openJobBucket<Stored extends Job>(
  nats: Nats,
  kind: JobKind<Stored>,
  bytesMax: number,
): Promise<JobBucket<Stored>> {
  const { ageMaxMs } = kind
  const open = () => nats.openBucket(kind.bucket, Math.min(bytesMax, kind.bytesMax), { patienceMs, ageMaxMs })
  return new JobBucket(kind, await open(), open)
}

export class JobBucket<Stored extends Job> {
  readonly bucket: Bucket
  readonly #kind: JobKind<Stored>
  readonly #open: () => Promise<unknown>

  constructor(kind: JobKind<Stored>, bucket: Bucket, open: () => Promise<unknown> = async () => {}) {
    this.#kind = kind
    this.bucket = bucket
    this.#open = open
  }

  /** Makes the bucket again if NATS has lost it. */
  async ensure(): Promise<void> {
    await this.#open()
  }

  /** False if there is a job with this id. */
  async create(accountId: string, job: Stored): Promise<boolean> {
    return (await this.bucket.replace(this.#key(accountId, job.id), this.#kind.encode(job), 0)) !== undefined
  }

  /** Undefined if the account has no such job, or it has expired. */
  async get(accountId: string, id: string): Promise<Stored | undefined> {
    return isId(this.#kind.idPrefix, id) ? await this.#at(this.#key(accountId, id)) : undefined
  }

  /** All jobs of an account; without one, of all accounts. */
  async list(accountId = '*'): Promise<Stored[]> {
    const jobs: Stored[] = []
    for (const key of await this.bucket.keys(this.#key(accountId, '*'))) {
      const job = await this.#at(key)
      if (job !== undefined) jobs.push(job)
    }
    return jobs
  }

  /** Changes a running job; resolves with what is stored then, changed by this call or by another. */
  async change(
    accountId: string,
    id: string,
    change: (running: Stored) => Stored,
  ): Promise<Stored | undefined> {
    if (!isId(this.#kind.idPrefix, id)) return undefined
    const key = this.#key(accountId, id)
    for (;;) {
      const entry = await this.bucket.get(key)
      const present = entry && this.read(entry)
      if (entry === undefined || present?.state !== 'running') return present
      const changed = change(present)
      const text = this.#kind.encode(changed)
      if (text === this.#kind.encode(present)) return present
      if ((await this.bucket.replace(key, text, entry.revision)) !== undefined) return changed
    }
  }

  /** The job of an entry; undefined for a deletion, and for an entry that is damaged. */
  read(entry: BucketEntry): Stored | undefined {
    return this.bucket.decoded(entry, (value) => {
      const job = this.#kind.decode(value)
      if (isObject(job) && typeof job.id === 'string' && states.has(job.state)) return job
      throw new Error(`The value is no ${this.#kind.name}.`)
    })
  }

  async #at(key: string): Promise<Stored | undefined> {
    const entry = await this.bucket.get(key)
    return entry && this.read(entry)
  }

  #key(accountId: string, id: string): string {
    return `${this.#kind.name}.${accountId}.${id}`
  }
}

export const endedJob = <Stored extends Job>(job: Stored, changes: Partial<Stored>): Stored => ({
  ...job,
  ended_at: isoMillis(now()),
  ...changes,
})
