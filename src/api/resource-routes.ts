/** The routes of every resource kind, from its declaration. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { isId } from '../core/ids.js'
import { pageEntriesMax } from '../core/limits.js'
import { type TSchema, Type } from '../core/schema.js'
import { type AnyResource, allOperations, type Operation } from '../resource/define.js'
import { bodySchema } from '../resource/fields.js'
import { resourceOf } from '../resource/registry.js'
import {
  type ApiContext,
  bodyOf,
  commit,
  json,
  pathParams,
  queryOf,
  readable,
  rowAt,
  rowOf,
} from './context.js'
import { createValues, updateValues } from './input.js'
import { pathOf, resourceSchema } from './present.js'
import { problemSchema } from './problem.js'
import type { Written } from './writes.js'

export const routePath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown

export function registerResource(app: FastifyInstance, context: ApiContext, resource: AnyResource): void {
  const collection = routePath(resource.path)
  const single = `${collection}/:id`
  const handlers: Record<Operation, () => void> = {
    create: () => app.post(collection, documented(resource, 'create'), create(context, resource)),
    list: () => app.get(collection, documented(resource, 'list'), list(context, resource)),
    get: () => app.get(single, documented(resource, 'get'), get(context, resource)),
    update: () => app.patch(single, documented(resource, 'update'), update(context, resource)),
    delete: () => app.delete(single, documented(resource, 'delete'), remove(context, resource)),
  }
  for (const operation of resource.operations ?? allOperations) handlers[operation]()
}

const create =
  (context: ApiContext, resource: AnyResource): Handler =>
  async (request, reply) => {
    queryOf(request)
    const values = createValues(resource, bodyOf(request))
    const state = readable(context)
    const { parent } = resource
    if (parent !== undefined) {
      const parentId = pathParams(request)[parent.field] ?? ''
      values[parent.field] = rowOf(state, request.caller.accountId, resourceOf(parent.kind), parentId).id
    }
    const written = await commit(
      context,
      request,
      context.writes.create(request.caller, resource, values, now()),
    )
    return answer(context, reply.status(201), written)
  }

const get =
  (context: ApiContext, resource: AnyResource): Handler =>
  (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    return reply.type(json).send(context.presenter.showJson(resource, row, readable(context)))
  }

const update =
  (context: ApiContext, resource: AnyResource): Handler =>
  async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    const values = updateValues(resource, bodyOf(request))
    const written = await commit(
      context,
      request,
      context.writes.update(request.caller, resource, id, () => values),
    )
    return answer(context, reply, written)
  }

const remove =
  (context: ApiContext, resource: AnyResource): Handler =>
  async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, resource, pathParams(request)['id'] ?? '')
    await commit(context, request, context.writes.delete(request.caller, resource, id))
    return reply.status(204).send()
  }

function answer(context: ApiContext, reply: FastifyReply, { resource, row, once }: Written): FastifyReply {
  const shownRow = { ...context.presenter.show(resource, row, context.store.view.state), ...once }
  return reply
    .type(json)
    .header('Location', context.presenter.links.uri(pathOf(resource, row)))
    .send(JSON.stringify(shownRow))
}

const list =
  (context: ApiContext, resource: AnyResource): Handler =>
  (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id'])
    const limit = limitOf(query.limit)
    const beforeId = query.before_id
    if (beforeId !== undefined && !isId(resource.idPrefix, beforeId)) {
      throw badRequest(
        `The query parameter "before_id" is ${shown(beforeId)}: an id that begins with "${resource.idPrefix}" is needed.`,
      )
    }
    const state = readable(context)
    const page: string[] = []
    let last: string | undefined
    let more = false
    for (const id of state.ids(request.caller.accountId, resource.kind).below(beforeId)) {
      const row = state.rows.get(resource.kind)?.get(id)
      if (row === undefined) continue
      if (page.length === limit) {
        more = true
        break
      }
      page.push(context.presenter.showJson(resource, row, state))
      last = id
    }
    const uri = context.presenter.links.uri(resource.path)
    const next = more ? JSON.stringify(`${uri}?limit=${limit}&before_id=${last}`) : 'null'
    return reply
      .type(json)
      .send(
        `{"${resource.listName}":[${page.join(',')}],"uri":${JSON.stringify(uri)},"next_page_uri":${next}}`,
      )
  }

function limitOf(text: string | undefined): number {
  if (text === undefined) return pageEntriesMax
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= pageEntriesMax) return limit
  throw badRequest(
    `The query parameter "limit" is ${shown(text)}: a whole number from 1 to ${pageEntriesMax} is allowed.`,
  )
}

// --- what the API reference says of them ---

/** Every field optional and null allowed: what PATCH takes. */
const patchSchema = (resource: AnyResource): TSchema =>
  Type.Object(
    Object.fromEntries(
      Object.entries(resource.fields)
        .filter(([, { setBy }]) => setBy === 'client')
        .map(([name, { schema, required, fields }]) => [
          name,
          Type.Optional(required || fields !== undefined ? schema : Type.Union([schema, Type.Null()])),
        ]),
    ),
    { additionalProperties: false },
  )

function createSchema(resource: AnyResource): TSchema {
  const fields = Object.entries(resource.fields).filter(([name]) => name !== resource.parent?.field)
  return bodySchema(Object.fromEntries(fields))
}

export const listSchema = (name: string, item: TSchema): TSchema =>
  Type.Object({
    [name]: Type.Array(item),
    uri: Type.String(),
    next_page_uri: Type.Union([Type.String(), Type.Null()]),
  })

const verbs: Record<Operation, string> = {
  create: 'Create',
  get: 'Get',
  list: 'List',
  update: 'Update',
  delete: 'Delete',
}

/** A JSON schema of path parameters. */
export const paramsSchema = (path: string): TSchema =>
  Type.Object(Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, Type.String()])))

export const problems = { '4xx': problemSchema, '5xx': problemSchema }

function documented(resource: AnyResource, operation: Operation) {
  const plural = resource.title.endsWith('y') ? `${resource.title.slice(0, -1)}ies` : `${resource.title}s`
  const path = routePath(resource.path) + (operation === 'create' || operation === 'list' ? '' : '/:id')
  const shownResource = resourceSchema(resource)
  const responses: Record<Operation, object> = {
    create: { 201: shownResource },
    get: { 200: shownResource },
    list: { 200: listSchema(resource.listName, shownResource) },
    update: { 200: shownResource },
    delete: { 204: Type.Null({ description: 'Deleted.' }) },
  }
  return {
    schema: {
      operationId: `${operation}_${resource.kind}`,
      summary: `${verbs[operation]} ${operation === 'list' ? plural : `${/^[aeiouAEIOU]|^(HTTPS|API|IP)/.test(resource.title) ? 'an' : 'a'} ${resource.title}`}`,
      tags: [plural],
      ...(path.includes(':') ? { params: paramsSchema(path) } : {}),
      ...(operation === 'list' ? { querystring: listQuery } : {}),
      ...(operation === 'create' ? { body: createSchema(resource) } : {}),
      ...(operation === 'update' ? { body: patchSchema(resource) } : {}),
      response: { ...responses[operation], ...problems },
    },
  }
}

const listQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: pageEntriesMax, default: pageEntriesMax })),
  before_id: Type.Optional(Type.String({ description: 'Entries older than this id.' })),
})
