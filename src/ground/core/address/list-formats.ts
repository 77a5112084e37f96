/**
 * Reads lists of addresses in the forms in which they are published. A generator yields each entry, and undefined where
 * there is none, so that its caller can pause; what is wrong goes to `faults`, which name the line.
 */
import { utf8Length } from '../bytes.js'
import type { EntryFaults } from '../entry-faults.js'
import { badRequest, shown } from '../errors.js'
import { ipListLinesMax } from '../limits.js'
import { withoutCsvMarks } from '../text/csv.js'
import { hasUtcYear, parseTimestamp } from '../text/timestamp.js'
import { parseCidr } from './cidr.js'
import { parseAddress } from './ip.js'
import { LineShapes } from './line-shapes.js'
import { canonicalRange, commentOf, type ListEntry, linesIn } from './list-entry.js'
import { ipsetReader, isIpsetLine } from './list-ipset.js'

export const listFormats = [
  'lines',
  'netset',
  'csv',
  'spamhaus_drop',
  'json',
  'aws',
  'gcp',
  'azure',
  'cloudflare',
] as const

export type ListFormat = (typeof listFormats)[number]

/** Formats whose text is one JSON value. */
export const isJsonFormat = (format: ListFormat): boolean =>
  format === 'json' || format === 'aws' || format === 'gcp' || format === 'azure'

/** The format that a text most likely has. */
export function likelyFormat(text: string): ListFormat {
  const first = text.trimStart()
  const [line = ''] = first.split('\n', 1)
  if (/^\{.*\}\s*$/.test(line) && first.trimEnd().includes('\n')) return 'spamhaus_drop'
  if (/^[[{]/.test(first)) return likelyJsonFormat(first)
  return /^[^#;]*,/.test(line) ? 'csv' : 'lines'
}

/** By the members that each publisher's document begins with. */
const jsonMarks: readonly (readonly [ListFormat, RegExp])[] = [
  ['aws', /"syncToken"[\s\S]*"ip_prefix"/],
  ['gcp', /"syncToken"[\s\S]*"ipv[46]Prefix"/],
  ['azure', /"changeNumber"|"addressPrefixes"/],
  ['cloudflare', /"ipv4_cidrs"/],
]
const jsonBeginChars = 4_096

const likelyJsonFormat = (text: string): ListFormat =>
  jsonMarks.find(([, mark]) => mark.test(text.slice(0, jsonBeginChars)))?.[0] ?? 'json'

export type Entries = Generator<ListEntry | undefined, void>

/** Lines of published lists have some hundred bytes at most; a longer one is a text of another kind. */
export const listLineBytesMax = 4096

/** How a list is read. */
export interface ListReading {
  /** From when times that pass are counted. */
  readonly nowMs: number
  /** It was fetched, and no one looked at it: what is most likely a fault of the source or of the transfer is one. */
  readonly isFed: boolean
}

/** Undefined for an entry that a fetched list may have. */
export const whyNotFed = ({ cidr }: ListEntry): string | undefined =>
  cidr.endsWith('/0')
    ? `${shown(cidr)} is every address there is, which no list from a source may have.`
    : undefined

/** The entries of a text that is not one JSON value. */
export function* entriesInText(
  text: string,
  format: ListFormat,
  faults: EntryFaults,
  { nowMs, isFed }: ListReading,
): Entries {
  const read = readerOf(format, nowMs)
  const shapes = new LineShapes()
  let number = 0
  let rest = text.length
  for (const line of linesIn(text)) {
    number += 1
    if (number > ipListLinesMax) {
      faults.add('lines', badRequest(`The list has more than ${ipListLinesMax} lines.`))
      return
    }
    // The line feed counts, if there is one.
    rest -= line.length + 1
    const trimmed = line.trim()
    if (trimmed === '') {
      yield undefined
      continue
    }
    let found = isTooLong(line) ? tooLong(line) : read(trimmed)
    if (isFed && typeof found === 'object')
      found = whyNotFed(found) ?? shapes.whyCut(trimmed, rest >= 0) ?? found
    if (typeof found === 'string') {
      faults.add(`line ${number}`, badRequest(`Line ${number}: ${found}`))
      if (faults.isFull) return
      yield undefined
    } else yield found
  }
}

/** An entry, what is wrong, or undefined for a line without one. */
type ReadLine = (line: string) => ListEntry | string | undefined

/** A character has at most three bytes for each unit of its text. */
const isTooLong = (line: string): boolean =>
  line.length > listLineBytesMax ||
  (3 * line.length > listLineBytesMax && utf8Length(line) > listLineBytesMax)

const tooLong = (line: string): string =>
  `It has ${utf8Length(line)} bytes: at most ${listLineBytesMax} are allowed.`

function readerOf(format: ListFormat, nowMs: number): ReadLine {
  if (format === 'csv') return csvReader()
  const readPlain = plainReader(nowMs)
  return format === 'spamhaus_drop' ? (line) => readSpamhaus(line, readPlain) : readPlain
}

const commentMark = /[#;]/

/** A range, then perhaps `#` or `;` and a comment. What `ipset save` writes is read, too. */
function plainReader(nowMs: number): ReadLine {
  const readIpset = ipsetReader()
  return (line) => {
    if (isIpsetLine(line)) {
      const found = readIpset(line)
      if (typeof found !== 'object') return found
      const { range, comment, timeout } = found
      const entry = entryOrFault(range, comment)
      return typeof entry === 'string' || timeout === 0
        ? entry
        : { ...entry, expiresAt: nowMs + timeout * 1000 }
    }
    const mark = line.search(commentMark)
    if (mark === 0) return undefined
    const range = mark === -1 ? line : line.slice(0, mark).trim()
    return entryOrFault(range, mark === -1 ? null : line.slice(mark + 1))
  }
}

/** `203.0.113.0/24 ; SBL1`, or `{"cidr":"203.0.113.0/24","sblid":"SBL1"}`, and one line that describes the list. */
function readSpamhaus(line: string, readPlain: ReadLine): ListEntry | string | undefined {
  if (!line.startsWith('{')) return readPlain(line)
  let value: Record<string, unknown>
  try {
    value = JSON.parse(line) as Record<string, unknown>
  } catch {
    return `${shown(line, 80)} is not valid JSON.`
  }
  if (value['cidr'] === undefined)
    return value['type'] === 'metadata' ? undefined : `${shown(line, 80)} has no member "cidr".`
  const { sblid } = value
  return entryOrFault(value['cidr'], typeof sblid === 'string' ? sblid : null)
}

export const csvColumns = ['cidr', 'comment', 'expires_at'] as const

/** `cidr,comment,expires_at`, with or without a first line that names them, perhaps with others and in another order. */
function csvReader(): ReadLine {
  let order: readonly string[] = csvColumns
  let isFirst = true
  return (line) => {
    if (line.startsWith('#')) return undefined
    const mayNameColumns = isFirst
    isFirst = false
    const cells = csvCells(line)
    if (typeof cells === 'string') return cells
    const names = cells.map((cell) => cell.trim().toLowerCase())
    if (mayNameColumns && names.includes('cidr')) {
      order = names
      return undefined
    }
    const textOf = (name: (typeof csvColumns)[number]) => cells[order.indexOf(name)]?.trim()
    return entryOrFault(textOf('cidr') ?? '', withoutCsvMarks(textOf('comment') ?? ''), textOf('expires_at'))
  }
}

const cell = /(?:^|,)(?:\s*"((?:[^"]|"")*)"\s*(?=,|$)|([^,"]*))/gy

