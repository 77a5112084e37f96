/** `GET /stats`: sums of decisions, or of attempts to deliver, by intervals of time. */
import type { FastifyInstance } from 'fastify'
import type { GeoLookup } from '../../../delivery/record/geo.js'
import { canonicalAddress } from '../../../ground/core/address/ip.js'
import { isoSeconds, now } from '../../../ground/core/clock.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { ownTimeAheadMinutes, ownTimeYears } from '../../../ground/core/limits.js'
import { Type } from '../../../ground/core/schema.js'
import { durationMs } from '../../../ground/core/text/units.js'
import { dimensions, statsSchema } from '../../../words/shape/stats.js'
import { numberIn, timeOf, timeParameters, wordIn } from '../../exchange/query-values.js'
import { type ApiContext, queryOf, sendJson } from '../../http/context.js'
import { onlyBlocked, onlyFailed, type Use, usesIn, warnOfGaps } from '../../http/missing-values.js'
import { describe, filterParameter } from '../../http/openapi/openapi.js'
import { compileCountFilter } from '../../insight/decision-filter.js'
import { checkDestination } from '../../operate/dead-letter-queries.js'
import type { Counts, CountsQuery } from '../../store/logs/count-query.js'
import type { DeliveryReader } from '../../store/logs/delivery-reader.js'
import type { FilteredCounts } from '../../store/logs/filtered-counts.js'
import type { LogReader } from '../../store/logs/log-reader.js'
import type { RowTime } from '../../store/logs/row-times.js'
import {
  checkSelectedIds,
  countedSources,
  edgesMax,
  type Query,
  rowTimeIn,
  selectingParameters,
  selectingSchema,
  selectingUses,
  selectionIn,
  timeParameter,
} from '../parts/decision-parameters.js'
import { decisionsTag } from '../parts/tags.js'

/** Intervals in one answer. */
const statsIntervalsMax = 1_000
/** Intervals times values: what an answer may hold. */
const statsEntriesMax = 20_000

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const words: Readonly<Record<string, number>> = { minute: minuteMs, hour: hourMs, day: dayMs }

const intervalForms =
  '`minute`, `hour`, `day`, or a length of whole minutes that divides a day, such as `5m`, `30m` or `6h`'

/** Policies, clients and so on in one answer. */
const statsValuesMax = 20
/** A map needs all countries, of which ISO 3166-1 has 249; a list of edges, those that a request may name. */
const valuesMaxOf: Readonly<Record<string, number>> = { edge: edgesMax, country: 250 }
const valuesEverMax = Math.max(...Object.values(valuesMaxOf))
const valuesDefault = 10

const path = '/stats'
const parameters = [
  'by',
  'interval',
  'since',
  'until',
  'time',
  'values',
  'filter',
  'destination_id',
  ...selectingParameters,
]

const querySchema = Type.Object({
  by: Type.Optional(
    Type.Enum([...dimensions], { default: 'none', description: 'What is counted apart; none: nothing.' }),
  ),
  interval: Type.Optional(
    Type.String({ default: 'minute', description: `In UTC: ${intervalForms}.`, examples: ['hour'] }),
  ),
  ...timeParameters,
  time: timeParameter,
  filter: filterParameter,
  ...selectingSchema,
  destination_id: Type.Optional(
    Type.String({ description: 'With `by=destination`: only this event destination, which may be deleted.' }),
  ),
  values: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: valuesEverMax,
      default: valuesDefault,
      description: `How many values of \`by\` are listed: those with the most records or events. At most ${statsValuesMax}, by edge ${valuesMaxOf['edge']} and by country ${valuesMaxOf['country']}; with the intervals, at most ${statsEntriesMax} entries.`,
    }),
  ),
})

type Log = Pick<LogReader, 'counts' | 'filteredCounts' | 'clientsInNetworks' | 'outsideTimes' | 'mode'>
type Deliveries = Pick<DeliveryReader, 'counts' | 'isComplete'>

interface Answering {
  readonly log: Log
  readonly deliveries: Deliveries
  readonly geo: GeoLookup
}

