/**
 * Exponential backoff with full jitter, so that senders that failed together do not retry together.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** For whole requests, by the class of the fault: a throttled service needs more time than a broken connection. */
export const backoffs: Readonly<Record<'throttle' | 'transient' | 'record', Backoff>> = {
  throttle: { baseMs: 1_000, capMs: 30_000 },
  transient: { baseMs: 100, capMs: 30_000 },
  // For records that failed while others were accepted: the rate bounds the load, so the waits can be short.
  record: { baseMs: 25, capMs: 1_000 },
}

/** The longest wait for an attempt; the first failure is attempt 1. */
export const ceilingMs = ({ baseMs, capMs }: Backoff, attempt: number): number =>
  Math.min(capMs, baseMs * 2 ** (attempt - 1))

/** The wait before the next attempt; `fraction` in [0, 1) is the jitter. */
export const backoffMs = (backoff: Backoff, attempt: number, fraction: number): number =>
  Math.floor(ceilingMs(backoff, attempt) * fraction)
