/** `DELETE` of a single field, such as a domain's certificate. It succeeds even if there is nothing to detach. */
import type { FastifyInstance } from 'fastify'
import { pluralOf } from '../core/plural.js'
import type { AnyResource } from '../resource/define.js'
import { type ApiContext, rowAt } from './context.js'
import { article } from './input.js'
import { describe, routePath, writeParameters } from './openapi.js'
import { withAnswer, writeHandler } from './write-handlers.js'

export function registerDetachments(app: FastifyInstance, context: ApiContext, resource: AnyResource): void {
  for (const [name, { isDetachable, shown, fallback }] of Object.entries(resource.fields)) {
    if (!isDetachable || shown === 'hidden') continue
    const shownName = shown.name ?? name
    const path = `${routePath(resource.path)}/:id/${shownName}`
    const described = describe({
      operationId: `delete_${resource.kind}_${shownName}`,
      summary: `Detach the ${shownName.replaceAll('_', ' ')} of ${article(resource.title)}`,
      tag: pluralOf(resource.title),
      path,
      success: [204],
      ...writeParameters,
    })
    const detach = writeHandler(context, (request) => {
      const { id } = rowAt(context, request, resource)
      const plan = context.writes.update(request.caller, resource, id, () => ({ [name]: fallback ?? null }))
      return withAnswer(plan, () => ({ status: 204 }))
    })
    app.delete(path, described, detach)
  }
}
