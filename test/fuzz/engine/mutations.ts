/** Other inputs out of one. */
import type { Random } from './random.js'
import { hostileValues, hostileWords } from './words.js'

interface Sources {
  /** Inputs to join with. */
  readonly others: readonly Buffer[]
  readonly words: readonly Buffer[]
}

type Mutation = (input: Buffer, random: Random, sources: Sources) => Buffer

const joined = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts)

/** From where to where: a short range more often than a long one. */
function rangeIn({ length }: Buffer, random: Random): readonly [number, number] {
  const from = random.below(length + 1)
  return [from, Math.min(length, from + random.size(length + 1))]
}

const flippedBit: Mutation = (input, random) => {
  if (input.length === 0) return input
  const changed = Buffer.from(input)
  const at = random.below(input.length)
  changed[at] = changed[at]! ^ (1 << random.below(8))
  return changed
}

const anyByte: Mutation = (input, random) => {
  const at = random.below(input.length + 1)
  return joined(input.subarray(0, at), Buffer.from([random.below(256)]), input.subarray(at + random.below(2)))
}

const withoutRange: Mutation = (input, random) => {
  const [from, to] = rangeIn(input, random)
  return joined(input.subarray(0, from), input.subarray(to))
}

const truncated: Mutation = (input, random) => input.subarray(0, random.below(input.length + 1))

const repeated: Mutation = (input, random) => {
  const [from, to] = rangeIn(input, random)
  const part = input.subarray(from, to)
  const times = Math.min(random.size(64), Math.ceil(repeatedBytesMax / Math.max(1, part.length)))
  return joined(input.subarray(0, to), ...Array.from({ length: times }, () => part), input.subarray(to))
}

const repeatedBytesMax = 16 * 1024

const withWord: Mutation = (input, random, { words }) => {
  const [from, to] = rangeIn(input, random)
  const word = random.chance(0.5) && words.length > 0 ? random.oneOf(words) : random.oneOf(hostileWords)
  return joined(input.subarray(0, from), word, input.subarray(random.chance(0.5) ? from : to))
}

const spliced: Mutation = (input, random, { others }) => {
  const other = random.oneOf(others)
  const [from, to] = rangeIn(other, random)
  const at = random.below(input.length + 1)
  return joined(
    input.subarray(0, at),
    other.subarray(from, to),
    random.chance(0.5) ? input.subarray(at) : input.subarray(0, 0),
  )
}

/** A part of it within itself, so that a structure has itself as a member. */
const nested: Mutation = (input, random) => {
  const [from, to] = rangeIn(input, random)
  const at = random.below(input.length + 1)
  return joined(input.subarray(0, at), input.subarray(from, to), input.subarray(at))
}

const movedRange: Mutation = (input, random) => {
  const [from, to] = rangeIn(input, random)
  const left = joined(input.subarray(0, from), input.subarray(to))
  const at = random.below(left.length + 1)
  return joined(left.subarray(0, at), input.subarray(from, to), left.subarray(at))
}

/** A number in a text becomes another one. */
const otherNumber: Mutation = (input, random) => {
  const text = input.toString('latin1')
  const found = [...text.matchAll(/\d+/g)]
  if (found.length === 0) return input
  const { index, 0: digits } = random.oneOf(found)
  const other = random.oneOf([
    '0',
    '1',
    '-1',
    '99999',
    '4294967296',
    '9007199254740993',
    '1e400',
    '10000',
    '60',
    '31',
    `${digits}0`,
    `0${digits}`,
  ])
  return Buffer.from(text.slice(0, index) + other + text.slice(index + digits.length), 'latin1')
}

const otherOrderOfLines: Mutation = (input, random) => {
  const lines = input.toString('latin1').split('\n')
  const [line = ''] = lines.splice(random.below(lines.length), 1)
  const times = random.below(4)
  for (let each = 0; each < times; each += 1) lines.splice(random.below(lines.length + 1), 0, line)
  return Buffer.from(lines.join(random.chance(0.1) ? '\r' : '\n'), 'latin1')
}

/** A JSON text whose values are others; not the text if it is no JSON. */
const otherMember: Mutation = (input, random, sources) => {
  let value: unknown
  try {
    value = JSON.parse(input.toString())
  } catch {
    return withWord(input, random, sources)
  }
  const places = placesIn(value)
  if (places.length === 0) return Buffer.from(JSON.stringify(random.oneOf(hostileValues)) ?? '')
  const { holder, key } = random.oneOf(places)
  const from = random.oneOf(places)
  const other = random.chance(0.6) ? random.oneOf(hostileValues) : structuredClone(from.holder[from.key])
  const change = Array.isArray(holder) ? 'set' : random.oneOf(['set', 'set', 'set', 'set', 'delete', 'add'])
  if (change === 'delete') delete holder[key]
  else holder[change === 'add' ? random.oneOf(['toString', '', key.toUpperCase()]) : key] = other
  return Buffer.from(JSON.stringify(value))
}

interface JsonPlace {
  readonly holder: Record<string, unknown>
  readonly key: string
}

const placesMax = 2_000

function placesIn(value: unknown): JsonPlace[] {
  const places: JsonPlace[] = []
  const waiting = [value]
  for (let next = waiting.pop(); next !== undefined && places.length < placesMax; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) continue
    for (const key of Object.keys(next)) {
      places.push({ holder: next as Record<string, unknown>, key })
      waiting.push((next as Record<string, unknown>)[key] ?? undefined)
    }
  }
  return places
}

const mutations: readonly Mutation[] = [
  flippedBit,
  anyByte,
  withoutRange,
  truncated,
  repeated,
  withWord,
  withWord,
  spliced,
  nested,
  movedRange,
  otherNumber,
  otherOrderOfLines,
  otherMember,
  otherMember,
]

/** One to five changes, one more often than five. */
export function mutated(input: Buffer, random: Random, sources: Sources, bytesMax: number): Buffer {
  let changed = input
  for (let left = random.size(6); left > 0; left -= 1) {
    const next = random.oneOf(mutations)(changed, random, sources)
    if (next.length <= bytesMax) changed = next
  }
  return changed
}
