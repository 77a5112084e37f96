/** `GET /event_destinations/{id}/attempts`: the last requests to a destination, as deliverers remember them. */
import type { FastifyInstance } from 'fastify'
import { unavailable } from '../core/errors.js'
import { pluralOf } from '../core/text/plural.js'
import { type ApiContext, queryOf, rowAt, sendJson } from '../http/context.js'
import { exampleLinks } from '../http/openapi/examples.js'
import { describe, listSchema, routePath, shownBy } from '../http/openapi/openapi.js'
import { anyResource, type Row } from '../resource/define.js'
import { eventDestination } from '../resource/event-destination.js'
import { exampleId } from '../resource/examples.js'
import { deliveryAttemptExample, deliveryAttemptSchema } from '../shape/delivery-attempt.js'
import type { DeliveryAttempt } from '../wire/delivery-attempts.js'

const destination = anyResource(eventDestination)
const path = `${routePath(destination.path)}/:id/attempts`

const page = shownBy(listSchema('attempts', deliveryAttemptSchema, 'DeliveryAttemptList'), {
  attempts: [deliveryAttemptExample],
  uri: exampleLinks.uri(`${destination.path}/${exampleId(destination.idPrefix)}/attempts`),
  next_page_uri: null,
})

interface AttemptsSource {
  /** The newest first; undefined if no deliverer answers. */
  attempts(row: Row): Promise<readonly DeliveryAttempt[] | undefined>
}

export function registerAttempts(app: FastifyInstance, context: ApiContext, source: AttemptsSource): void {
  const uriOf = (id: string): string => context.presenter.links.uri(`${destination.path}/${id}/attempts`)
  const described = describe({
    operationId: 'list_delivery_attempts',
    atOnce: 'destination_status',
    summary: 'List the last requests to an event destination',
    description:
      'At most 100, the newest first, since the start of the deliverers. They do not depend on the decision log, which has earlier ones.',
    tag: pluralOf(destination.title),
    path,
    success: [200, page],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, destination)
    const attempts = await source.attempts(row)
    if (attempts === undefined) throw unavailable('No deliverer answers.')
    return sendJson(reply, { attempts, uri: uriOf(row.id), next_page_uri: null })
  })
}
