/** `GET /stats`: sums of decisions, or of attempts to deliver, by minute, hour or day. */
import type { FastifyInstance } from 'fastify'
import { isoSeconds, now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { statsIntervalsMax, statsValuesMax } from '../core/limits.js'
import { Type } from '../core/schema.js'
import { sourceWords } from '../resource/logged-decision.js'
import { dimensions, intervals, statsSchema } from '../resource/stats.js'
import type { DeliveryReader } from '../store/delivery-reader.js'
import type { LogReader } from '../store/log-reader.js'
import { queryOf, sendJson } from './context.js'
import { decisionsTag } from './decide-routes.js'
import { describe } from './openapi.js'
import { sourceParameter, timeOf, timeParameters } from './query-values.js'

const path = '/stats'
const parameters = ['by', 'interval', 'since', 'until', 'values', 'source'] as const

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

export function registerStats(
  app: FastifyInstance,
  log: Pick<LogReader, 'counts'>,
  deliveries: Pick<DeliveryReader, 'counts'>,
): void {
  const described = describe({
    operationId: 'get_stats',
    atOnce: 'log_search',
    summary: 'Count decisions, or deliveries by destination, by minute, hour or day',
    description: `The range is extended to whole intervals and has at most ${statsIntervalsMax} of them; by default it is the last hour, day or week.`,
    tag: decisionsTag.name,
    path,
    success: [200, statsSchema],
    query: querySchema,
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
    const { counts, valuesLeftOut } =
      by === 'destination'
        ? await deliveries.counts(asked)
        : await log.counts({
            ...asked,
            dimension: by,
            source: wordOf('source', query.source ?? 'record', sourceWords),
          })
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
