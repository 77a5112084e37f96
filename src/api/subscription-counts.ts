/** `GET /event_subscriptions/{id}/counts`: events that its sources produced, and records that their filters kept back. */
import type { FastifyInstance } from 'fastify'
import { pluralOf } from '../core/text/plural.js'
import { type ApiContext, queryOf, rowAt, sendJson } from '../http/context.js'
import { describe, routePath } from '../http/openapi/openapi.js'
import type { DestinationOperations } from '../operate/destination-operations.js'
import { anyResource } from '../resource/define.js'
import { eventSubscription } from '../resource/event-subscription.js'
import { subscriptionCountsSchema } from '../shape/subscription-counts.js'

const subscription = anyResource(eventSubscription)

export function registerSubscriptionCounts(
  app: FastifyInstance,
  context: ApiContext,
  operations: Pick<DestinationOperations, 'sourceCounts'>,
): void {
  const path = `${routePath(subscription.path)}/:id/counts`
  const described = describe({
    operationId: 'get_event_subscription_counts',
    atOnce: 'destination_status',
    summary: 'Count what the sources of an event subscription produced and kept back',
    description: 'By source and destination, from the books: exact totals since these began.',
    tag: pluralOf(subscription.title),
    path,
    success: [200, subscriptionCountsSchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, subscription)
    return sendJson(reply, { counts: operations.sourceCounts(id) })
  })
}
