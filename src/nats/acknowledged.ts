/**
 * What a reader remembers of the messages that it acknowledged: one that is delivered again, because its
 * acknowledgement was lost, is not worked on again.
 */
import type { PulledMessage } from './messages.js'

type Delivered = Pick<PulledMessage, 'sequence' | 'storedAtMs'>

export interface Acknowledged<Message extends Delivered = PulledMessage> {
  /** With the sequence, equal for the same message only. */
  identityOf(message: Message): string | number
  has(sequence: number, identity: string | number): boolean
  add(sequence: number, identity: string | number): void
  /** The stream assigns its sequences again, from here on. */
  beginRun(): void
}

/**
 * Acknowledged messages among the last `sequencesMax` of the stream, by sequence and time: a stream that was restored
 * assigns a sequence again. A message takes 16 bytes and is no object, because there may be 20,000 messages a second.
 */
export class AcknowledgedSequences implements Acknowledged<Delivered> {
  readonly #sequences: Float64Array
  readonly #storedAtMs: Float64Array

  constructor(sequencesMax: number) {
    this.#sequences = new Float64Array(sequencesMax)
    this.#storedAtMs = new Float64Array(sequencesMax)
  }

  identityOf({ storedAtMs }: Delivered): number {
    return storedAtMs
  }

  /** Sequences begin with 1, so an empty place has none. */
  has(sequence: number, storedAtMs: number): boolean {
    const place = sequence % this.#sequences.length
    return this.#sequences[place] === sequence && this.#storedAtMs[place] === storedAtMs
  }

  add(sequence: number, storedAtMs: number): void {
    const place = sequence % this.#sequences.length
    this.#sequences[place] = sequence
    this.#storedAtMs[place] = storedAtMs
  }

  beginRun(): void {
    this.#sequences.fill(0)
  }
}

/** The last `max` messages by what they hold: a message that was published twice counts as one, in each run. */
export class AcknowledgedContents implements Acknowledged {
  readonly #max: number
  readonly #values = new Set<string>()
  readonly #contentsOf: (message: PulledMessage) => string

  constructor(max: number, contentsOf: (message: PulledMessage) => string) {
    this.#max = max
    this.#contentsOf = contentsOf
  }

  identityOf(message: PulledMessage): string {
    return this.#contentsOf(message)
  }

  has(_sequence: number, contents: string): boolean {
    return this.#values.has(contents)
  }

  add(_sequence: number, contents: string): void {
    if (this.#values.has(contents)) return
    if (this.#values.size >= this.#max) this.#values.delete(this.#values.values().next().value!)
    this.#values.add(contents)
  }

  beginRun(): void {}
}
