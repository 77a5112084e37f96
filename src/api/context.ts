/** What the routes work with. */
import type { FastifyRequest } from 'fastify'
import { badRequest, shown, unavailable } from '../core/errors.js'
import { supported } from '../core/nearest.js'
import { apiKey } from '../resource/api-key.js'
import type { AnyResource, Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import type { Store } from '../store/store.js'
import type { ViewState } from '../view/view-state.js'
import type { Caller } from './caller.js'
import { checkNames, checkPathId, objectBody, unknownResource } from './input.js'
import type { Presenter } from './present.js'
import type { Writes } from './writes.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the time a route runs. */
    caller: Caller
  }
}

/** The members of the store that routes use. */
export type RouteStore = Pick<
  Store,
  'view' | 'keys' | 'answered' | 'settled' | 'commit' | 'commitOnce' | 'rehearse' | 'replaceRules'
>

export interface ApiContext {
  readonly store: RouteStore
  readonly writes: Writes
  readonly presenter: Presenter
}

export type PathParams = Readonly<Record<string, string>>

export const pathParams = (request: FastifyRequest): PathParams => request.params as PathParams

/** The state reads are answered from. */
export function readable({ store }: ApiContext): ViewState {
  if (!store.view.isUsable) throw unavailable('The configuration is not complete yet.')
  return store.view.state
}

/** The body as an object; ids of the path may stand in it and have to agree. No body is an empty one, but for PUT. */
export function bodyOf(request: FastifyRequest): Record<string, unknown> {
  const { body, method } = request
  if (body === undefined && method === 'PUT')
    throw badRequest('PUT needs a body: it replaces the whole, and an empty body does not say by what.')
  return objectBody(body, pathParams(request))
}

/** GET and DELETE are told all by their path: the ids of it are all that a body may hold. */
export function refuseBody(request: FastifyRequest): void {
  const { method } = request
  if (method !== 'GET' && method !== 'DELETE') return
  checkNames(bodyOf(request), Object.keys(pathParams(request)), `${method} request`)
}

/** Query parameters, each once and known. */
export function queryOf<const Name extends string>(
  request: FastifyRequest,
  names: readonly Name[] = [],
): Partial<Record<Name, string>> {
  const query = request.query as Record<string, unknown>
  for (const [name, value] of Object.entries(query)) {
    if (!names.includes(name as Name))
      throw badRequest(`The query parameter ${shown(name)} is unknown: ${supported(names)}.`)
    if (Array.isArray(value))
      throw badRequest(`The query parameter "${name}" is given ${value.length} times: once is allowed.`)
  }
  return query as Partial<Record<Name, string>>
}

/** The resource a path names, parent included; another account's is an unknown one. */
export function rowAt(context: ApiContext, request: FastifyRequest, resource: AnyResource, id: string): Row {
  const state = readable(context)
  const params = pathParams(request)
  const { accountId } = request.caller
  if (resource.parent !== undefined) {
    const parentId = params[resource.parent.field] ?? ''
    rowOf(state, accountId, resourceOf(resource.parent.kind), parentId)
    const row = rowOf(state, accountId, resource, id)
    if (row[resource.parent.field] !== parentId) throw unknownResource(resource, id)
    return row
  }
  const row = rowOf(state, accountId, resource, id)
  if (!isBelieved(context, resource, row)) throw unknownResource(resource, id)
  return row
}

/** An API key that only the bucket has is a forged one: it is neither shown nor changed. See `known-keys.ts`. */
export const isBelieved = ({ store }: ApiContext, { kind }: AnyResource, row: Row): boolean =>
  kind !== apiKey.kind || store.keys.isKnown(row)

/** Of a route: has new API keys compared before it runs, so that `isBelieved` can tell. */
export const keysCompared = ({ store }: ApiContext, { kind }: AnyResource) =>
  kind === apiKey.kind
    ? { preHandler: async ({ caller }: FastifyRequest) => store.keys.compareAccount(caller.accountId) }
    : {}

export function rowOf(state: ViewState, accountId: string, resource: AnyResource, id: string): Row {
  checkPathId(resource, id)
  const row = state.rows.get(resource.kind)?.get(id)
  if (row === undefined || row.account_id !== accountId) throw unknownResource(resource, id)
  return row
}

export const json = 'application/json; charset=utf-8'
