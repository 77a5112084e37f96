/** Routes of an event destination beyond its resource: send a test event, get the delivery status. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DeliveryAttempt } from '../../delivery/wire/delivery-attempts.js'
import { unavailable, WeirError } from '../../ground/core/errors.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { exampleId } from '../../words/resource/kind/examples.js'
import { backlogHistorySchema } from '../../words/shape/backlog-history.js'
import { deliveryAttemptExample, deliveryAttemptSchema } from '../../words/shape/delivery-attempt.js'
import {
  deliveryStatusSchema,
  destinationCheckSchema,
  destinationStatusExample,
  destinationStatusSchema,
  testEventSchema,
} from '../../words/shape/delivery-status.js'
import { iamPolicySchema } from '../../words/shape/iam-policy.js'
import { checkNames } from '../exchange/body/input.js'
import { limitOf, queryText } from '../exchange/query-values.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { beforeIdOf } from '../http/lists/lists.js'
import { exampleLinks } from '../http/openapi/examples.js'
import { describe, listSchema, pageQuery, routePath, shownBy } from '../http/openapi/openapi.js'
import { idempotencyHeaders } from '../http/openapi/write-parameters.js'
import { actionHandler } from '../http/write-handlers.js'
import type { DestinationOperations } from '../operate/destination-operations.js'
import { iamPolicyOf } from '../operate/targets/iam-policy.js'
import type { WriteContext } from './parts/write-context.js'
import { registerPauses } from './pause-routes.js'
import { registerTargets } from './target-routes.js'

const destination = anyResource(eventDestination)

export function registerDestinationOperations(
  app: FastifyInstance,
  context: WriteContext,
  operations: DestinationOperations,
): void {
  const single = `${routePath(destination.path)}/:id`
  const tag = pluralOf(destination.title)
  const rowFor = (request: FastifyRequest): Row => rowAt(context, request, destination)
  const testing = describe({
    operationId: 'send_test_event',
    atOnce: 'destination_call',
    summary: 'Send a test event to an event destination',
    tag,
    path: single,
    success: [200, testEventSchema],
    headers: idempotencyHeaders,
  })
  const status = describe({
    operationId: 'get_event_destination_status',
    atOnce: 'destination_status',
    summary: 'Get the delivery status of an event destination',
    tag,
    path: single,
    success: [200, deliveryStatusSchema],
  })

  const sendTestEvent = actionHandler(context, async (request) => {
    const row = rowFor(request)
    checkNames(requestBody(request), [], 'test event')
    const sent = await operations.sendTestEvent(row)
    if ('refusal' in sent) throw new WeirError('ERR_DESTINATION_REFUSED', asSentence(sent.refusal))
    return { status: 200, body: { event_id: sent.eventId } }
  })
  app.post(`${single}/send_test_event`, testing, sendTestEvent)

  registerTargets(app, operations)
  registerPauses(app, context, operations)
  registerCheck(app, context, operations)
  registerAttempts(app, context, operations)
  registerBacklog(app, context, operations)
  registerIamPolicy(app, context)
  registerAllStatuses(app, context, operations)

  app.get(`${single}/status`, status, async (request, reply) => {
    queryOf(request)
    return sendJson(reply, await operations.status(rowFor(request)))
  })
}

function registerCheck(app: FastifyInstance, context: ApiContext, operations: DestinationOperations): void {
  const path = `${routePath(destination.path)}/:id/check`
  const check = describe({
    operationId: 'check_event_destination',
    atOnce: 'destination_call',
    summary: 'Check an event destination without writing to it',
    description:
      'Asks the service whether it would accept an event, as far as it tells without a write, and says what that proved. If nothing is wrong, delivery does not wait for its next try.',
    tag: pluralOf(destination.title),
    path,
    success: [200, destinationCheckSchema],
  })
  app.post(path, check, async (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, destination)
    checkNames(requestBody(request), [], 'check')
    return sendJson(reply, await operations.check(row))
  })
}

function registerBacklog(app: FastifyInstance, context: ApiContext, operations: DestinationOperations): void {
  const path = `${routePath(destination.path)}/:id/backlog`
  const described = describe({
    operationId: 'get_event_destination_backlog',
    summary: 'Get how many events waited for an event destination',
    description: 'A minute apart, over the last day, as the process that answers has seen it.',
    tag: pluralOf(destination.title),
    path,
    success: [200, backlogHistorySchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    return sendJson(reply, operations.backlog(rowAt(context, request, destination)))
  })
}

function registerIamPolicy(app: FastifyInstance, context: ApiContext): void {
  const path = `${routePath(destination.path)}/:id/iam_policy`
  const described = describe({
    operationId: 'get_event_destination_iam_policy',
    summary: 'Get the IAM policy that an event destination needs',
    description:
      'For targets at AWS: the rights that delivery and checks need, and the trust policy of the role if there is one.',
    tag: pluralOf(destination.title),
    path,
    success: [200, iamPolicySchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    return sendJson(reply, iamPolicyOf(rowAt(context, request, destination)))
  })
}

const statusesPath = `${routePath(destination.path)}/status`
const statusesPage = shownBy(listSchema('statuses', destinationStatusSchema, 'DestinationStatusList'), {
  statuses: [destinationStatusExample],
  uri: exampleLinks.uri(statusesPath),
  next_page_uri: null,
})

function registerAllStatuses(
  app: FastifyInstance,
  context: ApiContext,
  operations: DestinationOperations,
): void {
  const statuses = describe({
    operationId: 'list_event_destination_statuses',
    atOnce: 'destination_status',
    summary: 'List the delivery status of all event destinations',
    tag: pluralOf(destination.title),
    path: statusesPath,
    success: [200, statusesPage],
    query: pageQuery(destination),
  })
  app.get(statusesPath, statuses, async (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id'])
    const limit = limitOf(query.limit)
    const { accountId } = request.caller
    const state = readable(context)
    const rows = state.rows.get(destination.kind)
    const before = beforeIdOf(destination, query.before_id)
    const found = [...take(state.ids(accountId, destination.kind).below(before), limit + 1)]
    const page = found.slice(0, limit).flatMap((id) => rows?.get(id) ?? [])
    const uri = context.presenter.links.uri(statusesPath)
    const next = { limit: String(limit), before_id: page.at(-1)?.id }
    return sendJson(reply, {
      statuses: await operations.statuses(page),
      uri,
      next_page_uri: found.length > limit ? `${uri}?${queryText(next)}` : null,
    })
  })
}

function* take<T>(items: Iterable<T>, max: number): Iterable<T> {
  let taken = 0
  for (const item of items) {
    if (taken === max) return
    taken += 1
    yield item
  }
}

/** Reasons from AWS can contain line breaks, and may or may not end with a full stop. */
const asSentence = (reason: string): string => `${reason.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '')}.`

