/** `GET /changes` and `GET …/{id}/changes`: changes of the account, or of one resource, deleted ones included. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { badRequest } from '../../ground/core/errors.js'
import { changesSearchedMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { type AnyResource, isServed } from '../../words/resource/kind/define.js'
import { resources } from '../../words/resource/registry.js'
import { changeExample, changeHeadSchema, changeSchema } from '../../words/shape/decisions/change-schema.js'
import { maySee } from '../access/account-rights.js'
import { article } from '../exchange/body/input.js'
import {
  limitOf,
  queryText,
  timeOf,
  timeParameters,
  versionIn,
  withFixedTimes,
} from '../exchange/query-values.js'
import { checkPathId, readable, unknownResource } from '../exchange/rows.js'
import { type ApiContext, pathParams, queryOf, rightNeeded, sendJson } from '../http/context.js'
import { exampleLinks } from '../http/openapi/examples.js'
import {
  describe,
  filterParameter,
  limitParameter,
  listSchema,
  routePath,
  shownBy,
} from '../http/openapi/openapi.js'
import type { HistoryPosition } from '../store/history/history-query.js'
import { findChanges } from '../write/changes.js'
import { changesTag } from './parts/tags.js'

const parameters = ['limit', 'before_version', 'before_id', 'since', 'until', 'filter'] as const

type ChangesQuery = { readonly [Name in (typeof parameters)[number]]?: string | undefined }

const querySchema = Type.Object({
  limit: limitParameter,
  before_version: Type.Optional(Type.Integer({ minimum: 1, description: 'Changes before this version.' })),
  before_id: Type.Optional(
    Type.String({
      maxLength: 80,
      description: 'With `before_version`: changes of that version, too, of resources below this id.',
    }),
  ),
  ...timeParameters,
  filter: filterParameter,
})

const aboutFilter = `The filter knows ${Object.keys(changeHeadSchema.properties).join(', ')}. A search ends after ${changesSearchedMax} changes, so a page may be empty and have a next one.`

const pageSchema = shownBy(listSchema('changes', changeSchema, 'ChangeList'), {
  changes: [changeExample],
  uri: exampleLinks.uri('/changes'),
  next_page_uri: null,
})

export function registerAllChanges(app: FastifyInstance, context: ApiContext): void {
  const described = describe({
    operationId: 'list_changes',
    atOnce: 'history',
    summary: 'List the changes of the account',
    description: `Changes of every kind of resource, deleted ones included. ${aboutFilter}`,
    tag: changesTag.name,
    path: '/changes',
    success: [200, pageSchema],
    query: querySchema,
  })
  app.get('/changes', described, (request, reply) => {
    const { accountId } = request.caller
    const kinds = resources.filter((resource) => maySee(readable(context), accountId, resource))
    return sendPage(context, request, reply, '/changes', { kinds: kinds.map(({ kind }) => kind) })
  })
}

export function registerChanges(app: FastifyInstance, context: ApiContext, resource: AnyResource): void {
  if (!isServed(resource)) return
  const path = `${routePath(resource.path)}/:id/changes`
  const described = describe({
    operationId: `list_${resource.kind}_changes`,
    atOnce: 'history',
    summary: `List the changes of ${article(resource.title)}`,
    description: `A deleted resource keeps its changes. ${aboutFilter}`,
    tag: pluralOf(resource.title),
    path,
    success: [200, pageSchema],
    query: querySchema,
  })
  app.get(path, { ...described, ...rightNeeded(context, resource) }, async (request, reply) => {
    const id = await knownId(context, request, resource)
    const pathOfChanges = path.replaceAll(/:(\w+)/g, (_, name) => pathParams(request)[name] ?? '')
    return sendPage(context, request, reply, pathOfChanges, { kinds: [resource.kind], id })
  })
}

/** The id in the path, if the account has this resource or once had it. */
export async function knownId(
  { store }: ApiContext,
  request: FastifyRequest,
  resource: AnyResource,
): Promise<string> {
  const { id = '', ...others } = pathParams(request)
  checkPathId(resource, id)
  const { parent } = resource
  const fields = parent === undefined ? {} : { [parent.field]: others[parent.field] ?? '' }
  if (await store.history.knows(request.caller.accountId, resource, id, fields)) return id
  throw unknownResource(resource, id)
}

async function sendPage(
  { store, presenter }: ApiContext,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  subject: { readonly kinds: readonly string[]; readonly id?: string },
): Promise<FastifyReply> {
  const query: ChangesQuery = queryOf(request, parameters)
  const { accountId } = request.caller
  const limit = limitOf(query.limit)
  const { links } = presenter
  const found = await findChanges(
    { history: store.history, links },
    {
      ...subject,
      accountId,
      limit,
      before: positionOf(query),
      sinceMs: timeOf('since', query.since),
      untilMs: timeOf('until', query.until),
      filter: query.filter,
    },
  )
  const uri = links.uri(path)
  const { changes, next } = found
  const nextQuery = next && {
    ...withFixedTimes(query),
    limit: String(limit),
    before_version: String(next.version),
    before_id: next.id,
  }
  return sendJson(reply, {
    changes,
    uri,
    next_page_uri: nextQuery === undefined ? null : `${uri}?${queryText(nextQuery)}`,
  })
}

function positionOf({ before_version, before_id }: ChangesQuery): HistoryPosition | undefined {
  if (before_version !== undefined)
    return { version: versionIn('before_version', before_version), id: before_id ?? '' }
  if (before_id === undefined) return undefined
  throw badRequest('The query parameter "before_id" needs "before_version".')
}
