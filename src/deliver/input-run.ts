/** Which messages of one run of an input stream's sequences are settled, and what packs held of the open ones. */
import { getOrMake } from '../core/maps.js'
import type { InputStream } from './ledger.js'
import { type SequenceRange, SequenceSet } from './sequence-set.js'

export interface InputRunSnapshot {
  readonly stream: InputStream
  readonly since: string
  readonly settled: readonly SequenceRange[]
  readonly open: readonly (readonly [number, readonly (readonly [string, number])[]])[]
}

/** Called with events that packs held of a message and that the message did not settle with. */
export type ExtraEvents = (destination: string, events: number) => void

export class InputRun {
  readonly stream: InputStream
  readonly since: string
  readonly #settled: SequenceSet
  /** Events per destination and part, as the fullest of the packs held them. */
  readonly #open: Map<number, Map<string, number>>

  constructor({ stream, since, settled, open }: InputRunSnapshot) {
    this.stream = stream
    this.since = since
    this.#settled = new SequenceSet(settled)
    this.#open = new Map(open.map(([sequence, counts]) => [sequence, new Map(counts)]))
  }

  snapshot(): InputRunSnapshot {
    const open = [...this.#open].map(([sequence, counts]) => [sequence, [...counts]] as const)
    return { stream: this.stream, since: this.since, settled: this.#settled.ranges, open }
  }

  /** A pack holds this of a message; answers how many of the events are beyond what packs before held. */
  hold(sequence: number, destination: string, part: number, events: number): number {
    if (this.#settled.has(sequence)) return 0
    const counts = getOrMake(this.#open, sequence, () => new Map<string, number>())
    const key = `${destination} ${part}`
    const known = counts.get(key) ?? 0
    if (events > known) counts.set(key, events)
    return Math.max(0, events - known)
  }

  /** Messages came to their end with these events per destination; answers how many had not before. */
  settle(range: SequenceRange, expected: ReadonlyMap<string, number>, extra: ExtraEvents): number {
    if (this.#open.size > 0) {
      for (let sequence = range[0]; sequence <= range[1]; sequence += 1)
        this.#settleOpen(sequence, expected, extra)
    }
    return this.#settled.add(range)
  }

  /** The run is over: what is open will not come to its end any more. */
  abandon(extra: ExtraEvents): void {
    for (const sequence of [...this.#open.keys()]) this.#settleOpen(sequence, new Map(), extra)
  }

  #settleOpen(sequence: number, expected: ReadonlyMap<string, number>, extra: ExtraEvents): void {
    const counts = this.#open.get(sequence)
    if (counts === undefined) return
    this.#open.delete(sequence)
    const held = new Map<string, number>()
    for (const [key, events] of counts) {
      const [destination = ''] = key.split(' ')
      held.set(destination, (held.get(destination) ?? 0) + events)
    }
    for (const [destination, events] of held) {
      const beyond = events - (expected.get(destination) ?? 0)
      if (beyond > 0) extra(destination, beyond)
    }
  }
}
