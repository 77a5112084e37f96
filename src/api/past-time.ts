/** Times in requests about recorded traffic: a time, or how long ago. */
import { badRequest, shown } from '../core/errors.js'
import { isTimestamp } from '../core/timestamp.js'
import { durationMs, durationText } from '../core/units.js'

export const pastTimeForms = 'a length of time such as `90s`, `30m` or `24h`, or a time in RFC 3339'

const minuteMs = 60_000

interface Bounds {
  readonly nowMs: number
  /** Records are kept for so long. */
  readonly retentionMs: number
}

/** Milliseconds since the epoch, of a time or a length of time before now; undefined for another text. */
export function timeIn(text: string, nowMs: number): number | undefined {
  const length = durationMs(text)
  const ms = length !== undefined ? nowMs - length : isTimestamp(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** Milliseconds since the epoch, before now; `name`: the member or parameter, as messages call it. */
export function pastTime(name: string, text: string, { nowMs, retentionMs }: Bounds): number {
  const ms = timeIn(text, nowMs)
  if (ms === undefined || ms >= nowMs)
    throw badRequest(`${name} is ${shown(text)}: ${pastTimeForms.replaceAll('`', '')} is needed, before now.`)
  // A request takes its time.
  if (ms < nowMs - retentionMs - minuteMs)
    throw badRequest(`${name} is ${shown(text)}: records are kept for ${durationText(retentionMs)} only.`)
  return ms
}
