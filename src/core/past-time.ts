/** Times as clients and operators give them: a time, or how long ago. One parser for the API and the command line. */
import { now } from './clock.js'
import { isTimestamp, parseTimestamp } from './timestamp.js'
import { durationMs } from './units.js'

/** In descriptions and messages. */
export const pastTimeForms = 'a length of time such as `90s`, `24h` or `7d`, or a time in RFC 3339'
export const pastTimeFormsPlain = pastTimeForms.replaceAll('`', '')

/** Milliseconds since the epoch, of a time or a length of time before now; undefined for another text. Nothing is before 1970. */
export function timeIn(text: string, nowMs: number = now()): number | undefined {
  const length = durationMs(text)
  const ms = length === undefined ? timestampMs(text) : nowMs - length
  return ms === undefined ? undefined : Math.max(0, ms)
}

function timestampMs(text: string): number | undefined {
  if (!isTimestamp(text)) return undefined
  const ms = Date.parse(text)
  // A leap second, which `Date` does not know.
  return Number.isNaN(ms) ? parseTimestamp(text)! * 1000 : ms
}
