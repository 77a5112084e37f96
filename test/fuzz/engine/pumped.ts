/**
 * Inputs that grow: a piece of an input, repeated more and more often. A regular expression that tries each place again, or
 * a search that begins anew behind each piece, then takes four times as long for twice as many bytes.
 */
import type { Random } from './random.js'
import { hostileWords } from './words.js'

export interface Pump {
  readonly head: Buffer
  readonly piece: Buffer
  readonly tail: Buffer
}

const pieceBytesMax = 48

export function pumpOf(input: Buffer, words: readonly Buffer[], random: Random): Pump {
  const from = random.below(input.length + 1)
  const to = Math.min(input.length, from + random.size(pieceBytesMax))
  const own = input.subarray(from, to)
  const word = random.oneOf(random.chance(0.5) && words.length > 0 ? words : hostileWords)
  const piece =
    random.chance(0.6) && own.length > 0 ? own : random.chance(0.3) ? Buffer.concat([word, own]) : word
  const tail = random.chance(0.5)
    ? input.subarray(random.chance(0.5) ? from : to)
    : random.oneOf(hostileWords)
  return { head: input.subarray(0, from), piece, tail: random.chance(0.15) ? Buffer.alloc(0) : tail }
}

/** As often as fits. */
export function pumpedTo({ head, piece, tail }: Pump, bytes: number): Buffer {
  const times = Math.max(1, Math.floor((bytes - head.length - tail.length) / Math.max(1, piece.length)))
  return Buffer.concat([head, Buffer.alloc(times * piece.length, piece), tail])
}
