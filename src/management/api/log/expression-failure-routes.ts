/** `GET /expression_failures`: policies and filters whose expressions had no result. */
import type { FastifyInstance } from 'fastify'
import { isoMillis, now } from '../../../ground/core/clock.js'
import { Type } from '../../../ground/core/schema.js'
import { type ExpressionFailure, expressionFailuresSchema } from '../../../words/shape/expression-failure.js'
import {
  checkEverPresent,
  limitOf,
  subscriptionResources,
  timeOf,
  timeParameters,
} from '../../exchange/query-values.js'
import { type ApiContext, queryOf, sendJson } from '../../http/context.js'
import { describe, limitParameter } from '../../http/openapi/openapi.js'
import { expressionFailuresPath } from '../../operate/failing-expressions.js'
import type { FailedPlace, FailureReader } from '../../store/logs/failure-reader.js'
import { checkSelectedIds, edgeIdsIn, selectingSchema } from '../parts/decision-parameters.js'
import { decisionsTag } from '../parts/tags.js'

const dayMs = 24 * 60 * 60_000
const minuteMs = 60_000

const querySchema = Type.Object({
  since: timeParameters.since,
  edge_id: selectingSchema.edge_id,
  subscription_id: Type.Optional(Type.String({ description: 'The subscription.' })),
  limit: limitParameter,
})

export function registerExpressionFailures(
  app: FastifyInstance,
  context: ApiContext,
  failures: Pick<FailureReader, 'places'>,
): void {
  const described = describe({
    operationId: 'get_expression_failures',
    atOnce: 'log_search',
    summary: 'List policies and filters whose expressions had no result',
    description:
      'For some records an expression has no result, mostly because they lack a value that it uses: a policy then does not apply, and a filter lets no event through. Entries are a few seconds old. By default, those of the last 24 hours are counted. `edge_id` selects the policies of edges and of their routes, `subscription_id` the filters of a subscription. In two seconds, at most 100 policies and filters of an account are noted.',
    tag: decisionsTag.name,
    path: expressionFailuresPath,
    success: [200, expressionFailuresSchema],
    query: querySchema,
  })
  app.get(expressionFailuresPath, described, async (request, reply) => {
    const query = queryOf(request, Object.keys(querySchema.properties))
    const { accountId } = request.caller
    const { subscription_id: subscriptionId } = query
    const edgeIds = edgeIdsIn(query)
    const limit = limitOf(query['limit'])
    const sinceMs = wholeMinute(timeOf('since', query['since']) ?? now() - dayMs)
    await checkSelectedIds(context, accountId, { edge_id: query['edge_id'] })
    if (subscriptionId !== undefined)
      await checkEverPresent(context, accountId, 'subscription_id', subscriptionId, subscriptionResources)
    const found = await failures.places({ accountId, sinceMs, edgeIds, subscriptionId, limit })
    return sendJson(reply, {
      expression_failures: found.places.map(shownFailure),
      since: isoMillis(sinceMs),
      left_out: found.placesLeftOut,
    })
  })
}

const wholeMinute = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs

const shownFailure = (failed: FailedPlace): ExpressionFailure => ({
  place: {
    kind: failed.subscriptionId === '' ? 'policy' : 'filter',
    edge_id: failed.edgeId || null,
    route_id: failed.routeId || null,
    policy: failed.policy || null,
    subscription_id: failed.subscriptionId || null,
    event_kind: failed.eventKind || null,
  },
  count: failed.count,
  first_at: isoMillis(failed.firstMs),
  last_at: isoMillis(failed.lastMs),
  last_expression: failed.expression || null,
  last_message: failed.message,
  example_record_id: failed.recordId || null,
})
