/** Timestamps as text: RFC 3339, section 5.6. */
import type { JsonBytes } from './json-bytes.js'

const zero = 0x30
const plus = 0x2b
const hyphen = 0x2d
const dot = 0x2e
const colon = 0x3a
const capitalT = 0x54
const capitalZ = 0x5a
/** Makes a letter small. */
const lowerCaseBit = 0x20
const smallT = 0x74
const smallZ = 0x7a
/** `2026-11-20T10:00:00Z` */
const charsMin = 20

/**
 * Leap seconds are accepted. By hand, because every record has two times: a regular expression and numbers cut out of the
 * text would take three times as long.
 */
export function isTimestamp(text: string): boolean {
  if (text.length < charsMin) return false
  const century = pairAt(text, 0)
  const year = pairAt(text, 2)
  const month = pairAt(text, 5)
  const day = pairAt(text, 8)
  return (
    century >= 0 &&
    year >= 0 &&
    text.charCodeAt(4) === hyphen &&
    month >= 1 &&
    month <= 12 &&
    text.charCodeAt(7) === hyphen &&
    day >= 1 &&
    (day <= 28 || day <= daysOf(century * 100 + year, month)) &&
    (text.charCodeAt(10) | lowerCaseBit) === smallT &&
    isHourAndMinute(text, 11) &&
    text.charCodeAt(16) === colon &&
    isWithin(pairAt(text, 17), 60) &&
    isZone(text, endOfFraction(text))
  )
}

/** The number that two digits make; -1 if there are others. */
function pairAt(text: string, start: number): number {
  const tens = text.charCodeAt(start) - zero
  const ones = text.charCodeAt(start + 1) - zero
  return isDigit(tens) && isDigit(ones) ? tens * 10 + ones : -1
}

const isDigit = (digit: number): boolean => digit >= 0 && digit <= 9

const isWithin = (value: number, max: number): boolean => value >= 0 && value <= max

const isHourAndMinute = (text: string, start: number): boolean =>
  isWithin(pairAt(text, start), 23) &&
  text.charCodeAt(start + 2) === colon &&
  isWithin(pairAt(text, start + 3), 59)

/** The end of the fraction of the second, or of the second without one; -1 if there is a dot and no digit. */
function endOfFraction(text: string): number {
  if (text.charCodeAt(secondEnd) !== dot) return secondEnd
  let end = fractionStart
  while (isDigit(text.charCodeAt(end) - zero)) end += 1
  return end === fractionStart ? -1 : end
}

/** Whether the text from there on is `Z`, `z` or a difference like `+01:00`. */
function isZone(text: string, start: number): boolean {
  const first = text.charCodeAt(start)
  if (text.length === start + 'Z'.length) return (first | lowerCaseBit) === smallZ
  const isOffset = text.length === start + '+00:00'.length && (first === plus || first === hyphen)
  return isOffset && isHourAndMinute(text, start + 1)
}

const monthsOf30Days = [4, 6, 9, 11]

function daysOf(year: number, month: number): number {
  if (month !== 2) return monthsOf30Days.includes(month) ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** Whole seconds since the epoch; a leap second counts as the next second. Undefined if `text` is not a timestamp. */
export const parseTimestamp = (text: string): number | undefined =>
  isTimestamp(text) ? secondsOf(text) : undefined

/** `text` must be a valid timestamp. */
function secondsOf(text: string): number {
  const isLeap = isLeapSecond(text)
  const minute = text.slice(0, 17)
  const second = isLeap ? '59' : text.slice(17, 19)
  return (
    Date.parse(`${minute}${second}${text.slice(zoneStart(text))}`.toUpperCase()) / 1000 + (isLeap ? 1 : 0)
  )
}

/**
 * Milliseconds since the epoch; further digits are cut. `text` must be a valid timestamp. By hand, because each record in
 * the log has one: `Date.parse` takes ten times as long.
 */
export function millisOf(text: string): number {
  const century = pairAt(text, 0)
  // `Date.UTC` takes the first hundred years for others.
  const seconds = century > 0 && isPlainUtc(text) ? plainSeconds(text, century) : secondsOf(text)
  return seconds * 1000 + millisIn(text)
}

const plainSeconds = (text: string, century: number): number =>
  Date.UTC(
    century * 100 + pairAt(text, 2),
    pairAt(text, 5) - 1,
    pairAt(text, 8),
    pairAt(text, 11),
    pairAt(text, 14),
    pairAt(text, 17),
  ) / 1000

/** The first three digits of the fraction. */
function millisIn(text: string): number {
  if (text.charCodeAt(secondEnd) !== dot) return 0
  let millis = 0
  for (let index = fractionStart, scale = 100; scale >= 1; index += 1, scale /= 10) {
    const digit = text.charCodeAt(index) - zero
    if (!isDigit(digit)) break
    millis += digit * scale
  }
  return millis
}

const isLeapSecond = (text: string): boolean => text.charCodeAt(17) === sixDigit

const isUtc = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1)
  return last === capitalZ || last === smallZ
}