/** `GET /event_destinations/{id}/attempts`: the last requests to a destination, as deliverers remember them. */
const attemptsPath = `${routePath(destination.path)}/:id/attempts`
const attemptsPage = shownBy(listSchema('attempts', deliveryAttemptSchema, 'DeliveryAttemptList'), {
  attempts: [deliveryAttemptExample],
  uri: exampleLinks.uri(`${destination.path}/${exampleId(destination.idPrefix)}/attempts`),
  next_page_uri: null,
})

interface AttemptsSource {
  /** The newest first; undefined if no deliverer answers. */
  attempts(row: Row): Promise<readonly DeliveryAttempt[] | undefined>
}

function registerAttempts(app: FastifyInstance, context: ApiContext, source: AttemptsSource): void {
  const uriOf = (id: string): string => context.presenter.links.uri(`${destination.path}/${id}/attempts`)
  const described = describe({
    operationId: 'list_delivery_attempts',
    atOnce: 'destination_status',
    summary: 'List the last requests to an event destination',
    description:
      'At most 100, the newest first, since the start of the deliverers. They do not depend on the decision log, which has earlier ones.',
    tag: pluralOf(destination.title),
    path: attemptsPath,
    success: [200, attemptsPage],
  })
  app.get(attemptsPath, described, async (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, destination)
    const attempts = await source.attempts(row)
    if (attempts === undefined) throw unavailable('No deliverer answers.')
    return sendJson(reply, { attempts, uri: uriOf(row.id), next_page_uri: null })
  })
}
