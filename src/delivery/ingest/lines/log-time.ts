/** Times in logs. */
import { timeMsMax } from '../../../ground/core/limits.js'
import { isTimestamp } from '../../../ground/core/text/timestamp.js'
import { type Fields, textOf } from './values.js'

/**
 * Milliseconds since 1970, or a text as RFC 3339 writes it. Another text is kept, so that the refusal of its record shows
 * it.
 */
export type Time = number | string | undefined

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
/** `00`, which no time has, for what is no month. */
const monthNumber = (name: string): string => String(months.indexOf(name) + 1).padStart(2, '0')
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
  const local = `${year}-${monthNumber(name)}-${day}T${time}.${fraction}`
  const zoned = hours === undefined ? `${local}Z` : `${local}${hours}:${minutes}`
  if (!isTimestamp(zoned)) return text
  if (hours !== undefined) return zoned
  const ms = new Date(local).getTime()
  // A second 60 has no Date.
  return Number.isNaN(ms) ? text : ms
}

const dateForm = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|GMT|[+-]\d\d:?\d\d|\S+)$/
const oldForm = /^([A-Z][a-z]{2}) ([ \d]\d) (?:(\d{4}) )?(\d\d:\d\d:\d\d(?:\.\d+)?)$/
const unixForm = /^\d{9,10}\.\d{6}$/
const dayMs = 24 * 60 * 60_000

/**
 * The time that a head of syslog, the journal or a container's runtime says: RFC 3339, also without a colon in its zone;
 * seconds since 1970; `Sun 2026-11-29 14:27:37 CET` and `Nov 29 14:27:37`, which are of this machine's zone (TZ), unless
 * they say UTC. Without a year, it is the last such day before tomorrow. Undefined if it is no time, such as that since a
 * machine started.
 */
export function headTime(text: string, nowMs: number): Time {
  if (unixForm.test(text)) return Number(text) * 1_000
  const old = oldForm.exec(text)
  if (old !== null) return oldTime(old, nowMs)
  const {
    1: date,
    2: time,
    3: fraction = '0',
    4: zone,
  } = dateForm.exec(text.replace(/^[A-Z][a-z]{2} /, '')) ?? []
  if (zone === undefined) return undefined
  const local = `${date}T${time}.${fraction}`
  if (/^[+-]/.test(zone)) return asTime(`${local}${zone.slice(0, 3)}:${zone.slice(-2)}`)
  return ['Z', 'UTC', 'GMT'].includes(zone) ? asTime(`${local}Z`) : localTime(local)
}

const asTime = (text: string): Time => (isTimestamp(text) ? text : undefined)

/** A time without a zone is one of this machine's. */
function localTime(text: string): Time {
  const ms = isTimestamp(`${text}Z`) ? new Date(text).getTime() : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function oldTime([, name = '', day = '', year, time]: readonly (string | undefined)[], nowMs: number): Time {
  const inYear = (each: number | string): Time =>
    localTime(`${each}-${monthNumber(name)}-${day.replace(' ', '0')}T${time}`)
  if (year !== undefined) return inYear(year)
  const current = new Date(nowMs).getFullYear()
  // A clock may be ahead, and its zone another one. There is a February 29 in one of eight years at least.
  for (let each = current + 1; each > current - 8; each -= 1) {
    const found = inYear(each)
    if (typeof found === 'number' && found <= nowMs + dayMs) return found
  }
  return undefined
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
