/** CIDR ranges, parsed as strictly as addresses. */
import { ok, problem, type Result, shown } from '../errors.js'
import { type Address, type AddressFamily, type AddressWords, formatAddress, parseAddress } from './ip.js'

const slash = '/'

/** A range in canonical form: the words beyond `prefix` are zero. */
export interface Cidr {
  readonly family: AddressFamily
  /** 0…32 or 0…128. */
  readonly prefix: number
  /** The lowest address, laid out like `Address.words`. */
  readonly words: AddressWords
}

interface CidrOptions {
  /** May bits be set after the prefix (`10.1.2.3/8`)? If so, they are cleared. */
  readonly hostBits: 'allow' | 'refuse'
}

/** The prefix length counted over all 128 bits, also for IPv4. */
export const prefix128Of = (cidr: Cidr): number => (cidr.family === 4 ? cidr.prefix + 96 : cidr.prefix)

/** The mask of word `index` (0…3) for a prefix length counted over all 128 bits. */
export function maskOf(index: number, prefix128: number): number {
  const bits = Math.min(32, Math.max(0, prefix128 - index * 32))
  return bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0
}

const prefixText = /^(?:0|[1-9][0-9]{0,2})$/

/**
 * Parses a CIDR range, or an address, which is the range of itself alone. The problem is one sentence that names the text
 * and, if possible, how to write it correctly.
 */
export function parseCidr(value: unknown, options: CidrOptions): Result<Cidr> {
  if (typeof value !== 'string') return problem(`${shown(value)} is not a range in CIDR notation.`)
  const cut = value.indexOf(slash)
  const text = cut < 0 ? value : value.slice(0, cut)
  const address = parseAddress(text)
  if (address.family === 0)
    return problem(`${shown(value)} is not a range in CIDR notation: ${shown(text)} is not an IP address.`)
  const writtenBits = text.includes(':') ? 128 : 32
  const prefixPart = cut < 0 ? String(writtenBits) : value.slice(cut + 1)
  const written = prefixText.test(prefixPart) ? Number(prefixPart) : Number.NaN
  if (!(written <= writtenBits)) {
    return problem(
      `${shown(value)} has the prefix length ${shown(prefixPart)}; it must be 0 to ${writtenBits}.`,
    )
  }
  return rangeOf(value, address, written + 128 - writtenBits, options)
}

/** The range around the address; `prefix128` is counted over 128 bits, also for IPv4. */
function rangeOf(
  text: string,
  { family: familyOfText, words }: Address,
  prefix128: number,
  options: CidrOptions,
): Result<Cidr> {
  const mapped = familyOfText === 4 && text.includes(':')
  // A range wider than the IPv4-mapped block is an IPv6 range, and its address includes 0xffff.
  const family = mapped && prefix128 < 96 ? 6 : (familyOfText as AddressFamily)
  const word2 = mapped && family === 6 ? 0xffff : words[2]
  const low0 = (words[0] & maskOf(0, prefix128)) >>> 0
  const low1 = (words[1] & maskOf(1, prefix128)) >>> 0
  const low2 = (word2 & maskOf(2, prefix128)) >>> 0
  const low3 = (words[3] & maskOf(3, prefix128)) >>> 0
  const prefix = family === 4 ? prefix128 - 96 : prefix128
  const cidr: Cidr = { family, prefix, words: [low0, low1, low2, low3] }
  const hasHostBits = low0 !== words[0] || low1 !== words[1] || low2 !== word2 || low3 !== words[3]
  if (hasHostBits && options.hostBits === 'refuse') {
    return problem(`${shown(text)} has bits set after its prefix; write ${formatCidr(cidr)}.`)
  }
  return ok(cidr)
}

/** Does the range contain the address? For a single range; use `CidrSet` for many. */
export function cidrContains(cidr: Cidr, address: Address): boolean {
  if (address.family !== cidr.family) return false
  const prefix128 = prefix128Of(cidr)
  return cidr.words.every((word, index) => (address.words[index]! & maskOf(index, prefix128)) >>> 0 === word)
}

/** A test for one range with precomputed masks. */
export function compileCidr(cidr: Cidr): (text: unknown) => boolean {
  const beginning = beginningOf(cidr)
  const { family } = cidr
  const prefix128 = prefix128Of(cidr)
  const [mask0, mask1, mask2, mask3] = [0, 1, 2, 3].map(
    (index) => maskOf(index, prefix128) | 0,
  ) as unknown as AddressWords
  const [low0, low1, low2, low3] = cidr.words.map((word) => word | 0) as unknown as AddressWords
  // One function for both families, so that V8 can inline it into its callers (Node 20).
  return (text) => {
    if (!mayBegin(text, beginning)) return false
    const address = parseAddress(text)
    const { words } = address
    return (
      address.family === family &&
      (words[0] & mask0) === low0 &&
      (words[1] & mask1) === low1 &&
      (words[2] & mask2) === low2 &&
      (words[3] & mask3) === low3
    )
  }
}

