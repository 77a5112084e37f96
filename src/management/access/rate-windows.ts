/**
 * Counts per key against a limit per minute. A window opens with the first count of its key and lasts a minute.
 *
 * Several processes count as one by exchanging their increments. An increment carries the age of its window, not a
 * time: clocks need not agree, and a window ends in all processes when it ends in the one that opened it first.
 */
import { monotonicMs } from '../../ground/core/clock.js'

export const windowMs = 60_000

/** The count of one process for a key since its last message. */
interface Increment {
  readonly key: string
  readonly count: number
  /** Since the window was opened. */
  readonly age_ms: number
}

interface Window {
  openedMs: number
  /** By all processes, as far as this one knows. */
  count: number
  /** By this process, and not yet sent to the others. */
  unsent: number
}

interface RateLimit {
  /** Per key and minute; 0: no limit, and nothing is counted. */
  readonly perMinute: number
  /** Maximum number of keys with a window; a further key evicts the oldest, whose count starts again. */
  readonly keysMax: number
}

export class RateWindows {
  readonly #limit: RateLimit
  readonly #nowMs: () => number
  readonly #windows = new Map<string, Window>()
  readonly #unsent = new Set<string>()
  /** Called at each count that the other processes do not know yet. */
  onUnsent = (): void => {}

  constructor(limit: RateLimit, nowMs = monotonicMs) {
    this.#limit = limit
    this.#nowMs = nowMs
  }

  /**
   * Counts one more for the key, or several that come together. If the limit is reached already, it returns the seconds to
   * wait and counts nothing: several may exceed it, or a limit smaller than their number would refuse them for ever.
   */
  take(key: string, count = 1): number | undefined {
    const { perMinute } = this.#limit
    if (perMinute === 0) return undefined
    const nowMs = this.#nowMs()
    const seconds = this.wait(key)
    if (seconds !== undefined) return seconds
    const window = this.#windowAt(nowMs, key)
    window.count += count
    window.unsent += count
    this.#unsent.add(key)
    this.onUnsent()
    return undefined
  }

  /** The seconds to wait if the limit is reached; counts nothing. */
  wait(key: string): number | undefined {
    const { perMinute } = this.#limit
    const window = this.#windows.get(key)
    const nowMs = this.#nowMs()
    if (perMinute === 0 || window === undefined || !isOpen(window, nowMs)) return undefined
    if (window.count < perMinute) return undefined
    return Math.max(1, Math.ceil((window.openedMs + windowMs - nowMs) / 1000))
  }

  /** Adds the count of another process. */
  add({ key, count, age_ms }: Increment): void {
    if (this.#limit.perMinute === 0) return
    const nowMs = this.#nowMs()
    const window = this.#windowAt(nowMs, key)
    window.count += count
    window.openedMs = Math.min(window.openedMs, nowMs - age_ms)
  }

  get hasUnsent(): boolean {
    return this.#unsent.size > 0
  }

  /** Counts that the other processes do not know yet, for at most `keysMax` keys; the caller sends them. */
  takeUnsent(keysMax: number): Increment[] {
    const nowMs = this.#nowMs()
    const increments: Increment[] = []
    for (const key of this.#unsent) {
      if (increments.length === keysMax) break
      this.#unsent.delete(key)
      const window = this.#windows.get(key)
      if (window === undefined || !isOpen(window, nowMs)) continue
      increments.push({ key, count: window.unsent, age_ms: Math.floor(nowMs - window.openedMs) })
      window.unsent = 0
    }
    return increments
  }

  #windowAt(nowMs: number, key: string): Window {
    const known = this.#windows.get(key)
    if (known !== undefined && isOpen(known, nowMs)) return known
    const window = { openedMs: nowMs, count: 0, unsent: 0 }
    this.#forget(key)
    this.#windows.set(key, window)
    if (this.#windows.size > this.#limit.keysMax) this.#forget(this.#windows.keys().next().value!)
    return window
  }

  #forget(key: string): void {
    this.#windows.delete(key)
    this.#unsent.delete(key)
  }
}

const isOpen = ({ openedMs }: Window, nowMs: number): boolean => nowMs - openedMs < windowMs