const zoneStart = (text: string): number => text.length - (isUtc(text) ? 'Z' : '+00:00').length

const sixDigit = 0x36
/** `2026-11-20T10:00:00.123456Z` */
const microsCharsCount = 27
/** `2026-11-20T10:00:00.123Z` */
const millisCharsCount = 24
const secondEnd = 19
const fractionStart = 20
const fractionDigits = 6
/** The range of years with four digits. */
const secondsMin = Date.parse('0000-01-01T00:00:00Z') / 1000
const secondsMax = Date.parse('9999-12-31T23:59:59Z') / 1000

/**
 * Canonical text of a timestamp: UTC with six fractional digits, further ones cut. A leap second becomes the next
 * second, because most parsers reject it. Undefined if the year in UTC is before 0000 or after 9999. `text` must be a
 * valid timestamp.
 */
export function utcMicros(text: string): string | undefined {
  if (isUtcWith(text, microsCharsCount)) return text
  if (isUtcWith(text, millisCharsCount)) return `${text.slice(0, millisCharsCount - 1)}000Z`
  const hasFraction = text.charCodeAt(secondEnd) === dot
  const fraction = hasFraction ? text.slice(fractionStart, zoneStart(text)) : ''
  const micros = fraction.slice(0, fractionDigits).padEnd(fractionDigits, '0')
  if (isUtc(text) && !isLeapSecond(text)) return `${text.slice(0, 10)}T${text.slice(11, 19)}.${micros}Z`
  const seconds = secondsOf(text)
  if (seconds < secondsMin || seconds > secondsMax) return undefined
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${micros}Z`
}

/** The text that gives a time in UTC six fractional digits, by how many characters follow its second. */
const microsEndings = Array.from({ length: 8 }, (_, present) => '.000000Z'.slice(present))

/** Writes `utcMicros(text)`, in most cases without making that text. The year in UTC must be from 0000 to 9999. */
export function writeUtcMicros(text: string, out: JsonBytes): void {
  const digitsEnd = Math.min(text.length, microsCharsCount) - 1
  if (!isPlainUtc(text)) {
    out.ascii(utcMicros(text)!)
    return
  }
  out.ascii(text, digitsEnd)
  out.ascii(microsEndings[digitsEnd - secondEnd]!)
}

/** True for most timestamps, which then need little or no conversion. Length and ending imply the fractional digits. */
const isUtcWith = (text: string, charsCount: number): boolean =>
  text.length === charsCount && isPlainUtc(text)

/** In UTC with capital letters, and not a leap second: only the number of fractional digits may differ. */
const isPlainUtc = (text: string): boolean =>
  text.charCodeAt(text.length - 1) === capitalZ && text.charCodeAt(10) === capitalT && !isLeapSecond(text)

/** Is the year in UTC within the range? `text` must be a valid timestamp. */
export const hasUtcYear = (text: string): boolean =>
  (isUtc(text) && !isLeapSecond(text)) || utcMicros(text) !== undefined
