/**
 * Stands in the place of `src/ground/core/clock.ts` in the simulation's build. That file has state of a process: timers that
 * tick together, and slices of work that take turns. Here several processes share the module, so each timer is its own.
 */
export * from '../../../src/ground/core/clock.js'

interface Timer {
  stop(): void
}

/** Calls `fn` every `ms`, never while an earlier call still runs. */
export function every(ms: number, fn: () => unknown): Timer {
  let isRunning = false
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    try {
      await fn()
    } finally {
      isRunning = false
    }
  }, ms)
  return { stop: () => clearInterval(timer) }
}

export const yieldInTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
