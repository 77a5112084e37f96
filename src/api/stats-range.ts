/** The intervals of `GET /stats`, and the range that has them. */
import { now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { durationMs } from '../core/units.js'

/** Intervals in one answer: with the most values of one dimension, 20,000 entries. */
export const statsIntervalsMax = 1_000

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const words: Readonly<Record<string, number>> = { minute: minuteMs, hour: hourMs, day: dayMs }

export const intervalForms =
  '`minute`, `hour`, `day`, or a length of whole minutes that divides a day, such as `5m`, `30m` or `6h`'

/** Milliseconds. */
export function intervalOf(text: string): number {
  const ms = words[text] ?? durationMs(text)
  if (ms !== undefined && ms >= minuteMs && ms % minuteMs === 0 && dayMs % ms === 0) return ms
  throw badRequest(
    `The query parameter "interval" is ${shown(text)}: ${intervalForms.replaceAll('`', '')} is allowed.`,
  )
}

/** How far an answer looks back unless the request says. */
function lookBackMs(intervalMs: number): number {
  if (intervalMs < 5 * minuteMs) return hourMs
  return intervalMs <= hourMs ? dayMs : 7 * dayMs
}

/** Whole intervals, in UTC. */
export function rangeOf(
  intervalMs: number,
  since: number | undefined,
  until: number | undefined,
): { readonly sinceMs: number; readonly untilMs: number } {
  const untilMs = Math.ceil((until ?? now()) / intervalMs) * intervalMs
  const sinceMs = Math.floor((since ?? untilMs - lookBackMs(intervalMs)) / intervalMs) * intervalMs
  if (sinceMs >= untilMs) throw badRequest('"since" must be before "until".')
  const count = (untilMs - sinceMs) / intervalMs
  if (count <= statsIntervalsMax) return { sinceMs, untilMs }
  throw badRequest(
    `The range has ${count} intervals of ${intervalMs / minuteMs} min: at most ${statsIntervalsMax} are allowed.`,
  )
}
