/** Times that clients set: RFC 3339, stored and shown in UTC with whole seconds. */
import { isoSeconds } from '../../../ground/core/clock.js'
import { documented, ruled, Type } from '../../../ground/core/schema.js'
import { parseTimestamp } from '../../../ground/core/text/timestamp.js'
import { pastTimeForms, pastTimeFormsPlain, timeIn } from '../../../ground/core/text/units.js'

/** The last second of the year 9999 and of RFC 3339. */
export const lastSecond = 253_402_300_799

export const timestamp = ruled(
  Type.String({
    maxLength: 64,
    description: 'RFC 3339; fractions of a second are dropped.',
    ...documented({ format: 'date-time' }),
  }),
  (text) => {
    const seconds = parseTimestamp(text)
    return seconds !== undefined && seconds >= 0 && seconds <= lastSecond
      ? undefined
      : 'an RFC 3339 time in the years 1970 to 9999 is needed'
  },
)

/** For text that was checked before: in UTC, whole seconds. */
export const canonicalTime = (text: string): string => isoSeconds(secondsOf(text) * 1000)

/** Seconds since the epoch, for text that was checked before. */
export function secondsOf(text: string): number {
  const seconds = parseTimestamp(text)
  if (seconds === undefined) throw new Error(`Not a valid time, though it was checked: ${text}.`)
  return seconds
}

/** A time that is past when it is given. */
export const pastTimestamp = ruled(
  Type.String({
    maxLength: 64,
    description: `${pastTimeForms.charAt(0).toUpperCase()}${pastTimeForms.slice(1)}; fractions of a second are dropped.`,
  }),
  (text) => (timeIn(text) === undefined ? `${pastTimeFormsPlain} is needed` : undefined),
)

/** For text that was checked before: in UTC, whole seconds. A length of time is one before now. */
export const canonicalPastTime = (text: string): string => isoSeconds(timeIn(text) ?? Number.NaN)
