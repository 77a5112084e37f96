/** Times in logs. */
import { isTimestamp } from '../core/timestamp.js'
import { type Fields, textOf } from './values.js'

/** Milliseconds since 1970, or a text as RFC 3339 writes it. Another text is kept, so that the refusal of its record shows it. */
export type Time = number | string | undefined

/** The last time that a Date can hold (ECMA-262, section 21.4.1.1). */
const timeMsMax = 8.64e15

export function timeOf(time: Time): string | undefined {
  if (typeof time !== 'number') return textOf(time)
  const isTime = Math.abs(time) <= timeMsMax
  return isTime ? new Date(Math.round(time)).toISOString() : String(time)
}

/** A program that writes its line when all is over says when that was, and how long it took. */
export function startOf(end: Time, seconds: number | undefined): Time {
  if (seconds === undefined || end === undefined) return end
  const ms = typeof end === 'number' ? end : isTimestamp(end) ? Date.parse(end) : Number.NaN
  return Number.isNaN(ms) ? end : Math.round(ms - seconds * 1_000)
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const logForm = /^(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ([+-]\d\d)(\d\d))?$/

/**
 * The time of the Common Log Format, `10/Oct/2026:13:55:36 -0700`, and HAProxy's, `10/Oct/2026:13:55:36.123`, which has no
 * zone and is taken for this machine's (TZ).
 */
export function logTime(text: string): Time {
  const {
    1: day,
    2: name = '',
    3: year,
    4: time,
    5: fraction = '000',
    6: hours,
    7: minutes,
  } = logForm.exec(text) ?? []
  const month = months.indexOf(name) + 1
  const local = `${year}-${String(month).padStart(2, '0')}-${day}T${time}.${fraction}`
  const zoned = hours === undefined ? `${local}Z` : `${local}${hours}:${minutes}`
  if (month === 0 || !isTimestamp(zoned)) return text
  if (hours !== undefined) return zoned
  const ms = new Date(local).getTime()
  // A second 60 has no Date.
  return Number.isNaN(ms) ? text : ms
}

/** A doubt about a record without a time. The line may have one under another name than `name`. */
export function withoutTime(fields: Fields, name: string): string {
  const other = fields.names.find((each) => isTimeText(String(fields.get(each) ?? '')))
  return `It does not say when it began: ${
    other === undefined ? `log it as "${name}"` : `the time in "${other}" must be named "${name}"`
  }.`
}

const isTimeText = (text: string): boolean =>
  isTimestamp(text) || logTime(text) !== text || /^\d{10}(?:\.\d+)?$/.test(text)
