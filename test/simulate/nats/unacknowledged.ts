/** Messages that a consumer delivered and that are not done: which are to be delivered again, and how often they were. */

interface Pending {
  /** The consumer's own sequence of the last delivery. */
  readonly consumerSequence: number
  deliveredMs: number
  /** It is waited for until then, because it was given back with a delay. */
  againMs?: number
}

export class Unacknowledged {
  /** By sequence. */
  readonly #pending = new Map<number, Pending>()
  /** Sequences to be delivered again. */
  readonly #again: number[] = []
  /** How often each was delivered. */
  readonly #deliveries = new Map<number, number>()

  /** How many are with a client. */
  get size(): number {
    return this.#pending.size
  }

  /** How many were delivered more than once. */
  get redelivered(): number {
    return [...this.#deliveries.values()].filter((deliveries) => deliveries > 1).length
  }

  /** The lowest sequence that is not done; undefined if all are. */
  get lowest(): number | undefined {
    const open = [...this.#pending.keys(), ...this.#again]
    return open.length === 0 ? undefined : Math.min(...open)
  }

  /** Notes a delivery; how often that makes. */
  delivered(sequence: number, consumerSequence: number, nowMs: number): number {
    const deliveries = (this.#deliveries.get(sequence) ?? 0) + 1
    this.#deliveries.set(sequence, deliveries)
    this.#pending.set(sequence, { consumerSequence, deliveredMs: nowMs })
    return deliveries
  }

  /** Takes the next to be delivered again that is still there. */
  takeAgain(isThere: (sequence: number) => boolean): number | undefined {
    for (;;) {
      const sequence = this.#again.shift()
      if (sequence === undefined || isThere(sequence)) return sequence
      this.#deliveries.delete(sequence)
    }
  }

  /** The consumer's own sequence of its last delivery; undefined if it is not with a client. */
  done(sequence: number): number | undefined {
    const pending = this.#pending.get(sequence)
    this.#pending.delete(sequence)
    if (pending !== undefined) this.#deliveries.delete(sequence)
    return pending?.consumerSequence
  }

  /** Only the one to whom it was delivered last may say so. */
  #held(sequence: number, consumerSequence: number): Pending | undefined {
    const pending = this.#pending.get(sequence)
    return pending?.consumerSequence === consumerSequence ? pending : undefined
  }

  working(sequence: number, consumerSequence: number, nowMs: number): void {
    const pending = this.#held(sequence, consumerSequence)
    if (pending !== undefined) pending.deliveredMs = nowMs
  }

  /** `againMs`: when it may be delivered again; undefined: now. */
  giveBack(sequence: number, consumerSequence: number, againMs: number | undefined): void {
    const pending = this.#held(sequence, consumerSequence)
    if (pending === undefined) return
    if (againMs === undefined) this.#moveAgain(sequence)
    else pending.againMs = againMs
  }

  #moveAgain(sequence: number): void {
    this.#pending.delete(sequence)
    this.#again.push(sequence)
  }

  /** Those that were waited for long enough are to be delivered again. */
  expire(nowMs: number, waitMs: number): void {
    for (const [sequence, pending] of this.#pending)
      if (endOf(pending, waitMs) <= nowMs) this.#moveAgain(sequence)
  }

  /** When the first was waited for long enough. */
  nextMs(waitMs: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const pending of this.#pending.values()) next = Math.min(next, endOf(pending, waitMs))
    return next
  }

  /** What is gone from the stream is not waited for. */
  keepOnly(isThere: (sequence: number) => boolean): void {
    for (const sequence of this.#pending.keys()) if (!isThere(sequence)) this.#pending.delete(sequence)
  }
}

const endOf = ({ deliveredMs, againMs }: Pending, waitMs: number): number => againMs ?? deliveredMs + waitMs

const nanosPerMs = 1e6

/** When a message that was given back may be delivered again; undefined: at once. */
export function againAt(word: string, nowMs: number): number | undefined {
  const [, json] = /^-NAK\s+(\{.*)$/s.exec(word) ?? []
  const delayMs = json === undefined ? 0 : (JSON.parse(json).delay ?? 0) / nanosPerMs
  return delayMs > 0 ? nowMs + delayMs : undefined
}
