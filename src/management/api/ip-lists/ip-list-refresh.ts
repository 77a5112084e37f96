/** `POST /ip_lists/{id}/refresh`: a list is fetched from its source now. */
import type { FastifyInstance } from 'fastify'
import { now } from '../../../ground/core/clock.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { ipList } from '../../../words/resource/ip-list.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import { refreshSchema } from '../../../words/shape/ip-lists/ip-list-refresh.js'
import { checkNames } from '../../exchange/body/input.js'
import { readable } from '../../exchange/rows.js'
import { requestBody, rowAt } from '../../http/context.js'
import { shownExample } from '../../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../../http/openapi/openapi.js'
import { idempotencyHeaders } from '../../http/openapi/write-parameters.js'
import { actionHandler } from '../../http/write-handlers.js'
import type { WriteContext } from '../parts/write-context.js'

const resource = anyResource(ipList)
const path = `${routePath(ipList.path)}/:id/refresh`

export function registerIpListRefresh(app: FastifyInstance, context: WriteContext): void {
  const described = describe({
    operationId: 'refresh_ip_list',
    summary: 'Fetch an IP list from its source now',
    description:
      'Answers when that is done, after a minute at most, or more if many lists are written at the same time. A fetch that fails is answered with 200 and its `error`. 503: the list is being fetched already.',
    atOnce: 'list_refresh',
    tag: pluralOf(ipList.title),
    path,
    headers: idempotencyHeaders,
    success: [
      200,
      shownBy(refreshSchema, { outcome: 'unchanged', error: null, ip_list: shownExample(resource) }),
    ],
  })
  const handler = actionHandler(context, async (request) => {
    checkNames(requestBody(request), [], 'refresh')
    const { outcome } = await context.feeds.refresh(rowAt(context, request, resource))
    const row = rowAt(context, request, resource)
    const error = outcome === 'failed' ? (context.statuses.of(row, now())?.error ?? null) : null
    const ip_list = context.presenter.show(resource, row, readable(context))
    return { status: 200, body: { outcome, error, ip_list } }
  })
  app.post(path, described, handler)
}
