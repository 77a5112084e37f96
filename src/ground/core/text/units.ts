/** Numbers with a unit and times, as settings and query parameters have them: `90s`, `512MiB`, a time or how long ago. */
import { now } from '../clock.js'
import { hasUtcYear, isTimestamp, parseTimestamp } from './timestamp.js'

/** Reads a number with a unit of the table; undefined if the text is not one. */
export const units = (table: Readonly<Record<string, number>>) => (text: string) => {
  const [, digits, unit] = /^(\d{1,12}) ?([a-z]+)$/i.exec(text) ?? []
  const name = unit?.toLowerCase() ?? ''
  const factor = Object.hasOwn(table, name) ? table[name] : undefined
  return factor === undefined ? undefined : Number(digits) * factor
}

const minuteMs = 60_000
const durationUnits = { d: 24 * 60 * minuteMs, h: 60 * minuteMs, m: minuteMs, s: 1000, ms: 1 }

/** The milliseconds of `90s`, `30m`, `72h` or `7d`. */
export const durationMs = units(durationUnits)

/** Writes a number with the first unit of the table that leaves a whole number. */
export const inUnits = (table: Readonly<Record<string, number>>) => (value: number) => {
  const [unit, factor] = Object.entries(table).find(([, each]) => value % each === 0) ?? ['', 1]
  return `${value / factor}${unit}`
}

/** The same with the largest unit that fits: `7d`. */
export const durationText = inUnits(durationUnits)

/** In descriptions and messages. */
export const pastTimeForms = 'a length of time such as `90s`, `24h` or `7d`, or a time in RFC 3339'
export const pastTimeFormsPlain = pastTimeForms.replaceAll('`', '')

/**
 * A time as clients and operators give it: a time, or a length of time before now. One parser for the API and the command
 * line. Returns milliseconds since the epoch, not before 1970; undefined for another text.
 */
export function timeIn(text: string, nowMs: number = now()): number | undefined {
  const length = durationMs(text)
  const ms = length === undefined ? timestampMs(text) : nowMs - length
  return ms === undefined ? undefined : Math.max(0, ms)
}

function timestampMs(text: string): number | undefined {
  // A leap second or a zone may lead beyond the years that a time can show.
  if (!isTimestamp(text) || !hasUtcYear(text)) return undefined
  const ms = Date.parse(text)
  // A leap second, which `Date` does not know.
  return Number.isNaN(ms) ? parseTimestamp(text)! * 1000 : ms
}
