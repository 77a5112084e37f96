/** Routes of every resource kind, made from its declaration. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../../ground/core/clock.js'
import { type AnyResource, allOperations, type Operation } from '../../words/resource/kind/define.js'
import { childKindsOf } from '../../words/resource/shown-schema.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import { createValues, updateValues } from '../exchange/body/input.js'
import { pathOf, readable } from '../exchange/rows.js'
import { keysCompared, parentOf, queryOf, requestBody, rightNeeded, rowAt } from '../http/context.js'
import { listHandler } from '../http/lists/lists.js'
import { describeOperation, routePath } from '../http/openapi/openapi.js'
import { type CreationHooks, withAnswer, writeHandler } from '../http/write-handlers.js'
import type { WriteAnswer } from '../store/change/answers.js'
import type { Plan } from '../store/change/plan.js'
import type { WriteResult } from '../write/writes.js'
import type { WriteContext } from './parts/write-context.js'

/** The differences of a kind when one is created. */
export interface Creation extends Partial<CreationHooks> {
  /** Brings a body into the form that the schema describes. */
  read?(body: Record<string, unknown>): Record<string, unknown>
  plan?(
    caller: Caller,
    values: Readonly<Record<string, unknown>>,
    requestedAt: number,
  ): Promise<Plan<WriteResult>>
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown

export function registerResource(
  app: FastifyInstance,
  context: WriteContext,
  resource: AnyResource,
  creation: Creation = {},
): void {
  const collection = routePath(resource.path)
  const single = `${collection}/:id`
  const as = (operation: Operation) => ({
    ...describeOperation(resource, operation),
    ...rightNeeded(context, resource),
    ...keysCompared(context, resource),
  })
  const register: Record<Operation, () => unknown> = {
    create: () => app.post(collection, as('create'), create(context, resource, creation)),
    list: () => app.get(collection, as('list'), listHandler(context, resource)),
    get: () => app.get(single, as('get'), get(context, resource)),
    update: () => app.patch(single, as('update'), update(context, resource)),
    delete: () => app.delete(single, as('delete'), remove(context, resource)),
  }
  for (const operation of resource.operations ?? allOperations) register[operation]()
}

const create = (context: WriteContext, resource: AnyResource, creation: Creation): Handler => {
  const planFor = async (request: FastifyRequest): Promise<Plan<WriteAnswer>> => {
    const parent = parentOf(context, request, resource)
    const body = requestBody(request)
    const values = { ...createValues(resource, creation.read?.(body) ?? body), ...parent }
    await creation.before?.(values)
    const { caller } = request
    const plan = await (creation.plan?.(caller, values, now()) ??
      context.writes.create(caller, resource, values, now()))
    return withAnswer(plan, (written, state) => {
      const path = pathOf(resource, written.row)
      const warnings = leftOut(resource, body, path)
      return {
        status: 201,
        location: context.presenter.links.uri(path),
        ...(warnings.length > 0 && { warnings }),
        ...shownOf(context, written, state),
      }
    })
  }
  const written = (request: FastifyRequest, { body }: WriteAnswer) =>
    body === undefined ? undefined : creation.after?.(request.caller.accountId, body)
  return writeHandler(context, planFor, { written })
}

/** Resources below the path of one that was copied: they are created one by one. */
const leftOut = (resource: AnyResource, body: Readonly<Record<string, unknown>>, path: string): string[] =>
  childKindsOf(resource).flatMap(({ listName }) => {
    const list = body[listName]
    if (!Array.isArray(list) || list.length === 0) return []
    return [`"${listName}" was left out: create each of the ${list.length} by POST ${path}/${listName}.`]
  })

const get =
  (context: WriteContext, resource: AnyResource): Handler =>
  (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource)
    reply.sendReadyJson(context.presenter.showJson(resource, row, readable(context)))
  }

const update = (context: WriteContext, resource: AnyResource): Handler =>
  writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    const body = requestBody(request)
    const plan = context.writes.update(request.caller, resource, id, (row, show) =>
      updateValues(resource, body, { row, shown: show() }),
    )
    return withAnswer(plan, (written, state) => ({ status: 200, ...shownOf(context, written, state) }))
  })

const remove = (context: WriteContext, resource: AnyResource): Handler =>
  writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    return withAnswer(context.writes.delete(request.caller, resource, id), () => ({ status: 204 }))
  })

const shownOf = (
  { presenter }: WriteContext,
  { resource, row, once }: WriteResult,
  state: ViewState,
): Pick<WriteAnswer, 'body' | 'once'> => ({ body: presenter.show(resource, row, state), once })
