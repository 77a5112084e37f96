/** One run of an input stream's sequences: which messages are settled, and which events packs held of the open ones. */
import { getOrMake } from '../../ground/core/maps.js'
import { type SequenceRange, SequenceSet } from '../wire/sequence-set.js'
import type { InputStream } from './ledger.js'

export interface InputRunSnapshot {
  readonly stream: InputStream
  readonly since: string
  readonly settled: readonly SequenceRange[]
  /** When the last settled message was stored, if that is known. */
  readonly lastStoredAtMs?: number | undefined
  readonly open: readonly (readonly [number, readonly (readonly [string, number])[]])[]
  /** No pipeline reads it any more, as far as known; its packs are still delivered. */
  readonly isOver: boolean
}

/** The settled message with the highest sequence. */
export interface LastSettled {
  readonly sequence: number
  readonly storedAtMs: number | undefined
}

/**
 * Called with the number of events that packs held of a message in excess of those it settled with; with a negative
 * number if it settles with some of them after all.
 */
type ExtraEvents = (destination: string, events: number) => void

export class InputRun {
  readonly stream: InputStream
  readonly since: string
  readonly #settled: SequenceSet
  #lastStoredAtMs: number | undefined
  /** Events per destination and part, of the fullest pack. */
  readonly #open: Map<number, Map<string, number>>
  #isOver: boolean

  constructor({ stream, since, settled, lastStoredAtMs, open, isOver }: InputRunSnapshot) {
    this.stream = stream
    this.since = since
    this.#settled = new SequenceSet(settled)
    this.#lastStoredAtMs = lastStoredAtMs
    this.#open = new Map(open.map(([sequence, counts]) => [sequence, new Map(counts)]))
    this.#isOver = isOver
  }

  snapshot(): InputRunSnapshot {
    const open = [...this.#open].map(([sequence, counts]) => [sequence, [...counts]] as const)
    const settled = this.#settled.ranges.map(([first, last]) => [first, last] as const)
    const { stream, since } = this
    return { stream, since, settled, lastStoredAtMs: this.#lastStoredAtMs, open, isOver: this.#isOver }
  }

  /** The replay that reads it, in one partition or another; undefined: it is read for the first time. */
  get replay(): string | undefined {
    const [head, id] = this.stream.split('.')
    return head === 'replay' ? id : undefined
  }

  get lastSettled(): LastSettled | undefined {
    const sequence = this.#settled.highest
    return sequence === 0 ? undefined : { sequence, storedAtMs: this.#lastStoredAtMs }
  }

  /** When a settled message was stored; undefined if its entry does not say so. */
  storedAt(sequence: number, storedAtMs: number | undefined): void {
    if (sequence === this.#settled.highest) this.#lastStoredAtMs = storedAtMs
  }

  /** A pack holds these events of a message; returns how many exceed those of earlier packs. */
  hold(sequence: number, destination: string, part: number, events: number, extra: ExtraEvents): number {
    if (this.#settled.has(sequence)) return 0
    const counts = getOrMake(this.#open, sequence, () => new Map<string, number>())
    const key = `${destination} ${part}`
    const known = counts.get(key) ?? 0
    if (events <= known) return 0
    counts.set(key, events)
    if (this.#isOver) extra(destination, events - known)
    return events - known
  }

  /** Messages are settled with these events per destination; returns how many were not settled before. */
  settle(range: SequenceRange, expected: ReadonlyMap<string, number>, extra: ExtraEvents): number {
    if (this.#open.size > 0) {
      for (let sequence = range[0]; sequence <= range[1]; sequence += 1)
        this.#settleOpen(sequence, expected, extra)
    }
    return this.#settled.add(range)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Another run begins: open messages will hardly be settled, but the events in their packs were produced. */
  end(extra: ExtraEvents): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#addOpen(1, extra)
  }

  /** A pipeline reads it after all. */
  resume(extra: ExtraEvents): void {
    if (!this.#isOver) return
    this.#isOver = false
    this.#addOpen(-1, extra)
  }

  #addOpen(sign: 1 | -1, extra: ExtraEvents): void {
    for (const counts of this.#open.values())
      for (const [destination, events] of heldOf(counts)) extra(destination, sign * events)
  }

  #settleOpen(sequence: number, expected: ReadonlyMap<string, number>, extra: ExtraEvents): void {
    const counts = this.#open.get(sequence)
    if (counts === undefined) return
    this.#open.delete(sequence)
    for (const [destination, events] of heldOf(counts)) {
      const beyond = Math.max(0, events - (expected.get(destination) ?? 0))
      const counted = this.#isOver ? events : 0
      if (beyond !== counted) extra(destination, beyond - counted)
    }
  }
}

/** Events per destination, of all parts. */
function heldOf(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const held = new Map<string, number>()
  for (const [key, events] of counts) {
    const destination = key.slice(0, key.indexOf(' '))
    held.set(destination, (held.get(destination) ?? 0) + events)
  }
  return held
}
