/** Stretches of time that pages look at, with the interval in which sums are drawn. */
import { durationMs } from '../../../../ground/core/text/units.js'
import type { Stats } from '../../../../words/shape/stats.js'
import { now } from '../clock.js'

const hourMs = 60 * 60_000

/** Choices for `<Choices name="range">`. */
export const ranges = [
  ['1h', '1 hour'],
  ['24h', '1 day'],
  ['7d', '1 week'],
] as const

/** Intervals that give a chart some 60 to 170 bars. */
const intervals: Readonly<Record<string, Stats['interval']>> = { '1h': 'minute', '24h': '15m', '7d': 'hour' }

export const intervalOf = (range: string): Stats['interval'] => intervals[range] ?? 'hour'

/** When a range began that ends now: RFC 3339. */
export const startOf = (range: string): string =>
  new Date(now() - (durationMs(range) ?? hourMs)).toISOString()

/** Beginnings of all intervals from `since` to before `until`: an answer leaves out those in which nothing happened. */
export function timesBetween({
  since,
  until,
  interval,
}: Pick<Stats, 'since' | 'until' | 'interval'>): number[] {
  const stepMs = intervalMs(interval)
  const times: number[] = []
  for (let ms = Date.parse(since); ms < Date.parse(until); ms += stepMs) times.push(ms)
  return times
}

const wordsMs: Readonly<Record<string, number>> = { minute: 60_000, hour: hourMs, day: 24 * hourMs }

/** The length of an interval: a word, or a length such as `15m`. */
const intervalMs = (interval: string): number => wordsMs[interval] ?? durationMs(interval) ?? hourMs
