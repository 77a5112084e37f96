/** Numbers, sizes and times as people read them. */

import { withTimes } from '../../../../ground/core/text/times.js'

const grouped = new Intl.NumberFormat()
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const precise = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const number = (value: number): string => grouped.format(value)

/** `1.2M`: for axes and narrow columns. */
export const shortNumber = (value: number): string =>
  value < 10_000 ? precise.format(value) : short.format(value)

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${precise.format((part / whole) * 100)} %`

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytes(value: number): string {
  const power = Math.min(byteUnits.length - 1, value === 0 ? 0 : Math.floor(Math.log2(value) / 10))
  return `${precise.format(value / 2 ** (10 * power))} ${byteUnits[power]}`
}

const lengths = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

/** A length of time in its largest unit: `3 h`. */
export function duration(ms: number): string {
  const seconds = Math.abs(ms) / 1000
  if (seconds < 1) return `${Math.round(Math.abs(ms))} ms`
  const [size, unit] = lengths.find(([size]) => seconds >= size) ?? [1, 's']
  return `${precise.format(seconds < 10 * size ? Math.round((seconds / size) * 10) / 10 : Math.round(seconds / size))} ${unit}`
}

/** `5 min ago`, `in 3 d`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs
  if (Math.abs(ms) < 1000) return 'now'
  // Whole seconds and minutes: a part of one is over before it is read.
  const unitMs = Math.abs(ms) < 60_000 ? 1000 : Math.abs(ms) < 3_600_000 ? 60_000 : 1
  const text = duration(Math.round(ms / unitMs) * unitMs)
  return ms < 0 ? `${text} ago` : `in ${text}`
}

const clockTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})

/** Local time: of the day today, else with the date. */
export function localTime(at: Date, nowMs: number): string {
  const isToday = at.toDateString() === new Date(nowMs).toDateString()
  return (isToday ? clockTime : dayAndTime).format(at)
}

/** A sentence of the server, whose times are in UTC, with local times. */
export const withLocalTimes = (sentence: string, nowMs: number): string =>
  withTimes(sentence, (atMs) => localTime(new Date(atMs), nowMs))

const regions = new Intl.DisplayNames(undefined, { type: 'region' })

/** The name of a country by its code, in the reader's language. */
export function countryName(code: string): string {
  try {
    return regions.of(code) ?? code
  } catch {
    return code
  }
}

/** Any value as text, for places where a program expects one: an object must never become a part of the page. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
