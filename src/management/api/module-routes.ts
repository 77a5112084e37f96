/**
 * Routes of parts of a resource: modules of edges and routes, which are read, replaced and removed as a whole, and
 * single fields that can be detached.
 */
import type { FastifyInstance } from 'fastify'
import { notFound } from '../../ground/core/errors.js'
import { shapeOf, type TSchema } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import type { AnyResource, Field } from '../../words/resource/kind/define.js'
import { article, moduleValue } from '../exchange/body/input.js'
import { asInPart } from '../exchange/references.js'
import { queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { moduleExample, shownModuleExample } from '../http/openapi/examples.js'
import { describe, type OperationDescription, routePath, shownBy } from '../http/openapi/openapi.js'
import { writeParameters } from '../http/openapi/write-parameters.js'
import { withAnswer, writeHandler } from '../http/write-handlers.js'
import type { WriteContext } from './parts/write-context.js'

export function registerModules(app: FastifyInstance, context: WriteContext, resource: AnyResource): void {
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.fields !== undefined) registerModule(app, context, resource, name, field as unknown as Field)
  }
}

function registerModule(
  app: FastifyInstance,
  context: WriteContext,
  resource: AnyResource,
  name: string,
  field: Field,
): void {
  const path = `${routePath(resource.path)}/:id/${name}`
  const { shown } = field
  if (shown === 'hidden') throw new Error('A module is always shown.')
  const show = (value: unknown) => shown.render(value, context.presenter.links) as object
  const unset = (id: string) => notFound(`The ${resource.title} ${id} has no ${name} module.`)
  const as = (method: Method, success: OperationDescription['success'], body?: TSchema) =>
    describe({
      operationId: `${method}_${resource.kind}_${name}`,
      summary: `${verbs[method]} the ${name} module of ${article(resource.title)}`,
      tag: pluralOf(resource.title),
      path,
      success,
      ...(method === 'get' ? {} : writeParameters),
      ...(body === undefined ? {} : { body }),
    })
  const nameInBody = asInPart(new RegExp(`^${name}(\\.|$)`))
  // Null stands for an unset module in its edge.
  const module: TSchema = { ...shapeOf(shown.schema), description: 'The module.' }
  const whole = shownBy(module, shownModuleExample(resource, name))
  const body = shownBy(field.schema, moduleExample(resource, name))

  app.get(path, as('get', [200, whole]), (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource)
    if (row[name] === null || row[name] === undefined) throw unset(row.id)
    return sendJson(reply, show(row[name]))
  })

  const put = writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    const value = moduleValue(name, field as never, requestBody(request))
    const plan = context.writes.update(request.caller, resource, id, () => ({ [name]: value }), nameInBody)
    return withAnswer(plan, ({ row }) => ({ status: 200, body: show(row[name]) }))
  })
  app.put(path, as('put', [200, whole], body), put)

  const remove = writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    const plan = context.writes.update(request.caller, resource, id, (present) => {
      if (present[name] === null || present[name] === undefined) throw unset(id)
      return { [name]: null }
    })
    return withAnswer(plan, () => ({ status: 204 }))
  })
  app.delete(path, as('delete', [204]), remove)
}

type Method = 'get' | 'put' | 'delete'

const verbs: Record<Method, string> = { get: 'Get', put: 'Replace', delete: 'Remove' }

/** `DELETE` of a single field, such as a domain's certificate. It succeeds even if there is nothing to detach. */
export function registerDetachments(
  app: FastifyInstance,
  context: WriteContext,
  resource: AnyResource,
): void {
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