export function registerStats(
  app: FastifyInstance,
  context: ApiContext,
  { log, deliveries, geo }: Answering,
): void {
  const described = describe({
    operationId: 'get_stats',
    atOnce: 'log_search',
    summary: 'Count decisions, or deliveries by destination, by intervals of time',
    description: `The range is extended to whole intervals and has at most ${statsIntervalsMax} of them; by default it is the last hour, day or week. The parameters of \`GET /decisions\` that select decisions select what is counted, and so does \`filter\`: only decisions for which it is true. Its names are those of \`GET /decisions\`; with \`by\`, except for those that are another in each decision (\`id\`, \`at\`, \`sequence\`, \`line\`). With \`filter\`, by autonomous system, server name or client, and with more than one selecting parameter, rows of the log are counted, which are not kept as long as the sums.`,
    tag: decisionsTag.name,
    path,
    success: [200, statsSchema],
    query: querySchema,
    warns: true,
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, parameters)
    const by = wordIn('by', query['by'] ?? 'none', dimensions)
    const interval = query['interval'] ?? 'minute'
    const intervalMs = intervalOf(interval)
    const valuesMax = valuesOf(query['values'], valuesMaxOf[by] ?? statsValuesMax)
    const time = rowTimeIn(query)
    const asked = {
      accountId: request.caller.accountId,
      time,
      intervalMs,
      valuesMax,
      ...rangeOf(intervalMs, valuesMax, timeOf('since', query['since']), timeOf('until', query['until'])),
    }
    const warn = (uses: readonly Use[], others: readonly string[]) => warnOfGaps(reply, context, uses, others)
    const range = { by, interval, since: isoSeconds(asked.sinceMs), until: isoSeconds(asked.untilMs) }
    const { destination_id: destinationId } = query
    if (by === 'destination') {
      await checkDestination(context, asked.accountId, destinationId)
      const { counts, valuesLeftOut } = await deliveryCounts(
        deliveries,
        { ...asked, destinationId },
        query,
        warn,
      )
      return sendJson(reply, { ...range, counts: counts.map(inIso), values_left_out: valuesLeftOut })
    }
    if (destinationId !== undefined)
      throw badRequest('"destination_id" selects deliveries: it needs "by=destination".')
    await checkSelectedIds(context, asked.accountId, query)
    const { counts, valuesLeftOut, reachedMs } = await decisionCounts(
      log,
      { ...asked, dimension: by },
      query,
      warn,
    )
    const names = by === 'asn' ? await networkNames({ log, geo }, asked, counts) : {}
    const noValue = by === 'shadow_decision' ? 'none' : ''
    const shownValue =
      by === 'client_ip' ? canonicalAddress : (value: string) => (value === noValue ? null : value)
    return sendJson(reply, {
      ...range,
      counts: counts.map(({ value, ...count }) => inIso({ ...count, value: shownValue(value) })),
      values_left_out: valuesLeftOut,
      reached_at: reachedMs === undefined ? null : isoSeconds(reachedMs),
      names,
    })
  })
}

const inIso = <Point extends { readonly at: number; readonly value: string | null }>({
  at,
  value,
  ...sums
}: Point) => ({ at: isoSeconds(at), value, ...sums })

type Warn = (uses: readonly Use[], others: readonly string[]) => void

function deliveryCounts(
  deliveries: Deliveries,
  asked: Parameters<Deliveries['counts']>[0],
  query: Query,
  warn: Warn,
) {
  const given = ['filter', 'time', ...selectingParameters].find((name) => query[name] !== undefined)
  if (given !== undefined)
    throw badRequest(
      `"${given}" is about decisions: with "by=destination", which counts deliveries, leave it out.`,
    )
  warn([], deliveries.isComplete ? [] : [onlyFailed])
  return deliveries.counts(asked)
}

