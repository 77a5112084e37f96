/** The buckets of the store, as an API process opens them. */
import { answerAgeMaxMs } from '../core/limits.js'
import type { Bucket, BucketOptions } from '../nats/bucket.js'
import type { Nats } from '../nats/nats.js'
import { bucketNames } from '../wire/names.js'

export interface StoreBuckets {
  readonly config: Bucket
  readonly secrets: Bucket
  readonly heads: Bucket
  readonly claims: Bucket
  readonly idempotency: Bucket
}

/** Someone waits for a write: where NATS is away for longer, it is refused. */
const patienceMs = 5_000

/** Makes those that are missing. */
export async function openBuckets(nats: Nats, bytesMax: number): Promise<StoreBuckets> {
  const open = (name: string, options: BucketOptions = {}) =>
    nats.openBucket(name, bytesMax, { patienceMs, ...options })
  return {
    config: await open(bucketNames.config),
    secrets: await open(bucketNames.secrets),
    heads: await open(bucketNames.heads),
    claims: await open(bucketNames.claims),
    idempotency: await open(bucketNames.idempotency, { ageMaxMs: answerAgeMaxMs }),
  }
}
