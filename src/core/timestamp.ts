/** Timestamps as text: RFC 3339, section 5.6. */

const form =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Leap seconds are accepted. */
export const isTimestamp = (text: string): boolean => form.test(text) && isDayOfMonth(text)

/** Checks days after the 28th, for text that matches the pattern. */
function isDayOfMonth(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= daysOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
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

const isLeapSecond = (text: string): boolean => text.charCodeAt(17) === sixDigit

const isUtc = (text: string): boolean => {
  const last = text.charCodeAt(text.length - 1)
  return last === capitalZ || last === smallZ
}

const zoneStart = (text: string): number => text.length - (isUtc(text) ? 'Z' : '+00:00').length

const sixDigit = 0x36
const capitalT = 0x54
const capitalZ = 0x5a
const smallZ = 0x7a
/** `2026-11-20T10:00:00.123456Z` */
const microsCharsCount = 27
/** `2026-11-20T10:00:00.123Z` */
const millisCharsCount = 24
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
  const hasFraction = text.charCodeAt(fractionStart - 1) === 0x2e
  const fraction = hasFraction ? text.slice(fractionStart, zoneStart(text)) : ''
  const micros = fraction.slice(0, fractionDigits).padEnd(fractionDigits, '0')
  if (isUtc(text) && !isLeapSecond(text)) return `${text.slice(0, 10)}T${text.slice(11, 19)}.${micros}Z`
  const seconds = secondsOf(text)
  if (seconds < secondsMin || seconds > secondsMax) return undefined
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${micros}Z`
}

/** True for most timestamps, which then need little or no conversion. Length and ending imply the fractional digits. */
const isUtcWith = (text: string, charsCount: number): boolean =>
  text.length === charsCount &&
  text.charCodeAt(charsCount - 1) === capitalZ &&
  text.charCodeAt(10) === capitalT &&
  !isLeapSecond(text)

/** Is the year in UTC within the range? `text` must be a valid timestamp. */
export const hasUtcYear = (text: string): boolean =>
  (isUtc(text) && !isLeapSecond(text)) || utcMicros(text) !== undefined
