/**
 * IP addresses.
 *
 * Parsing is strict: IPv4 is four decimal numbers without leading zeros, IPv6 is RFC 4291 text without a zone. Other
 * parsers take `010.0.0.1` for 8.0.0.1 or `1.2.3` for 1.2.0.3, and a rule that means different addresses to different
 * programs is a security hole. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) counts as the IPv4 address everywhere,
 * so that a client can't evade a rule by writing its address differently.
 */
export type AddressFamily = 4 | 6

/** Longest text of an address: eight groups of four digits, the last two written as dotted IPv4. */
const addressCharsMax = 45

const dot = 46
const zero = 48
const nine = 57
const colon = 58

/** Parses dotted decimal from `start` to the end; -1 for anything else. */
function readIpv4(text: string, start: number): number {
  let address = 0
  let part = 0
  let digits = 0
  let dots = 0
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === dot) {
      if (digits === 0 || dots === 3) return -1
      dots++
      address = address * 256 + part
      part = 0
      digits = 0
    } else {
      if (code < zero || code > nine) return -1
      if (digits > 0 && part === 0) return -1
      part = part * 10 + (code - zero)
      digits++
      if (part > 255) return -1
    }
  }
  return dots === 3 && digits > 0 ? address * 256 + part : -1
}

/** Values of hexadecimal digits by character code; -1 for other ASCII characters. */
const hexDigits = Int8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  return /[0-9a-f]/i.test(character) ? Number.parseInt(character, 16) : -1
})

/** Parses IPv6 text into eight 16-bit groups; false for anything else. */
function readIpv6(text: string, groups: Uint16Array): boolean {
  const length = text.length
  if (length < 2 || length > addressCharsMax) return false
  let count = 0
  let gap = -1
  let value = 0
  let digits = 0
  let groupStart = 0
  let index = 0
  if (text.charCodeAt(0) === colon) {
    if (text.charCodeAt(1) !== colon) return false
    gap = 0
    index = 2
    groupStart = 2
  }
  for (; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code === colon) {
      if (digits === 0) {
        if (gap !== -1 || index === 0) return false
        gap = count
      } else {
        if (count === 8 || index === length - 1) return false
        groups[count++] = value
        value = 0
        digits = 0
      }
      groupStart = index + 1
    } else if (code === dot) {
      const embedded = count <= 6 ? readIpv4(text, groupStart) : -1
      if (embedded < 0) return false
      groups[count++] = embedded >>> 16
      groups[count++] = embedded & 0xffff
      digits = 0
      break
    } else {
      const digit = code < 128 ? hexDigits[code]! : -1
      if (digit < 0 || digits === 4) return false
      digits++
      value = (value << 4) | digit
    }
  }
  if (digits > 0) {
    if (count === 8) return false
    groups[count++] = value
  }
  return spreadGap(groups, count, gap)
}

/** Moves the groups after `::` to the end and fills the gap with zeros; false if the count is impossible. */
function spreadGap(groups: Uint16Array, count: number, gap: number): boolean {
  if (gap === -1) return count === 8
  if (count > 7) return false
  // Explicit loops: for eight items, typed array methods would cost more than everything else here.
  const behind = count - gap
  for (let step = 1; step <= behind; step++) groups[8 - step] = groups[count - step]!
  for (let index = gap; index < 8 - behind; index++) groups[index] = 0
  return true
}

/** A parsed address. It never changes, so the parsed address of a record is handed on instead of its text. */
export interface Address {
  /** 0 if the text was not an address. */
  readonly family: AddressFamily | 0
  /** Big-endian words of 32 bits; an IPv4 address is in the last one, and the others are 0. */
  readonly words: AddressWords
}

export type AddressWords = readonly [number, number, number, number]

const noAddress: Address = { family: 0, words: [0, 0, 0, 0] }

/** Expressions and filters ask for the address of a record one after the other, and each of them has only its text. */
const last = { text: '', address: noAddress }

/** Parses text; the family of anything that is not an address is 0. */
export function parseAddress(text: unknown): Address {
  if (text === last.text) return last.address
  if (typeof text !== 'string') return noAddress
  last.text = text
  last.address = addressIn(text)
  return last.address
}

