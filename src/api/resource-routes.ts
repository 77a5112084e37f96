/** The routes of every resource kind, from its declaration. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { isId } from '../core/ids.js'
import { pageEntriesMax } from '../core/limits.js'
import { type AnyResource, allOperations, type Operation } from '../resource/define.js'
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
import { describeOperation, routePath } from './openapi.js'
import { pathOf } from './present.js'
import { rightNeeded } from './rights.js'
import type { Written } from './writes.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown

export function registerResource(app: FastifyInstance, context: ApiContext, resource: AnyResource): void {
  const collection = routePath(resource.path)
  const single = `${collection}/:id`
  const as = (operation: Operation) => ({
    ...describeOperation(resource, operation),
    ...rightNeeded(context, resource),
  })
  const register: Record<Operation, () => unknown> = {
    create: () => app.post(collection, as('create'), create(context, resource)),
    list: () => app.get(collection, as('list'), list(context, resource)),
    get: () => app.get(single, as('get'), get(context, resource)),
    update: () => app.patch(single, as('update'), update(context, resource)),
    delete: () => app.delete(single, as('delete'), remove(context, resource)),
  }
  for (const operation of resource.operations ?? allOperations) register[operation]()
}

const create =
  (context: ApiContext, resource: AnyResource): Handler =>
  async (request, reply) => {
    queryOf(request)
    const parent = parentOf(context, request, resource)
    const values = { ...createValues(resource, bodyOf(request)), ...parent }
    const plan = await context.writes.create(request.caller, resource, values, now())
    const written = await commit(context, request, plan)
    const uri = context.presenter.links.uri(pathOf(resource, written.row))
    return answer(context, reply.status(201).header('Location', uri), written)
  }

/** The field that names the parent of a resource below another one's path. */
function parentOf(
  context: ApiContext,
  request: FastifyRequest,
  { parent }: AnyResource,
): Record<string, string> {
  if (parent === undefined) return {}
  const id = pathParams(request)[parent.field] ?? ''
  return {
    [parent.field]: rowOf(readable(context), request.caller.accountId, resourceOf(parent.kind), id).id,
  }
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
  return reply.type(json).send(JSON.stringify(shownRow))
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
