/** Tools of every route: the store, the request's parts, and the lookup of a resource. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest, shown } from '../../ground/core/errors.js'
import { supported } from '../../ground/core/nearest.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import type { ViewState } from '../../words/view/view-state.js'
import { checkAccountRight } from '../access/account-rights.js'
import type { Caller } from '../access/caller.js'
import { checkNames, objectBody } from '../exchange/body/input.js'
import type { Presenter } from '../exchange/present.js'
import { readable, rowOf, unknownResource } from '../exchange/rows.js'
import { isKeyKind } from '../store/known-keys.js'
import type { Rehearsals } from '../store/rehearsals.js'
import type { Store } from '../store/store.js'
import { jsonType } from './answer-headers.js'
import type { Batch } from './batch.js'
import type { MissingValues } from './missing-values.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before a route runs. */
    caller: Caller
    /** Set if the request is a part of a batch. */
    batch: Batch | undefined
  }
}

/** The members of the store that routes use. */
export type RouteStore = Pick<
  Store,
  | 'view'
  | 'keys'
  | 'pastRows'
  | 'history'
  | 'answered'
  | 'settled'
  | 'commit'
  | 'commitOnce'
  | 'commitBatch'
  | 'stage'
  | 'replaceRules'
> & { readonly rehearsals: Pick<Rehearsals, 'of' | 'ofBatch' | 'ofRules'> }

export interface ApiContext {
  readonly store: RouteStore
  readonly presenter: Presenter
  readonly missingValues: MissingValues
}

type PathParams = Readonly<Record<string, string>>

export const pathParams = (request: FastifyRequest): PathParams => request.params as PathParams

/** The body as an object. It may repeat ids of the path. No body means an empty object, except for PUT. */
export function requestBody(request: FastifyRequest): Record<string, unknown> {
  const { body, method } = request
  if (body === undefined && method === 'PUT')
    throw badRequest('PUT requires a body, because it replaces the whole.')
  return objectBody(body, pathParams(request))
}

/** GET and DELETE take everything from the path; a body may only repeat the path's ids. */
export function refuseBody(request: FastifyRequest): void {
  const { method } = request
  if (request.body === undefined || (method !== 'GET' && method !== 'DELETE')) return
  checkNames(requestBody(request), Object.keys(pathParams(request)), `${method} request`)
}

/** The query parameters. Throws for an unknown or repeated one. */
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

/** Is this query parameter true? It is false if it is missing. */
export function isTrueIn<Name extends string>(query: Partial<Record<Name, string>>, name: Name): boolean {
  const text = query[name]
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw badRequest(`The query parameter "${name}" is ${shown(text)}: true or false is allowed.`)
}

/** The state that a request is answered from: within a batch, that which the writes before it leave. */
const stateFor = (context: ApiContext, { batch }: FastifyRequest): ViewState =>
  batch?.state ?? readable(context)

/** The parent's id as a field, for a resource below another one's path. Throws if there is no such parent. */
export function parentOf(
  context: ApiContext,
  request: FastifyRequest,
  { parent }: AnyResource,
): Record<string, string> {
  if (parent === undefined) return {}
  const id = pathParams(request)[parent.field] ?? ''
  rowOf(stateFor(context, request), request.caller.accountId, resourceOf(parent.kind), id)
  return { [parent.field]: id }
}

/** The resource that the path names, below its parent if it has one. A resource of another account is unknown. */
export function rowAt(
  context: ApiContext,
  request: FastifyRequest,
  resource: AnyResource,
  param = 'id',
): Row {
  const parent = parentOf(context, request, resource)
  const id = pathParams(request)[param] ?? ''
  const row = rowOf(stateFor(context, request), request.caller.accountId, resource, id)
  const isBelow = Object.entries(parent).every(([field, parentId]) => row[field] === parentId)
  if (!isBelow || !isBelieved(context, resource, row)) throw unknownResource(resource, id)
  return row
}

/**
 * An API key or bouncer that is only in the bucket is forged: it is neither shown nor changed. See `store/known-keys.ts`.
 */
export const isBelieved = ({ store }: ApiContext, { kind }: AnyResource, row: Row): boolean =>
  !isKeyKind(kind) || store.keys.isKnown(row)

/** Route options: compares new API keys or bouncers with the store first, because `isBelieved` needs it. */
export const keysCompared = ({ store }: ApiContext, { kind }: AnyResource) =>
  isKeyKind(kind)
    ? { preHandler: async ({ caller }: FastifyRequest) => store.keys.compareAccount(caller.accountId, kind) }
    : {}

/** Sends a value as JSON; text and its bytes are sent as they are. */
export const sendJson = (reply: FastifyReply, value: object | string | Buffer): FastifyReply =>
  reply
    .type(jsonType)
    .send(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value))

/** Route options: refuses accounts without the right that a kind needs before an id or a body is checked. */
export const rightNeeded = (context: ApiContext, { right }: AnyResource) =>
  right === undefined
    ? {}
    : {
        onRequest: ({ caller }: FastifyRequest, _reply: FastifyReply, done: () => void) => {
          checkAccountRight(readable(context), caller.accountId, right)
          done()
        },
      }
