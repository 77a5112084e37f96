/**
 * A value that is mostly there at once, and has to be waited for now and then. For each of tens of thousands of messages, a
 * promise would cost as much as the rest of the work.
 */
export type Soon<T> = T | Promise<T>

/** Goes on with the value: at once if it is there. */
export const onceReady = <T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** The value of `work`, or that of `failed` if it throws or rejects. */
export function soonOr<T>(work: () => Soon<T>, failed: (error: unknown) => T): Soon<T> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (error) {
    return failed(error)
  }
}
