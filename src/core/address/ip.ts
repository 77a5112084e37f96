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

/**
 * A reusable buffer for one address, so that nothing is allocated per record. It remembers the parsed text, so that
 * ten policies that check the same record's address parse it once.
 */
export class AddressSlot {
  /** 0 if the last text was not an address. */
  family: AddressFamily | 0 = 0
  /** Big-endian 32-bit words; an IPv4 address is in the last one, and the others are 0. */
  readonly words = new Uint32Array(4)
  readonly #groups = new Uint16Array(8)
  #text = ''

  /** Fills the slot; returns the family, or 0 if `text` is not an address. */
  read(text: unknown): AddressFamily | 0 {
    if (text === this.#text) return this.family
    this.#text = typeof text === 'string' ? text : ''
    this.family = this.#parse(this.#text)
    return this.family
  }

  #parse(text: string): AddressFamily | 0 {
    const words = this.words
    const ipv4 = readIpv4(text, 0)
    if (ipv4 >= 0) {
      words[0] = 0
      words[1] = 0
      words[2] = 0
      words[3] = ipv4
      return 4
    }
    const groups = this.#groups
    if (!readIpv6(text, groups)) return 0
    words[0] = (groups[0]! << 16) | groups[1]!
    words[1] = (groups[2]! << 16) | groups[3]!
    words[2] = (groups[4]! << 16) | groups[5]!
    words[3] = (groups[6]! << 16) | groups[7]!
    if (words[0] !== 0 || words[1] !== 0 || words[2] !== 0xffff) return 6
    words[2] = 0
    return 4
  }
}

/**
 * Holds an address for the length of one synchronous call that calls nothing which reads another one. IP policies,
 * expressions and filters ask for the address of a record one after the other, and the slot parses it for the first of
 * them only.
 */
export const sharedSlot = new AddressSlot()

export const isAddress = (text: unknown): text is string => sharedSlot.read(text) !== 0

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
export const familyOf = (text: unknown): AddressFamily | undefined => sharedSlot.read(text) || undefined

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
  const family = sharedSlot.read(text)
  if (family !== 0) return formatAddress(family, sharedSlot.words)
  return isPeerAddress(text) ? canonicalAddress(withoutZone(text)) : text
}

/** IPv6 text has a colon behind four digits at most. */
function beginsLikeIpv6(text: string): boolean {
  for (let index = 0; index < text.length && index < 5; index++)
    if (text.charCodeAt(index) === colon) return true
  return false
}
