/** The browser's time and timers. It takes the place of `core/clock.ts` for the typed client. */

/** Milliseconds since the epoch. */
export const now = (): number => Date.now()

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