/**
 * The beginning that the texts of all addresses of the range share, in lower case, a character in each byte from the
 * lowest: the first number, if that is the same for all and has one spelling. An IPv4 address written as IPv6 begins with
 * a zero or a colon instead.
 */
function beginningOf({ family, prefix, words }: Cidr): number {
  if (family === 4) return prefix < 8 ? 0 : packed(`${words[3] >>> 24}.`)
  // Only a group of four digits can't have zeros in front.
  return prefix < 16 || words[0] < 0x1000_0000 ? 0 : packed((words[0] >>> 16).toString(16))
}

/** At most four characters. */
const packed = (text: string): number =>
  [...text].reduceRight((bytes, character) => (bytes << 8) | character.charCodeAt(0), 0)

const zero = 48
const colon = 58
/** Makes a letter small and leaves digits, dots and colons as they are. */
const lowerCaseBit = 0x20

/** Whether the text may be an address with this beginning. Most are not, and parsing takes ten times as long. */
function mayBegin(text: unknown, beginning: number): boolean {
  if (typeof text !== 'string') return false
  for (let index = 0, rest = beginning; rest !== 0; index++, rest >>>= 8) {
    if ((text.charCodeAt(index) | lowerCaseBit) === (rest & 0xff)) continue
    const first = text.charCodeAt(0)
    return first === zero || first === colon
  }
  return true
}

/** Canonical text of a range, the form in which two equal ranges are equal text. */
export const formatCidr = (cidr: Cidr): string => `${formatAddress(cidr.family, cidr.words)}/${cidr.prefix}`

/** Is a range in canonical form, as text, a single address? */
export const isOneAddress = (cidr: string): boolean => cidr.endsWith(cidr.includes(':') ? '/128' : '/32')

/** The ranges that contain a whole range, the narrowest first: itself, and one for each shorter prefix. */
export function* rangesAround({ family, prefix: narrowest, words }: Cidr): Generator<Cidr> {
  for (let prefix = narrowest; prefix >= 0; prefix -= 1) {
    const prefix128 = prefix128Of({ family, prefix, words })
    const [word0, word1, word2, word3] = words.map((word, index) => (word & maskOf(index, prefix128)) >>> 0)
    yield { family, prefix, words: [word0!, word1!, word2!, word3!] }
  }
}

/** The narrowest range that contains both; undefined if they are of two families. */
export function rangeAround(one: Cidr, other: Cidr): Cidr | undefined {
  if (one.family !== other.family) return undefined
  const narrowest = Math.min(one.prefix, other.prefix)
  const isShared = ({ prefix, words }: Cidr): boolean =>
    words.every(
      (word, index) => (other.words[index]! & maskOf(index, prefix128Of({ ...one, prefix }))) >>> 0 === word,
    )
  for (const range of rangesAround({ ...one, prefix: narrowest })) if (isShared(range)) return range
  return undefined
}

/** The first and the last address of a range. */
export function boundsOf(cidr: Cidr): readonly [string, string] {
  const { family, words: first } = cidr
  const last = first.map((word, index) => (word | ~maskOf(index, prefix128Of(cidr))) >>> 0)
  return [formatAddress(family, first), formatAddress(family, last)]
}

/** Rows of the first and the last address of ranges, `width` words each. */
interface RangeRows {
  readonly bounds: Uint32Array
  readonly width: number
}

/** The range of a row: its prefix ends where its bounds differ. Behind the words of a row, they differ everywhere. */
export function cidrInRow({ bounds, width }: RangeRows, row: number, family: AddressFamily): Cidr {
  const first = bounds.subarray(2 * row * width, (2 * row + 1) * width)
  const last = bounds.subarray((2 * row + 1) * width, (2 * row + 2) * width)
  let prefix = 0
  for (let index = 0; index < width; index++) {
    const bits = Math.clz32(first[index]! ^ last[index]!)
    prefix += bits
    if (bits < 32) break
  }
  const [word0 = 0, word1 = 0, word2 = 0, word3 = 0] = family === 4 ? [0, 0, 0, first[0]!] : first
  return { family, prefix, words: [word0, word1, word2, word3] }
}
