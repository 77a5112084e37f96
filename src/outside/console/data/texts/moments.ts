/** Times as people write them, for fields and files. */

import { isoSeconds } from '../../../../ground/core/clock.js'
import { isTimestamp } from '../../../../ground/core/text/timestamp.js'
import { durationMs } from '../../../../ground/core/text/units.js'

/** Milliseconds of an RFC 3339 time. */
export function momentOf(text: string): number | undefined {
  const ms = isTimestamp(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** An end as people give it: `4h`, `7d`, or a time. Empty: null; undefined if it is neither. */
export function endIn(text: string, nowMs: number): string | null | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const length = durationMs(trimmed)
  const ms = length === undefined ? momentOf(trimmed) : nowMs + length
  return ms === undefined || ms > latestMs ? undefined : isoSeconds(ms)
}

/** Later years have more than four digits, which RFC 3339 has not. */
const latestMs = Date.UTC(9999, 11, 31)
