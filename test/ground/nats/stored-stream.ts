/** A stream in memory, for the tests of reading it again. */
import type { StoredMessage } from '../../../src/ground/nats/messages.js'

/** A stream whose messages are stored a second apart; sequence 0 is unused. */
export function streamOf(sequences: readonly number[]) {
  const message = (sequence: number): StoredMessage => ({
    subject: 'x',
    sequence,
    storedAtMs: sequence * 1000,
    data: new Uint8Array(),
    headers: undefined as never,
  })
  /** Sequences that were requested, and those from which on a message was looked for. */
  const [asked, looked]: [number[], number[]] = [[], []]
  const state = { first_seq: sequences[0] ?? 0, last_seq: sequences.at(-1) ?? 0 }
  return {
    asked,
    looked,
    info: async () => ({ state }),
    at: async (sequence: number) => {
      asked.push(sequence)
      return sequences.includes(sequence) ? message(sequence) : undefined
    },
    next: async (sequence: number) => {
      looked.push(sequence)
      // As NATS answers.
      if (sequence === 0) throw new Error('empty request')
      const found = sequences.find((each) => each >= sequence)
      return found === undefined ? undefined : message(found)
    },
  }
}

export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)
