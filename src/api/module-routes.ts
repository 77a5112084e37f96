/** The routes of an edge's or route's modules: each is read, replaced and removed as a whole. */
import type { FastifyInstance } from 'fastify'
import { notFound } from '../core/errors.js'
import { type TSchema, Type } from '../core/schema.js'
import type { AnyResource, Field } from '../resource/define.js'
import { type ApiContext, bodyOf, commit, json, pathParams, queryOf, rowAt } from './context.js'
import { moduleValue } from './input.js'
import { paramsSchema, problems, routePath } from './resource-routes.js'

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
  const { links } = context.presenter
  const show = (value: unknown): string => {
    if (field.shown === 'hidden') throw new Error('A module is always shown.')
    return JSON.stringify(field.shown.render(value, links))
  }
  const unset = (id: string) => notFound(`The ${resource.title} ${id} has no ${name} module.`)
  const described = (method: string, response: object, body?: TSchema) => ({
    schema: {
      operationId: `${method}_${resource.kind}_${name}`,
      summary: `${method === 'get' ? 'Get' : method === 'put' ? 'Replace' : 'Remove'} the ${name} module of ${resource.title}s`,
      tags: [`${resource.title}s`],
      params: paramsSchema(path),
      ...(body === undefined ? {} : { body }),
      response: { ...response, ...problems },
    },
  })
  const shownSchema = field.shown === 'hidden' ? Type.Null() : moduleSchema(field.shown.schema)

  app.get(path, described('get', { 200: shownSchema }), (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    if (row[name] === null || row[name] === undefined) throw unset(row.id)
    return reply.type(json).send(show(row[name]))
  })

  app.put(path, described('put', { 200: shownSchema }, field.schema), async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    const value = moduleValue(name, field as never, bodyOf(request))
    const plan = context.writes.update(request.caller, resource, id, () => ({ [name]: value }))
    const { row } = await commit(context, request, plan)
    return reply.type(json).send(show(row[name]))
  })

  app.delete(
    path,
    described('delete', { 204: Type.Null({ description: 'Removed.' }) }),
    async (request, reply) => {
      queryOf(request)
      const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
      const plan = context.writes.update(request.caller, resource, id, (present) => {
        if (present[name] === null || present[name] === undefined) throw unset(id)
        return { [name]: null }
      })
      await commit(context, request, plan)
      return reply.status(204).send()
    },
  )
}

/** The module without the null that an unset one is in its edge. */
const moduleSchema = (schema: TSchema): TSchema => (schema as unknown as { anyOf: TSchema[] }).anyOf[0]!
