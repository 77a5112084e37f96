/** A pack in a lane: its events, their outcomes, and the promise of its end. */

import { monotonicMs } from '../../../ground/core/clock.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import type { Batchable } from './batcher.js'
import type { DeliveryTrace } from './delivery-trace.js'

/** Wire names: these are parts of a destination's `counts`. */
interface PackCounts {
  readonly delivered: number
  readonly dead_lettered: number
  /** How often events of the pack were sent again. */
  readonly retried: number
}

export type PackResult =
  /**
   * Every event has an outcome: the pack can be acknowledged. `dropped`: it became too old, and these events were neither
   * accepted nor are they in the dead letters.
   */
  | { readonly outcome: 'done'; readonly counts: PackCounts; readonly dropped?: readonly PackedEvent[] }
  /** The lane can't hold it now: the stream should redeliver it after this time. `retried` of its events failed. */
  | { readonly outcome: 'returned'; readonly delayMs: number; readonly retried: number }

/** An event of a pack in a lane. */
export class Item implements Batchable {
  readonly event: PackedEvent
  readonly job: Job
  /** The number of times that it failed and has to be sent again. */
  attempts = 0
  /** The number of requests that it was in. */
  sent = 0
  /** It was accepted, or is in the dead letters. */
  isConcluded = false
  request?: object | undefined

  constructor(event: PackedEvent, job: Job) {
    this.event = event
    this.job = job
  }

  get abandoned(): boolean {
    return this.job.ended
  }

  get takenMs(): number {
    return this.job.takenMs
  }

  /** Begins a request with the event, for the first time or again. */
  begin(): PackedEvent {
    this.sent += 1
    this.job.isBegun = true
    this.job.inRequests += 1
    return this.event
  }

  /** Its request has ended. */
  end(): void {
    this.job.inRequests -= 1
  }

  delivered(): void {
    this.isConcluded = true
    this.job.delivered()
  }

  deadLettered(): void {
    this.isConcluded = true
    this.job.deadLettered()
  }

  /** Counts one more retry; returns how many there were. */
  again(): number {
    this.attempts += 1
    this.job.retried()
    return this.attempts
  }
}

export class Job {
  /** The sequence of the pack's message; 0 if it is in no stream. */
  readonly pack: number
  /** When it was stored: milliseconds since the epoch. */
  readonly storedAtMs: number
  /** The spans of the pack; undefined if it is not traced. */
  readonly trace: DeliveryTrace | undefined
  /** When the lane took it: monotonic. */
  readonly takenMs = monotonicMs()
  readonly items: readonly Item[]
  readonly result: Promise<PackResult>
  ended = false
  /** Some of its events were sent. */
  isBegun = false
  /** How many of its events are in requests that are under way. */
  inRequests = 0
  /** The number of its events whose outcome is being decided: requests, dead letters, searches. */
  deciding = 0
  #resolve!: (result: PackResult) => void
  #delivered = 0
  #deadLettered = 0
  #retried = 0

  constructor(
    events: readonly PackedEvent[],
    pack: number,
    storedAtMs: number,
    trace: DeliveryTrace | undefined,
  ) {
    this.pack = pack
    this.storedAtMs = storedAtMs
    this.trace = trace
    this.items = events.map((event) => new Item(event, this))
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#endIfComplete()
  }

  /** Events with a known outcome: they must not be sent again. */
  get concluded(): number {
    return this.#delivered + this.#deadLettered
  }

  get isInRequest(): boolean {
    return this.inRequests > 0
  }

  get byteLength(): number {
    return this.items.reduce((sum, { event }) => sum + event.dataBytes, 0)
  }

  delivered(): void {
    this.#delivered += 1
    this.#endIfComplete()
  }

  deadLettered(): void {
    this.#deadLettered += 1
    this.#endIfComplete()
  }

  retried(): void {
    this.#retried += 1
  }

  /** Ends unfinished. Accepted events will be sent again, with the same event ids. */
  giveBack(delayMs: number): void {
    this.#end({ outcome: 'returned', delayMs, retried: this.#retried })
  }

  /** Ends because the pack is too old. Events without an outcome are not sent again. */
  expire(): void {
    const dropped = this.items.flatMap(({ isConcluded, event }) => (isConcluded ? [] : [event]))
    this.#end({ outcome: 'done', counts: this.#counts, dropped })
  }

  get #counts(): PackCounts {
    return { delivered: this.#delivered, dead_lettered: this.#deadLettered, retried: this.#retried }
  }

  #endIfComplete(): void {
    if (this.concluded >= this.items.length) this.#end({ outcome: 'done', counts: this.#counts })
  }

  #end(result: PackResult): void {
    this.ended = true
    this.#resolve(result)
  }
}

/** These items were accepted. A function of its own: within an async function, V8 runs such a loop much more slowly. */
export function countDelivered(items: readonly Item[]): void {
  for (const item of items) item.delivered()
}

/** Does work that decides the outcome of these items: until it has ended, their packs do not expire. */
export async function whileDeciding(items: readonly Item[], work: () => Promise<void>): Promise<void> {
  for (const { job } of items) job.deciding += 1
  try {
    await work()
  } finally {
    for (const { job } of items) job.deciding -= 1
  }
}
