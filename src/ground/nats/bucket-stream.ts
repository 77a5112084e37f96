import { sleep } from '../core/clock.js'

/** The stream that stores a bucket. */
export const streamOf = (bucket: string): string => `KV_${bucket}`

const lookAgainMs = 300

/** The bucket, once the API has made it. */
export async function waitForBucket<Bucket>(
  nats: { findBucket(name: string): Promise<Bucket | undefined> },
  name: string,
): Promise<Bucket> {
  for (;;) {
    const bucket = await nats.findBucket(name)
    if (bucket !== undefined) return bucket
    await sleep(lookAgainMs)
  }
}
