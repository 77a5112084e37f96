/** Values of query parameters that several lists know. */
import { now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { Type } from '../core/schema.js'
import { pastTimeForms, timeIn } from './past-time.js'

const time = (description: string) =>
  Type.Optional(Type.String({ description: `${description}: ${pastTimeForms}.` }))

export const timeParameters = {
  since: time('Entries of this time or later'),
  until: time('Entries before this time'),
}

export const sourceParameter = Type.Optional(
  Type.String({
    description:
      '`record`: decisions about records. `asked`: those that ingress nodes and proxies asked for. A list has both by default. Sums are of records by default, because one connection may be asked about and published.',
  }),
)

/** Milliseconds since the epoch. */
export function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = timeIn(text, now())
  if (ms !== undefined) return ms
  throw badRequest(
    `The query parameter "${name}" is ${shown(text)}: ${pastTimeForms.replaceAll('`', '')} is needed.`,
  )
}

/** The values that are given, as a query. */
export const queryText = (query: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')