/** The cells of a line (RFC 4180); a cell of several lines is not allowed. */
function csvCells(line: string): string[] | string {
  const cells: string[] = []
  cell.lastIndex = 0
  while (cell.lastIndex < line.length) {
    const start = cell.lastIndex
    const found = cell.exec(line)
    if (found === null || cell.lastIndex === start)
      return `${shown(line, 80)} is not a line of CSV: a quotation mark is missing or stands inside of a value.`
    cells.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
  }
  return cells
}

/** An entry of texts, or what is wrong with them. */
export function entryOrFault(
  range: unknown,
  comment: string | null | undefined,
  expires?: string | null,
): ListEntry | string {
  const cidr = canonicalRange(range)
  if (!cidr.ok) return cidr.problem.msg
  const slip = whySlip(range, cidr.value)
  if (slip !== undefined) return slip
  if (expires === undefined || expires === null || expires === '')
    return { cidr: cidr.value, comment: commentOf(comment), expiresAt: null }
  const seconds = parseTimestamp(expires)
  if (seconds === undefined || seconds < 0 || !hasUtcYear(expires))
    return `The time ${shown(expires)} is not an RFC 3339 time.`
  return { cidr: cidr.value, comment: commentOf(comment), expiresAt: seconds * 1000 }
}

/**
 * Wider ranges with bits behind their prefix are slips: `198.51.100.0/2` has lost a digit, and is a quarter of all
 * addresses. So is a prefix that was meant for IPv4: `::ffff:203.0.113.0/24`.
 */
const slipPrefix = { ipv4: 8, ipv6: 16 }

function whySlip(range: unknown, cidr: string): string | undefined {
  const isOfIpv6 = cidr.includes(':')
  const isMeantForIpv4 = isOfIpv6 && parseAddress(String(range).split('/')[0]?.trim()).family === 4
  const widest = isOfIpv6 ? slipPrefix.ipv6 : slipPrefix.ipv4
  if (Number(cidr.slice(cidr.indexOf('/') + 1)) >= widest && !isMeantForIpv4) return undefined
  const exact = parseCidr(range, { hostBits: 'refuse' })
  return exact.ok ? undefined : exact.problem.msg
}
