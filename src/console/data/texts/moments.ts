/** Times as people write them, for fields and files. */
import { isTimestamp } from '../../../core/timestamp.js'

/** Milliseconds of an RFC 3339 time. */
export function momentOf(text: string): number | undefined {
  const ms = isTimestamp(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** As the API shows times that clients set: whole seconds in UTC. */
export const secondsText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** An end as people give it: `4h`, `7d`, or a time. Empty: null; undefined if it is neither. */
export function endIn(text: string, nowMs: number): string | null | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const [, count, unit = ''] = /^(\d{1,6}) ?([smhd])$/.exec(trimmed) ?? []
  if (count !== undefined) return secondsText(nowMs + Number(count) * unitMs[unit]!)
  const ms = momentOf(trimmed)
  return ms === undefined ? undefined : secondsText(ms)
}
