/**
 * The output of `nft -j list set` and `nft -j list ruleset` (libnftables-json(5), nft(8)): the elements of sets of
 * addresses. An option means what the manual says; what a list can't express is refused. The text of nft is not read.
 */
import { shown } from '../errors.js'
import { isObject } from '../json-object.js'
import { formatCidr } from './cidr.js'
import { type AddressFamily, type AddressWords, parseAddress } from './ip.js'
import type { FoundEntry } from './list-entry.js'

type Values = Readonly<Record<string, unknown>>

const setTypes: readonly unknown[] = ['ipv4_addr', 'ipv6_addr']
/** Members of an element besides its time. `val` has its addresses; the others change neither addresses nor time. */
const elementDetails = ['val', 'comment', 'counter', 'limit', 'quota', 'last', 'ct count']

/** Commands that `nft -j` takes, but does not list: their elements would be missing. */
const commands = ['add', 'create', 'insert', 'replace', 'delete', 'destroy', 'flush', 'element']

/**
 * The elements of all sets; chains, rules and the like have none. Without a set, it is no list: an empty set is listed, too.
 */
export function* nftEntries(objects: readonly unknown[], nowMs: number): Generator<FoundEntry> {
  if (
    !objects.some((object) => isObject(object) && ['set', 'map', ...commands].some((name) => name in object))
  )
    yield { place: 'nftables', cidr: null, wrong: 'It has no set: what "nft -j list set" writes is read.' }
  for (const [index, object] of objects.entries()) {
    if (!isObject(object)) continue
    const place = `nftables[${index}]`
    const { set, map } = object
    const command = commands.find((each) => each in object)
    if (command !== undefined)
      yield {
        place: `${place}.${command}`,
        cidr: null,
        wrong: 'It is a command: what "nft -j list set" writes is read.',
      }
    if (map !== undefined)
      yield { place: `${place}.map`, cidr: null, wrong: 'It is a map: elements of sets are read.' }
    if (isObject(set)) yield* setEntries(set, `${place}.set`, nowMs)
  }
}

function* setEntries(set: Values, place: string, nowMs: number): Generator<FoundEntry> {
  const { name, type, timeout, elem = [] } = set
  if (!setTypes.includes(type)) {
    const wrong = `The set ${shown(name)} is of the type ${shown(type)}: sets of the types ${setTypes.join(' and ')} are read.`
    yield { place: `${place}.type`, cidr: null, wrong }
  } else if (!Array.isArray(elem)) yield { place: `${place}.elem`, cidr: null, wrong: 'It is no list.' }
  else
    for (const [index, element] of elem.entries())
      yield* elementEntries(element, `${place}.elem[${index}]`, timeout, nowMs)
}

function* elementEntries(
  element: unknown,
  place: string,
  ofSet: unknown,
  nowMs: number,
): Generator<FoundEntry> {
  const { elem } = isObject(element) ? element : {}
  const options = isObject(elem) ? elem : { val: element }
  const left = secondsLeft(options, ofSet)
  const wrong = typeof left === 'string' ? left : undefined
  const expires = typeof left === 'number' ? new Date(nowMs + left * 1_000).toISOString() : null
  const comment = typeof options['comment'] === 'string' ? options['comment'] : null
  for (const cidr of rangesOf(options['val'])) yield { place, cidr, comment, expires, wrong }
}

/** Undefined if it never ends; a text says what is wrong. */
function secondsLeft({ expires, timeout, ...more }: Values, ofSet: unknown): number | string | undefined {
  const unknown = Object.keys(more).find((name) => !elementDetails.includes(name))
  if (unknown !== undefined) return `The option ${shown(unknown)} of nft is not known.`
  // The rest of the time, if the list says it; else all of it, as when the element is added.
  const [name, seconds] =
    expires === undefined ? ['timeout', timeout ?? ofSet] : (['expires', expires] as const)
  if (seconds === undefined) return undefined
  if (seconds === 0 && name === 'timeout') return 'A timeout of 0 may be less than a second, or none.'
  const isTime = typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0
  return isTime && seconds <= secondsMax ? seconds : `The ${name} ${shown(seconds)} is no number of seconds.`
}

/** nft keeps milliseconds in 64 bits; entries end in the years that a time may have. */
const secondsMax = 2 ** 31

/** An object may have no text of its own. */
const textOf = (value: unknown): string => (typeof value === 'object' ? shown(value) : String(value))

/** Something else than a range is refused as one that is none. */
function rangesOf(value: unknown): readonly unknown[] {
  if (!isObject(value)) return [value]
  const { prefix, range } = value
  if (isObject(prefix)) return [`${textOf(prefix['addr'])}/${textOf(prefix['len'])}`]
  return Array.isArray(range) && range.length === 2
    ? (prefixesBetween(range[0], range[1]) ?? [range.map(textOf).join('-')])
    : [value]
}

// --- ranges of a first and a last address ---

const positionOf = (words: AddressWords): bigint =>
  words.reduce((sum, word) => (sum << 32n) + BigInt(word), 0n)

const wordsOf = (number: bigint): AddressWords => {
  const word = (index: bigint): number => Number((number >> (96n - 32n * index)) & 0xffffffffn)
  return [word(0n), word(1n), word(2n), word(3n)]
}

/** The fewest ranges in CIDR notation that have these addresses, 254 at most. Undefined if there is no such range. */
function prefixesBetween(first: unknown, last: unknown): readonly string[] | undefined {
  const [from, to] = [parseAddress(first), parseAddress(last)]
  if (from.family === 0 || from.family !== to.family) return undefined
  const [low, high] = [positionOf(from.words), positionOf(to.words)]
  return low > high ? undefined : [...split(from.family, low, high)]
}

function* split(family: AddressFamily, low: bigint, high: bigint): Generator<string> {
  const bits = family === 4 ? 32 : 128
  for (let start = low; start <= high; ) {
    let size = 0
    // Twice as wide, it still begins here, and does not end behind the last address.
    while (size < bits && start % (2n << BigInt(size)) === 0n && start + (2n << BigInt(size)) - 1n <= high)
      size += 1
    yield formatCidr({ family, prefix: bits - size, words: wordsOf(start) })
    start += 1n << BigInt(size)
  }
}
