/**
 * The messages that a reader acknowledged: one that is redelivered because its acknowledgement was lost is not processed
 * again.
 */
import type { PulledMessage } from './messages.js'

/** The members of a message in flight that identify it. */
export interface Identified {
  readonly sequence: number
  /** The run of the stream's sequences that `sequence` belongs to. */
  readonly since: string
  /** With sequence and run, equal for the same message only. */
  readonly identity: string | number
}

export interface Acknowledged {
  identityOf(message: PulledMessage): string | number
  has(message: Pick<Identified, 'sequence' | 'identity'>): boolean
  /** It may be of an earlier run. */
  add(message: Identified): void
  /** From here on, messages are of this run: the stream assigns its sequences again. */
  beginRun(since: string): void
}

/**
 * Acknowledged messages among the last `sequencesMax` of the stream, by sequence and time: within one run, a restored
 * stream assigns its sequences again. A message takes 16 bytes and is no object: there may be 20,000 a second.
 */
export class AcknowledgedSequences implements Acknowledged {
  /** Sequences begin with 1, so an empty place has none. */
  readonly #sequences: Float64Array
  readonly #storedAtMs: Float64Array
  #since = ''

  constructor(sequencesMax: number) {
    this.#sequences = new Float64Array(sequencesMax)
    this.#storedAtMs = new Float64Array(sequencesMax)
  }

  identityOf({ storedAtMs }: Pick<PulledMessage, 'storedAtMs'>): number {
    return storedAtMs
  }

  has({ sequence, identity }: Pick<Identified, 'sequence' | 'identity'>): boolean {
    const place = sequence % this.#sequences.length
    return this.#sequences[place] === sequence && this.#storedAtMs[place] === identity
  }

  /** Not one of an earlier run: its sequence may be another message's by now. */
  add({ sequence, since, identity }: Identified): void {
    if (since !== this.#since) return
    const place = sequence % this.#sequences.length
    this.#sequences[place] = sequence
    this.#storedAtMs[place] = Number(identity)
  }

  beginRun(since: string): void {
    this.#since = since
    this.#sequences.fill(0)
  }
}

/** The last `max` messages by what they hold: one that was published twice is known again, in whatever run. */
export class AcknowledgedContents implements Acknowledged {
  readonly #max: number
  readonly #contentsOf: (message: PulledMessage) => string
  /** The oldest is the first. */
  readonly #known = new Set<string | number>()

  constructor(max: number, contentsOf: (message: PulledMessage) => string) {
    this.#max = max
    this.#contentsOf = contentsOf
  }

  identityOf(message: PulledMessage): string {
    return this.#contentsOf(message)
  }

  has({ identity }: Pick<Identified, 'identity'>): boolean {
    return this.#known.has(identity)
  }

  add({ identity }: Pick<Identified, 'identity'>): void {
    this.#known.add(identity)
    if (this.#known.size > this.#max) this.#known.delete(this.#known.values().next().value!)
  }

  beginRun(): void {}
}
