/** The end of a request that hangs, whatever it hangs in. */
import { after } from '../../ground/core/clock.js'

/**
 * Aborts `work` at the deadline (`TimeoutError`) or when `signal` is aborted (`AbortError`), and stops waiting for it. The
 * fault of both is in `faults.ts`.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal,
  work: (abort: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  return new Promise<T>((resolve, reject) => {
    const giveUp = (name: string): void => {
      reject(Object.assign(new Error('The request was aborted.'), { name }))
      abort.abort()
    }
    const stopped = (): void => giveUp('AbortError')
    const deadline = after(timeoutMs, () => giveUp('TimeoutError'))
    if (signal.aborted) stopped()
    else signal.addEventListener('abort', stopped, { once: true })
    work(abort.signal)
      .then(resolve, reject)
      .finally(() => {
        deadline.stop()
        signal.removeEventListener('abort', stopped)
      })
  })
}
