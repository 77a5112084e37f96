/** The browser's time and timers. It takes the place of `core/clock.ts` for the typed client. */

/** Milliseconds since the epoch. */
export const now = (): number => Date.now()

/** RFC 3339 in UTC, whole seconds: as the API shows times that clients set. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** Milliseconds that never go backwards. */
export const monotonicMs = (): number => performance.now()

interface Timer {
  stop(): void
}

export function after(ms: number, fn: () => void): Timer {
  const timer = setTimeout(fn, ms)
  return { stop: () => clearTimeout(timer) }
}

/** Calls `fn` every `ms`; not while the page is hidden, because no one would see it. */
export function every(ms: number, fn: () => void): Timer {
  const timer = setInterval(() => {
    if (!document.hidden) fn()
  }, ms)
  return { stop: () => clearInterval(timer) }
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
