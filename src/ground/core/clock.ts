/** Time and randomness: the only file that reads them, so that tests can replace both. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'

/** Milliseconds since the epoch. */
export const now = (): number => Date.now()

/** Milliseconds that never go backwards, for measuring durations. */
export const monotonicMs = (): number => performance.now()

/**
 * Was it less than `withinMs` ago? A time that is further ahead of the clock than that is of a clock that was ahead: waiting
 * for this one to reach it could take hours.
 */
export const isRecent = (atMs: number, withinMs: number, nowMs: number = now()): boolean =>
  Math.abs(nowMs - atMs) < withinMs

/** The time of day, by the clock as it is now, at a moment of `monotonicMs`. */
export const timeOfDay = (atMs: number): number => now() - (monotonicMs() - atMs)

/** Cache of recent texts, which take a microsecond each: rows and events that arrive together share times. */
const isoTexts = new Map<number, string>()
const isoTextsMax = 64

/** RFC 3339 in UTC with milliseconds: the form of `event_timestamp`. */
export function isoMillis(ms: number): string {
  const known = isoTexts.get(ms)
  if (known !== undefined) return known
  if (isoTexts.size === isoTextsMax) isoTexts.clear()
  const text = new Date(ms).toISOString()
  isoTexts.set(ms, text)
  return text
}

/** RFC 3339 in UTC, whole seconds: the form of `created_at`. */
export const isoSeconds = (ms: number): string => `${isoMillis(ms).slice(0, 19)}Z`

/** The start of its second: the API shows `created_at` in whole seconds, so rows hold no more. */
export const startOfSecond = (ms: number): number => Math.floor(ms / 1000) * 1000

/** Resolves after `ms`, or at once when `signal` is aborted, so that a stop never waits for a pause. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return
  try {
    await wait(ms, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

export interface Timer {
  stop(): void
}

/** Calls `fn` once after `ms`; does not keep the process alive. */
export function after(ms: number, fn: () => void): Timer {
  const timer = setTimeout(fn, ms)
  timer.unref()
  return { stop: () => clearTimeout(timer) }
}

/**
 * Calls `fn` every `ms`, never while an earlier call still runs; does not keep the process alive. From a second on, a
 * period is rounded to seconds, and its calls come in step with those of all such timers.
 */
export function every(ms: number, fn: () => unknown): Timer {
  let running = false
  const call = async () => {
    if (running) return
    running = true
    try {
      await fn()
    } finally {
      running = false
    }
  }
  if (ms >= secondMs) return everySeconds(Math.round(ms / secondMs), call)
  const timer = setInterval(call, ms)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

const secondMs = 1_000

interface Ticking {
  readonly seconds: number
  /** The first call comes after half a period to one and a half. */
  readonly notBefore: number
  readonly call: () => Promise<void>
}

const ticking = new Set<Ticking>()
let second = 0
let ticks: NodeJS.Timeout | undefined

/**
 * One timer for all: each wake-up of an idle process costs more than its work, and requests that are sent together share a
 * packet.
 */
function everySeconds(seconds: number, call: () => Promise<void>): Timer {
  const entry = { seconds, notBefore: second + 1 + Math.floor(seconds / 2), call }
  ticking.add(entry)
  ticks ??= setInterval(tick, secondMs).unref()
  return {
    stop: () => {
      ticking.delete(entry)
      if (ticking.size > 0) return
      clearInterval(ticks)
      ticks = undefined
    },
  }
}

function tick(): void {
  second += 1
  for (const { seconds, notBefore, call } of [...ticking])
    if (second >= notBefore && second % seconds === 0) void call()
}

/** Yields to everything that waits for the event loop. */
export const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let lastTurn: Promise<void> = Promise.resolve()

/**
 * Like `yieldTurn`, for sliced work that may run many times at once: per turn of the event loop, one slice runs of all such
 * work. With `yieldTurn`, everything else would wait for a slice of each.
 */
export function yieldInTurn(): Promise<void> {
  lastTurn = lastTurn.then(yieldTurn)
  return lastTurn
}

/** Rejects with `message` if `work` takes longer than `ms`; the work itself continues. */
export async function within<T>(ms: number, work: Promise<T>, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** In [0, 1). */
export const randomFraction = (): number => Math.random()

/** A whole number in [0, max) that nobody can guess; from a pool, so it is cheap. */
export const randomBelow = (max: number): number => randomInt(max)

/** URL-safe text of `bytes` random bytes. */
export const randomToken = (bytes: number): string => randomBytes(bytes).toString('base64url')

/** A random UUID (RFC 9562, version 4). */
export const uuid = (): string => randomUUID()
