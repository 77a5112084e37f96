/** The time by which decisions are listed and summed: the parameter `time` of the URL, as in the API. */
import type { RowTime } from '../../../../words/client/decisions.js'
import { parameter } from '../location.js'

/** Choices for `<Choices name="time">`. */
export const timeChoices = [
  ['', 'when stored'],
  ['own', 'when it began'],
] as const

/** Loaded records of the past belong to what began in a time. A search for it has this value. */
export const recordsAndPast = 'record,history'

/** For requests and links: what a page shows that goes by the chosen time. */
export interface GoesBy {
  readonly time?: RowTime
  readonly source?: typeof recordsAndPast
}

export const goesByNow = (): GoesBy =>
  parameter('time') === 'own' ? { time: 'own', source: recordsAndPast } : {}
