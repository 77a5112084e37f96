/**
 * Puts a scheduler's time and a seed's randomness in the place of Node's, for the libraries that Weir uses and for
 * `core/clock.ts`. For a process that does nothing else.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { Random } from './random.js'
import type { Scheduled, Scheduler } from './scheduler.js'

/** As much of a timer of Node as anyone uses. */
class VirtualTimer {
  scheduled: Scheduled | undefined

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

type Callback = (...args: unknown[]) => void

/** What the globals go by: a new world, with its own seed, may take the place of the one before. */
interface Source {
  readonly scheduler: Scheduler
  readonly seed: number
  /** When the world began, in milliseconds since the epoch. */
  readonly epochMs: number
}

export function takeOver(source: Source): (next: Source) => void {
  let { scheduler, epochMs } = source
  let draws = drawsOf(source.seed)
  const realDate = Date
  const wallMs = (): number => Math.floor(epochMs + scheduler.nowMs + scheduler.current.clockAheadMs)
  class VirtualDate extends realDate {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [wallMs()] : args) as [number]))
    }

    static override now(): number {
      return wallMs()
    }
  }
  const once = (run: Callback, ms = 0, ...args: unknown[]): VirtualTimer => {
    const timer = new VirtualTimer()
    timer.scheduled = scheduler.after(Math.max(1, Number(ms) || 0), () => run(...args))
    return timer
  }
  const repeatedly = (run: Callback, ms = 0, ...args: unknown[]): VirtualTimer => {
    const timer = new VirtualTimer()
    const next = (): void => {
      timer.scheduled = scheduler.after(Math.max(1, Number(ms) || 0), () => {
        next()
        run(...args)
      })
    }
    next()
    return timer
  }
  const inNextTurn = (run: Callback, ...args: unknown[]): VirtualTimer => {
    const timer = new VirtualTimer()
    timer.scheduled = scheduler.after(0, () => run(...args))
    return timer
  }
  const clear = (timer: VirtualTimer | undefined): void => timer?.scheduled?.cancel()
  Object.assign(globalThis, {
    Date: VirtualDate,
    setTimeout: once,
    setInterval: repeatedly,
    setImmediate: inNextTurn,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  })
  performance.now = () => scheduler.nowMs
  Math.random = () => draws.jitter.next()
  Object.assign(timers, { setTimeout: waitBy(once, clear) })
  const fill = <T extends ArrayBufferView>(target: T): T => {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    for (let at = 0; at < bytes.length; at++) bytes[at] = draws.names.below(256)
    return target
  }
  Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: fill, configurable: true })
  Object.assign(crypto, {
    randomBytes: (count: number) =>
      Buffer.from(Array.from({ length: count }, () => draws.secrets.below(256))),
    randomInt: (max: number) => draws.ids.below(max),
    randomUUID: () =>
      '00000000-0000-4000-8000-000000000000'.replace(/0/g, () => draws.ids.below(16).toString(16)),
  })
  syncBuiltinESMExports()
  return (next) => {
    scheduler = next.scheduler
    epochMs = next.epochMs
    draws = drawsOf(next.seed)
  }
}

/**
 * Names of inboxes are drawn apart from all else: the client's library draws them when it has used up the last ones, in whichever
 * world that is.
 */
const drawsOf = (seed: number) => ({
  jitter: new Random(seed, 'jitter'),
  names: new Random(seed, 'names'),
  secrets: new Random(seed, 'secrets'),
  ids: new Random(seed, 'ids'),
})

const waitBy =
  (once: (run: Callback, ms?: number) => VirtualTimer, clear: (timer: VirtualTimer) => void) =>
  (ms: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const abort = (): void => {
        clear(timer)
        reject(signal?.reason)
      }
      const timer = once(() => {
        signal?.removeEventListener('abort', abort)
        resolve(value)
      }, ms)
      signal?.addEventListener('abort', abort, { once: true })
    })