async function decisionCounts(
  log: Log,
  asked: Omit<CountsQuery, 'sources'>,
  { filter: text, ...given }: Query,
  warn: Warn,
): Promise<Counts & Partial<FilteredCounts>> {
  const { source: _, ...selecting } = given
  const query = { ...asked, sources: countedSources(given), selection: selectionIn(selecting) }
  const { dimension } = asked
  const filter = text === undefined ? undefined : compileCountFilter(text, dimension !== 'none')
  const uses = [
    ...usesIn('by', dimension === 'country' || dimension === 'asn' ? [dimension] : []),
    ...selectingUses(selecting),
    ...usesIn('filter', filter?.names ?? []),
  ]
  const gaps = [
    ...(log.mode === 'blocked' ? [onlyBlocked] : []),
    ...(asked.time === 'own' ? await outsideNote(log, asked) : []),
  ]
  const counts = await (filter === undefined ? log.counts(query) : log.filteredCounts(query, filter))
  const { rowsBeginMs, reachedMs }: Partial<FilteredCounts> = counts
  if (rowsBeginMs !== undefined) gaps.push(rowsBeginAt(rowsBeginMs, asked.time))
  if (reachedMs !== undefined) gaps.push(reachedSince(reachedMs))
  warn(uses, gaps)
  return counts
}

/** Decisions that are counted at another time than they say. */
async function outsideNote(
  log: Pick<Log, 'outsideTimes'>,
  range: Parameters<Log['outsideTimes']>[0],
): Promise<string[]> {
  const records = await log.outsideTimes(range)
  if (records === 0) return []
  return [
    `${records} records of this range say a time of more than ${ownTimeYears} years before they were stored, or more than ${ownTimeAheadMinutes} minutes after: they are counted when they were stored.`,
  ]
}

const rowsBeginAt = (ms: number, time: RowTime | undefined): string =>
  time === 'own'
    ? `Own times are counted from the rows of the log, which begin at ${isoSeconds(ms)}: what was stored before is not counted.`
    : `Rows of the log are counted for this request, with a "filter" for example, and they begin at ${isoSeconds(ms)}: nothing before is counted. Sums of the time before are there without it.`

const reachedSince = (ms: number): string =>
  `There was no time to count all: what came before ${isoSeconds(ms)} is not counted. Ask for a shorter time, or select more.`

/** The names of the autonomous systems, by their numbers: the geo database knows those of addresses. */
async function networkNames(
  { log, geo }: Pick<Answering, 'log' | 'geo'>,
  asked: Parameters<Log['clientsInNetworks']>[0],
  counts: Counts['counts'],
): Promise<Record<string, string>> {
  const networks = [...new Set(counts.map(({ value }) => value))].filter((value) => value !== '')
  const clients = await log.clientsInNetworks(asked, networks.map(Number))
  return Object.fromEntries(
    [...clients].flatMap(([network, client]) => {
      const { asn, as_org } = geo.lookup(client)
      // The database may have been replaced since the decision.
      return asn === network && as_org !== undefined ? [[network, as_org]] : []
    }),
  )
}

/** Milliseconds. */
function intervalOf(text: string): number {
  const ms = words[text] ?? durationMs(text)
  if (ms !== undefined && ms >= minuteMs && ms % minuteMs === 0 && dayMs % ms === 0) return ms
  throw badRequest(
    `The query parameter "interval" is ${shown(text)}: ${intervalForms.replaceAll('`', '')} is allowed.`,
  )
}

/** How far an answer looks back unless the request says. */
function lookBackMs(intervalMs: number): number {
  if (intervalMs < 5 * minuteMs) return hourMs
  return intervalMs <= hourMs ? dayMs : 7 * dayMs
}

/** Whole intervals, in UTC. */
function rangeOf(
  intervalMs: number,
  valuesMax: number,
  since: number | undefined,
  until: number | undefined,
): { readonly sinceMs: number; readonly untilMs: number } {
  const untilMs = Math.ceil((until ?? now()) / intervalMs) * intervalMs
  const sinceMs = Math.floor((since ?? untilMs - lookBackMs(intervalMs)) / intervalMs) * intervalMs
  if (sinceMs >= untilMs) throw badRequest('"since" must be before "until".')
  const count = (untilMs - sinceMs) / intervalMs
  const most = Math.min(statsIntervalsMax, Math.floor(statsEntriesMax / valuesMax))
  if (count <= most) return { sinceMs, untilMs }
  throw badRequest(
    `The range has ${count} intervals of ${intervalMs / minuteMs} min: at most ${most} are allowed${most < statsIntervalsMax ? ` with ${valuesMax} values` : ''}.`,
  )
}

const valuesOf = (text: string | undefined, max: number): number =>
  text === undefined ? valuesDefault : numberIn('values', text, { min: 1, max })
