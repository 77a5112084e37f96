/** Insight into a challenger: its progress, its difference, examples of it, and what differs as it happens. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { now } from '../../../ground/core/clock.js'
import { Type } from '../../../ground/core/schema.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import type { Nats } from '../../../ground/nats/nats.js'
import type { ChallengerRow } from '../../../judging/evaluate/challenger.js'
import { secondsBetween } from '../../../judging/trial/over-time.js'
import { challenger, challengerEnd } from '../../../words/resource/challenger.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import {
  challengerDifferenceSchema,
  challengerExamplesSchema,
  challengerProgressSchema,
} from '../../../words/shape/challenger-difference.js'
import { type LoggedDecision, loggedDecisionSchema } from '../../../words/shape/decisions/logged-decision.js'
import { timeOf, timeParameters } from '../../exchange/query-values.js'
import { readable } from '../../exchange/rows.js'
import { type ApiContext, queryOf, rowAt, sendJson } from '../../http/context.js'
import { describe, paramsSchema, routePath } from '../../http/openapi/openapi.js'
import { challengerDifference, challengerProgress } from '../../insight/challenger-difference.js'
import { challengerExamples } from '../../insight/challenger-examples.js'
import type { Decider } from '../../insight/decider.js'
import type { Live } from '../../insight/live.js'
import type { RecordsLag } from '../../operate/records-lag.js'
import {
  type ChallengerQuery,
  readCompared,
  readExamples,
  readPairs,
} from '../../store/logs/challenger-rows.js'
import type { LogReader } from '../../store/logs/log-reader.js'
import { stream } from '../parts/live-stream.js'

interface InsightParts {
  readonly log: Pick<LogReader, 'search'>
  readonly lag: Pick<RecordsLag, 'now'>
  readonly live: Live
  readonly nats: Pick<Nats, 'messageAt'>
  readonly decider: Decider
}

const resource = anyResource(challenger)
const tag = pluralOf(challenger.title)
const pathOf = (name: string): string => `${routePath(challenger.path)}/:id/${name}`

export function registerChallengerInsight(
  app: FastifyInstance,
  context: ApiContext,
  parts: InsightParts,
): void {
  registerProgress(app, context, parts)
  registerDifference(app, context, parts)
  registerExamples(app, context, parts)
  registerLiveDifference(app, context, parts)
}

const challengerAt = (context: ApiContext, request: FastifyRequest): ChallengerRow =>
  rowAt(context, request, resource) as unknown as ChallengerRow

/** `GET /challengers/{id}/progress` */
function registerProgress(app: FastifyInstance, context: ApiContext, { log, lag }: InsightParts): void {
  const path = pathOf('progress')
  const described = describe({
    operationId: 'get_challenger_progress',
    atOnce: 'log_search',
    summary: 'Get how far a challenger is',
    description:
      'How many records were compared and differ, how long it still runs, and whether it is behind.',
    tag,
    path,
    success: [200, challengerProgressSchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request, [])
    const row = challengerAt(context, request)
    // The pairs are counted without NATS.
    const [pairs, behindMs] = await Promise.all([
      log.search((read) => readPairs(read, wholeTimeOf(row))),
      lag.now().then(
        ({ oldestAtMs }) => (oldestAtMs === undefined ? 0 : Math.max(0, now() - oldestAtMs)),
        () => undefined,
      ),
    ])
    return sendJson(reply, challengerProgress(row, pairs, now(), behindMs))
  })
}

const wholeTimeOf = (row: ChallengerRow): ChallengerQuery => ({
  accountId: row.account_id,
  challengerId: row.id,
  sinceMs: row.created_at,
  untilMs: challengerEnd(row),
})

/** The stretch of its time that the query asks for. */
function timeAsked(request: FastifyRequest, row: ChallengerRow): ChallengerQuery {
  const { since, until } = queryOf(request, ['since', 'until'])
  const whole = wholeTimeOf(row)
  return {
    ...whole,
    sinceMs: Math.max(whole.sinceMs, timeOf('since', since) ?? 0),
    untilMs: Math.min(whole.untilMs, timeOf('until', until) ?? now()),
  }
}

/** `GET /challengers/{id}/difference`: what the draft decides differently, so far. */
function registerDifference(app: FastifyInstance, context: ApiContext, { log }: InsightParts): void {
  const path = pathOf('difference')
  const described = describe({
    operationId: 'get_challenger_difference',
    atOnce: 'log_search',
    summary: 'Get what the draft of a challenger decides differently',
    description:
      'From the decision log: records that were stored while the challenger ran, a few seconds after they were processed. By default, all of them. Where the log keeps blocked decisions alone, records that both let in are not counted.',
    tag,
    path,
    success: [200, challengerDifferenceSchema],
    query: Type.Object(timeParameters),
  })
  app.get(path, described, async (request, reply) => {
    const asked = timeAsked(request, challengerAt(context, request))
    const rows = await log.search((read) => readCompared(read, asked, secondsBetween))
    return sendJson(reply, challengerDifference(asked, rows))
  })
}

/** `GET /challengers/{id}/examples` */
function registerExamples(
  app: FastifyInstance,
  context: ApiContext,
  { log, nats, decider }: InsightParts,
): void {
  const path = pathOf('examples')
  const described = describe({
    operationId: 'list_challenger_examples',
    atOnce: 'past_decision',
    summary: 'Get records that a challenger decides differently, with both explanations',
    description:
      'At most ten that differ in client, edge or decision. Each is decided again from its record, by the configuration in force then and by the draft over it, as it was when the record was processed.',
    tag,
    path,
    success: [200, challengerExamplesSchema],
    query: Type.Object(timeParameters),
  })
  app.get(path, described, async (request, reply) => {
    const row = challengerAt(context, request)
    const asked = timeAsked(request, row)
    const rows = await log.search((read) => readExamples(read, asked))
    const examples = await challengerExamples({ nats, decider }, readable(context), row, rows)
    return sendJson(reply, { examples })
  })
}

/** `GET /challengers/{id}/live` */
function registerLiveDifference(app: FastifyInstance, context: ApiContext, { live }: InsightParts): void {
  const path = pathOf('live')
  const schema = {
    operationId: 'watch_challenger',
    summary: 'Watch what a challenger decides differently as it happens',
    description:
      'A stream like `GET /live`, of the decisions of which the draft would have made another one. `rate` counts these alone.',
    tags: [tag],
    params: paramsSchema(path),
    response: {
      200: {
        description: 'Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).',
        content: { 'text/event-stream': { schema: loggedDecisionSchema } },
      },
    },
  }
  app.get(path, { schema }, (request, reply) => {
    queryOf(request, [])
    const { id, account_id } = challengerAt(context, request)
    const wants = ({ decision, challenger }: LoggedDecision): boolean =>
      challenger?.id === id && challenger.decision !== decision
    stream(request, reply, (reader) => live.watchDecisions(account_id, { wants, ...reader }))
  })
}
