/** `GET /stats`: sums of decisions, or of attempts to deliver, by minute, hour or day. */
import type { FastifyInstance } from 'fastify'
import { isoSeconds, now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { Type } from '../core/schema.js'
import { type ApiContext, queryOf, sendJson } from '../http/context.js'
import { sourceParameter, timeOf, timeParameters } from '../http/lists/query-values.js'
import { onlyBlocked, onlyFailed, type Use, usesIn, warnOfGaps } from '../http/missing-values.js'
import { describe, filterParameter } from '../http/openapi/openapi.js'
import { compileCountFilter } from '../insight/decision-filter.js'
import { sourceWords } from '../shape/logged-decision.js'
import { dimensions, intervals, statsSchema } from '../shape/stats.js'
import type { Counts, CountsQuery } from '../store/logs/count-query.js'
import type { DeliveryReader } from '../store/logs/delivery-reader.js'
import type { LogReader } from '../store/logs/log-reader.js'
import { decisionsTag } from './decide-routes.js'

/** Intervals, and edges, policies or countries, in one answer with sums: 20,000 entries at most. */
const statsIntervalsMax = 1_000
const statsValuesMax = 20

const path = '/stats'
const parameters = ['by', 'interval', 'since', 'until', 'values', 'source', 'filter'] as const

type Interval = (typeof intervals)[number]

const minuteMs = 60_000
const lengthsMs: Readonly<Record<Interval, number>> = {
  minute: minuteMs,
  hour: 60 * minuteMs,
  day: 24 * 60 * minuteMs,
}
/** How far an answer looks back unless the request says: an hour, a day, a week. */
const intervalsDefault: Readonly<Record<Interval, number>> = { minute: 60, hour: 24, day: 7 }
const valuesDefault = 10

const querySchema = Type.Object({
  by: Type.Optional(
    Type.Enum([...dimensions], { default: 'none', description: 'What is counted apart; none: nothing.' }),
  ),
  source: sourceParameter,
  interval: Type.Optional(Type.Enum([...intervals], { default: 'minute', description: 'In UTC.' })),
  ...timeParameters,
  filter: filterParameter,
  values: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: statsValuesMax,
      default: valuesDefault,
      description:
        'How many edges, policies, rules, countries or destinations are listed: those with the most records or events.',
    }),
  ),
})

type Log = Pick<LogReader, 'counts' | 'filteredCounts' | 'mode'>
type Deliveries = Pick<DeliveryReader, 'counts' | 'isComplete'>

export function registerStats(
  app: FastifyInstance,
  context: ApiContext,
  log: Log,
  deliveries: Deliveries,
): void {
  const described = describe({
    operationId: 'get_stats',
    atOnce: 'log_search',
    summary: 'Count decisions, or deliveries by destination, by minute, hour or day',
    description: `The range is extended to whole intervals and has at most ${statsIntervalsMax} of them; by default it is the last hour, day or week. With \`filter\`, only decisions for which it is true are counted: its names are those of \`GET /decisions\`, except for those that are another in each decision (\`id\`, \`at\`, \`sequence\`, \`line\`). Rows of the log are counted then, which are not kept as long as the sums.`,
    tag: decisionsTag.name,
    path,
    success: [200, statsSchema],
    query: querySchema,
    warns: true,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, parameters)
    const by = wordOf('by', query.by ?? 'none', dimensions)
    const interval = wordOf('interval', query.interval ?? 'minute', intervals)
    const asked = {
      accountId: request.caller.accountId,
      intervalMs: lengthsMs[interval],
      valuesMax: valuesOf(query.values),
      ...rangeOf(interval, timeOf('since', query.since), timeOf('until', query.until)),
    }
    const warn = (uses: readonly Use[], others: readonly string[]) => warnOfGaps(reply, context, uses, others)
    const { counts, valuesLeftOut } =
      by === 'destination'
        ? await deliveryCounts(deliveries, asked, query, warn)
        : await decisionCounts(log, { ...asked, dimension: by }, query, warn)
    return sendJson(reply, {
      by,
      interval,
      since: isoSeconds(asked.sinceMs),
      until: isoSeconds(asked.untilMs),
      counts: counts.map(({ at, value, ...sums }) => ({ at: isoSeconds(at), value: value || null, ...sums })),
      values_left_out: valuesLeftOut,
    })
  })
}

interface Query {
  readonly filter?: string
  readonly source?: string
}

type Warn = (uses: readonly Use[], others: readonly string[]) => void

function deliveryCounts(
  deliveries: Deliveries,
  asked: Parameters<Deliveries['counts']>[0],
  { filter }: Query,
  warn: Warn,
) {
  if (filter !== undefined)
    throw badRequest(
      '"filter" is about decisions: with "by=destination", which counts deliveries, leave it out.',
    )
  warn([], deliveries.isComplete ? [] : [onlyFailed])
  return deliveries.counts(asked)
}

async function decisionCounts(
  log: Log,
  asked: Omit<CountsQuery, 'source'>,
  { filter: text, source: word }: Query,
  warn: Warn,
): Promise<Counts> {
  const query = { ...asked, source: wordOf('source', word ?? 'record', sourceWords) }
  const filter = text === undefined ? undefined : compileCountFilter(text)
  const uses = [
    ...usesIn('by', asked.dimension === 'country' ? ['country'] : []),
    ...usesIn('filter', filter?.names ?? []),
  ]
  const gaps = log.mode === 'blocked' ? [onlyBlocked] : []
  if (filter === undefined) {
    warn(uses, gaps)
    return log.counts(query)
  }
  const { rowsBeginMs, ...counts } = await log.filteredCounts(query, filter)
  warn(uses, rowsBeginMs === undefined ? gaps : [...gaps, rowsBeginAt(rowsBeginMs)])
  return counts
}

const rowsBeginAt = (ms: number): string =>
  `With "filter", rows of the log are counted, and they begin at ${isoSeconds(ms)}: nothing before is counted. Without it, sums of the time before are there.`

/** Whole intervals. */
function rangeOf(interval: Interval, since: number | undefined, until: number | undefined) {
  const length = lengthsMs[interval]
  const untilMs = Math.ceil((until ?? now()) / length) * length
  const sinceMs = Math.floor((since ?? untilMs - intervalsDefault[interval] * length) / length) * length
  if (sinceMs >= untilMs) throw badRequest('"since" must be before "until".')
  const count = (untilMs - sinceMs) / length
  if (count <= statsIntervalsMax) return { sinceMs, untilMs }
  throw badRequest(
    `The range has ${count} intervals of a ${interval}: at most ${statsIntervalsMax} are allowed.`,
  )
}

function wordOf<const Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const known = words.find((word) => word === text)
  if (known !== undefined) return known
  throw badRequest(`The query parameter "${name}" is ${shown(text)}: ${words.join(', ')} are allowed.`)
}

function valuesOf(text: string | undefined): number {
  if (text === undefined) return valuesDefault
  const values = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (values >= 1 && values <= statsValuesMax) return values
  throw badRequest(
    `The query parameter "values" is ${shown(text)}: a whole number from 1 to ${statsValuesMax} is allowed.`,
  )
}
