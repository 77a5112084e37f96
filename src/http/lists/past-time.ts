/** Times in requests about recorded traffic: a time, or how long ago. */
import { now } from '../../core/clock.js'
import { badRequest, shown } from '../../core/errors.js'
import { durationText, pastTimeFormsPlain, timeIn } from '../../core/units.js'

const minuteMs = 60_000

interface Bounds {
  readonly nowMs: number
  /** Records are kept for so long. */
  readonly retentionMs: number
}

/** Milliseconds since the epoch; `name`: the member, parameter or option, as messages call it. */
export function timeNamed(name: string, text: string, nowMs: number = now()): number {
  const ms = timeIn(text, nowMs)
  if (ms !== undefined) return ms
  throw badRequest(`${name} is ${shown(text)}: ${pastTimeFormsPlain} is needed.`)
}

/** The same, before now and within the retention. */
export function pastTime(name: string, text: string, { nowMs, retentionMs }: Bounds): number {
  const ms = timeNamed(name, text, nowMs)
  if (ms >= nowMs) throw badRequest(`${name} is ${shown(text)}: ${pastTimeFormsPlain} is needed, before now.`)
  // A request takes its time.
  if (ms < nowMs - retentionMs - minuteMs)
    throw badRequest(`${name} is ${shown(text)}: records are kept for ${durationText(retentionMs)} only.`)
  return ms
}
