/** Routes of every resource kind, made from its declaration. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../core/clock.js'
import { type AnyResource, allOperations, type Operation } from '../resource/define.js'
import type { WriteAnswer } from '../store/answers.js'
import type { Plan } from '../store/plan.js'
import type { ViewState } from '../view/view-state.js'
import {
  type ApiContext,
  keysCompared,
  parentOf,
  queryOf,
  readable,
  requestBody,
  rowAt,
  sendJson,
} from './context.js'
import { createValues, updateValues } from './input.js'
import { listHandler } from './lists.js'
import { describeOperation, routePath } from './openapi.js'
import { pathOf } from './present.js'
import { rightNeeded } from './rights.js'
import { withAnswer, writeHandler } from './write-handlers.js'
import type { WriteResult } from './writes.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown

/** What a kind does besides storing a new resource. */
export interface CreationHooks {
  /** Throws a `WeirError` if it can't be done. */
  before(values: object): Promise<void>
  /** After it is stored, also if the request is repeated: what was done before must not be done again. */
  after(accountId: string, created: object): Promise<void>
}

export function registerResource(
  app: FastifyInstance,
  context: ApiContext,
  resource: AnyResource,
  hooks?: CreationHooks,
): void {
  const collection = routePath(resource.path)
  const single = `${collection}/:id`
  const as = (operation: Operation) => ({
    ...describeOperation(resource, operation),
    ...rightNeeded(context, resource),
    ...keysCompared(context, resource),
  })
  const register: Record<Operation, () => unknown> = {
    create: () => app.post(collection, as('create'), create(context, resource, hooks)),
    list: () => app.get(collection, as('list'), listHandler(context, resource)),
    get: () => app.get(single, as('get'), get(context, resource)),
    update: () => app.patch(single, as('update'), update(context, resource)),
    delete: () => app.delete(single, as('delete'), remove(context, resource)),
  }
  for (const operation of resource.operations ?? allOperations) register[operation]()
}

const create = (context: ApiContext, resource: AnyResource, hooks: CreationHooks | undefined): Handler => {
  const planFor = async (request: FastifyRequest): Promise<Plan<WriteAnswer>> => {
    const parent = parentOf(context, request, resource)
    const values = { ...createValues(resource, requestBody(request)), ...parent }
    await hooks?.before(values)
    const plan = await context.writes.create(request.caller, resource, values, now())
    return withAnswer(plan, (written, state) => ({
      status: 201,
      location: context.presenter.links.uri(pathOf(resource, written.row)),
      ...shownOf(context, written, state),
    }))
  }
  const written = (request: FastifyRequest, { body }: WriteAnswer) =>
    hooks !== undefined && body !== undefined ? hooks.after(request.caller.accountId, body) : undefined
  return writeHandler(context, planFor, { written })
}

const get =
  (context: ApiContext, resource: AnyResource): Handler =>
  (request, reply) => {
    queryOf(request)
    const row = rowAt(context, request, resource)
    return sendJson(reply, context.presenter.showJson(resource, row, readable(context)))
  }

const update = (context: ApiContext, resource: AnyResource): Handler =>
  writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    const body = requestBody(request)
    const plan = context.writes.update(request.caller, resource, id, (row, show) =>
      updateValues(resource, body, { row, shown: show() }),
    )
    return withAnswer(plan, (written, state) => ({ status: 200, ...shownOf(context, written, state) }))
  })

const remove = (context: ApiContext, resource: AnyResource): Handler =>
  writeHandler(context, (request) => {
    const { id } = rowAt(context, request, resource)
    return withAnswer(context.writes.delete(request.caller, resource, id), () => ({ status: 204 }))
  })

const shownOf = (
  { presenter }: ApiContext,
  { resource, row, once }: WriteResult,
  state: ViewState,
): Pick<WriteAnswer, 'body' | 'once'> => ({ body: presenter.show(resource, row, state), once })
