/** Faults that the API found in a draft, by their places in the body: `target.kinesis.stream_arn`, `sources[0].filter`. */
import { ApiError } from '../../../../words/client/api-error.js'
import { now } from '../clock.js'
import { withLocalTimes } from '../texts/format.js'
import { listOf } from '../texts/placed-faults.js'

export function faultsOf(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof ApiError)) return new Map()
  const local = (text: string): string => withLocalTimes(text, now())
  const given = Object.entries(error.details).filter(([place]) => place !== 'operation_id')
  const first = placeIn(error.msg)
  const found = given.length === 0 && first !== undefined ? [[first, error.msg] as const] : given
  const faults = new Map(found.map(([place, text]) => [place, local(text)]))
  // An entry of a list is a line of one field.
  for (const [place, text] of [...faults]) {
    const list = listOf(place)
    if (!faults.has(list)) faults.set(list, text)
  }
  return faults
}

/** A message begins with the place, or with the object that lacks a member. */
function placeIn(msg: string): string | undefined {
  const [, place, missing] = /^"([^"]+)"(?: lacks "([^"]+)")?/.exec(msg) ?? []
  return missing === undefined ? place : `${place}.${missing}`
}
