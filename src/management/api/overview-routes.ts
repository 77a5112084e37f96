/** `GET /overview`: the state of the account at a glance. */

import type { FastifyInstance } from 'fastify'
import { overviewSchema } from '../../words/shape/overview.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, sendJson } from '../http/context.js'
import { describe } from '../http/openapi/openapi.js'
import type { Overview } from '../operate/overview.js'
import { overviewTag } from './parts/tags.js'

export function registerOverview(
  app: FastifyInstance,
  context: ApiContext,
  overview: Pick<Overview, 'of'>,
): void {
  const described = describe({
    operationId: 'get_overview',
    atOnce: 'overview',
    summary: 'Get the state of the account at a glance',
    description:
      'It is read at most once a second, its expensive parts less often. A source that does not answer within some seconds is named in `unknown`; the rest is answered.',
    tag: overviewTag.name,
    path: '/overview',
    success: [200, overviewSchema],
  })
  app.get('/overview', described, async (request, reply) => {
    queryOf(request)
    // While the configuration is incomplete, nothing could be said.
    readable(context)
    return sendJson(reply, await overview.of(request.caller.accountId))
  })
}
