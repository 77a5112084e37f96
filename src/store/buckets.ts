/** The buckets an API process writes to. */
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

/** A client waits for the write, so it fails if NATS is away for longer. */
const patienceMs = 5_000

/** Creates the buckets that are missing. */
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
