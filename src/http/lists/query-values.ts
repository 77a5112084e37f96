/** Values of query parameters that several lists know. */
import { isoMillis } from '../../core/clock.js'
import { Type } from '../../core/schema.js'
import { durationMs, pastTimeForms } from '../../core/units.js'
import { timeNamed } from './past-time.js'

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
export const timeOf = (name: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : timeNamed(`The query parameter "${name}"`, text)

type Query = Readonly<Record<string, string | undefined>>

/** The values that are given, as a query. */
export const queryText = (query: Query): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

/** The query with the times that its lengths of time mean now, so that the next page begins and ends where this one does. */
export function withFixedTimes<Q extends Query>(query: Q): Q {
  const fixed = Object.keys(timeParameters).flatMap((name) => {
    const text = query[name]
    return text === undefined || durationMs(text) === undefined
      ? []
      : [[name, isoMillis(timeOf(name, text)!)]]
  })
  return { ...query, ...Object.fromEntries(fixed) }
}
