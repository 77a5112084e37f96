/** `POST /ip_lists/preview`: what a source has, before there is a list of it. */
import type { FastifyInstance } from 'fastify'
import { badRequest } from '../../../ground/core/errors.js'
import { compileCheck } from '../../../ground/core/schema-check.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { ipList } from '../../../words/resource/ip-list.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import {
  type ListPreviewRequest,
  listPreviewRequestSchema,
  listPreviewSchema,
} from '../../../words/shape/ip-lists/ip-list-preview.js'
import { checkNames } from '../../exchange/body/input.js'
import { queryOf, requestBody, sendJson } from '../../http/context.js'
import { describe, routePath } from '../../http/openapi/openapi.js'
import type { WriteContext } from '../parts/write-context.js'

const resource = anyResource(ipList)
const path = `${routePath(ipList.path)}/preview`
const checkRequest = compileCheck(listPreviewRequestSchema)

export function registerIpListPreview(app: FastifyInstance, { feeds }: Pick<WriteContext, 'feeds'>): void {
  const described = describe({
    operationId: 'preview_ip_list',
    summary: 'Look at what a source of an IP list has',
    description:
      'Fetches it as a list would be, within the same bounds, and answers with its format, the number of entries, the first ones, and what can’t be read. Nothing is stored. A source that can’t be fetched is an answer (`error`).',
    atOnce: 'list_refresh',
    tag: pluralOf(resource.title),
    path,
    body: listPreviewRequestSchema,
    success: [200, listPreviewSchema],
  })
  app.post(path, described, async (request, reply) => {
    queryOf(request)
    const body = requestBody(request)
    checkNames(body, Object.keys(listPreviewRequestSchema.properties), 'preview')
    const wrong = checkRequest(body, '')
    if (wrong !== undefined) throw badRequest(wrong)
    const { source } = body as unknown as ListPreviewRequest
    return sendJson(reply, await feeds.preview(request.caller.accountId, source))
  })
}