/** Reused for each address. */
const groups = new Uint16Array(8)

function addressIn(text: string): Address {
  const ipv4 = readIpv4(text, 0)
  if (ipv4 >= 0) return { family: 4, words: [0, 0, 0, ipv4] }
  if (!readIpv6(text, groups)) return noAddress
  const word0 = joined(groups[0]!, groups[1]!)
  const word1 = joined(groups[2]!, groups[3]!)
  const word2 = joined(groups[4]!, groups[5]!)
  const word3 = joined(groups[6]!, groups[7]!)
  return word0 === 0 && word1 === 0 && word2 === 0xffff
    ? { family: 4, words: [0, 0, 0, word3] }
    : { family: 6, words: [word0, word1, word2, word3] }
}

const joined = (high: number, low: number): number => ((high << 16) | low) >>> 0

export const isAddress = (text: unknown): text is string =>
  typeof text === 'string' && (readIpv4(text, 0) >= 0 || readIpv6(text, groups))

/**
 * Is it an address as an operating system reports that of a peer? A zone (RFC 4007), such as in `fe80::9%eth0`, names an
 * interface of the host that saw the connection: `canonicalAddress` drops it. Only IPv6 has zones.
 */
export const isPeerAddress = (text: unknown): text is string =>
  isAddress(text) || (typeof text === 'string' && isAddress(withoutZone(text)))

function withoutZone(text: string): string {
  const end = text.indexOf('%')
  const isZoned = end !== -1 && end < text.length - 1 && beginsLikeIpv6(text)
  return isZoned ? text.slice(0, end) : text
}

/** The family of an address in text; `undefined` if it is not an address. */
export const familyOf = (text: unknown): AddressFamily | undefined => parseAddress(text).family || undefined

/** Canonical text of an address: dotted decimal, or IPv6 by RFC 5952. */
export function formatAddress(family: AddressFamily, words: ArrayLike<number>): string {
  return family === 4 ? formatIpv4(words[3]!) : formatIpv6(words)
}

const formatIpv4 = (address: number): string =>
  `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`

const groupOf = (words: ArrayLike<number>, index: number): number =>
  (words[index >> 1]! >>> ((index & 1) === 0 ? 16 : 0)) & 0xffff

/** Builds the text in a loop: this runs for each record of an IPv6 client, and arrays would cost ten times as much. */
function formatIpv6(words: ArrayLike<number>): string {
  const gap = findGap(words)
  let text = ''
  for (let index = 0; index < 8; index++) {
    if (index === gap.start) {
      text += index === 0 ? '::' : ':'
      index += gap.length - 1
    } else {
      text += groupOf(words, index).toString(16)
      if (index < 7) text += ':'
    }
  }
  return text
}

/** Reused for each address. */
const foundGap = { start: -1, length: 0 }

/** The first of the longest runs of at least two zeros; `start` is -1 if there is none. */
function findGap(words: ArrayLike<number>): { readonly start: number; readonly length: number } {
  foundGap.start = -1
  foundGap.length = 1
  let length = 0
  for (let index = 0; index < 8; index++) {
    length = groupOf(words, index) === 0 ? length + 1 : 0
    if (length <= foundGap.length) continue
    foundGap.length = length
    foundGap.start = index - length + 1
  }
  return foundGap
}

/**
 * Canonical text of an address: IPv6 by RFC 5952, an IPv4-mapped address as IPv4, without a zone. Other text is returned
 * unchanged. So is IPv4 text, which has only one spelling.
 */
export function canonicalAddress(text: string): string {
  if (!beginsLikeIpv6(text)) return text
  const { family, words } = parseAddress(text)
  if (family !== 0) return formatAddress(family, words)
  return isPeerAddress(text) ? canonicalAddress(withoutZone(text)) : text
}

/** IPv6 text has a colon behind four digits at most. */
function beginsLikeIpv6(text: string): boolean {
  for (let index = 0; index < text.length && index < 5; index++)
    if (text.charCodeAt(index) === colon) return true
  return false
}
