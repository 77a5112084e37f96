/** The routes of an edge's or route's modules: each is read, replaced and removed as a whole. */
import type { FastifyInstance } from 'fastify'
import { notFound } from '../core/errors.js'
import { pluralOf } from '../core/plural.js'
import type { TSchema } from '../core/schema.js'
import type { AnyResource, Field } from '../resource/define.js'
import { type ApiContext, bodyOf, json, pathParams, queryOf, rowAt } from './context.js'
import { moduleExample, shownModuleExample } from './examples.js'
import { article, asInPart, moduleValue } from './input.js'
import { type Described, describe, ofWrite, routePath, shownBy } from './openapi.js'
import { answered, writing } from './writing.js'

export function registerModules(app: FastifyInstance, context: ApiContext, resource: AnyResource): void {
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.fields !== undefined) registerModule(app, context, resource, name, field as unknown as Field)
  }
}

function registerModule(
  app: FastifyInstance,
  context: ApiContext,
  resource: AnyResource,
  name: string,
  field: Field,
): void {
  const path = `${routePath(resource.path)}/:id/${name}`
  const { shown } = field
  if (shown === 'hidden') throw new Error('A module is always shown.')
  const show = (value: unknown) => shown.render(value, context.presenter.links) as object
  const unset = (id: string) => notFound(`The ${resource.title} ${id} has no ${name} module.`)
  const as = (method: Method, success: Described['success'], body?: TSchema) =>
    describe({
      operationId: `${method}_${resource.kind}_${name}`,
      summary: `${verbs[method]} the ${name} module of ${article(resource.title)}`,
      tag: pluralOf(resource.title),
      path,
      success,
      ...(method === 'get' ? {} : ofWrite),
      ...(body === undefined ? {} : { body }),
    })
  const nameInBody = asInPart(new RegExp(`^${name}(\\.|$)`))
  const whole = shownBy(withoutNull(shown.schema), shownModuleExample(resource, name))
  const body = shownBy(field.schema, moduleExample(resource, name))

  app.get(path, as('get', [200, whole]), (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    if (row[name] === null || row[name] === undefined) throw unset(row.id)
    return reply.type(json).send(JSON.stringify(show(row[name])))
  })

  const put = writing(context, (request) => {
    const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    const value = moduleValue(name, field as never, bodyOf(request))
    const plan = context.writes.update(request.caller, resource, id, () => ({ [name]: value }), nameInBody)
    return answered(plan, ({ row }) => ({ status: 200, body: show(row[name]) }))
  })
  app.put(path, as('put', [200, whole], body), put)

  const remove = writing(context, (request) => {
    const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    const plan = context.writes.update(request.caller, resource, id, (present) => {
      if (present[name] === null || present[name] === undefined) throw unset(id)
      return { [name]: null }
    })
    return answered(plan, () => ({ status: 204 }))
  })
  app.delete(path, as('delete', [204]), remove)
}

type Method = 'get' | 'put' | 'delete'

const verbs: Record<Method, string> = { get: 'Get', put: 'Replace', delete: 'Remove' }

/** The module without the null that an unset one is in its edge. */
const withoutNull = (schema: TSchema): TSchema => ({
  ...(schema as unknown as { anyOf: TSchema[] }).anyOf[0]!,
  description: 'The module.',
})
