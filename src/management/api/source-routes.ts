/** Routes of the single sources of an event subscription. Each change is an update of the subscription. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, conflict, notFound, shown } from '../../ground/core/errors.js'
import type { Static, TSchema } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import {
  completeSource,
  eventSubscription,
  type Source,
  shownSourceOf,
  shownSourceSchema,
  sourceChangesSchema,
  sourceSchema,
  wrongSourceUri,
} from '../../words/resource/event-subscription.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { exampleId } from '../../words/resource/kind/examples.js'
import { subscriptionCountsSchema } from '../../words/shape/subscription-counts.js'
import { withoutNothing } from '../exchange/body/empty-values.js'
import { checkNames } from '../exchange/body/input.js'
import { checkOf, schemaRefusal } from '../exchange/body/schema-faults.js'
import { asInPart } from '../exchange/references.js'
import { type ApiContext, pathParams, queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { exampleLinks, shownExample } from '../http/openapi/examples.js'
import {
  describe,
  listSchema,
  type OperationDescription,
  routePath,
  shownBy,
} from '../http/openapi/openapi.js'
import { postParameters, writeParameters } from '../http/openapi/write-parameters.js'
import { withAnswer, writeHandler } from '../http/write-handlers.js'
import type { DestinationOperations } from '../operate/destination-operations.js'
import type { WriteAnswer } from '../store/change/answers.js'
import type { Plan } from '../store/change/plan.js'
import type { WriteContext } from './parts/write-context.js'

const subscription = anyResource(eventSubscription)
const sourcesPath = '/event_subscriptions/:subscription_id/sources'
const sourcePath = `${sourcesPath}/:type`

const [sourceExample] = shownExample(subscription)['sources'] as object[]
const shownSource = shownBy(shownSourceSchema, sourceExample)
const page = shownBy(listSchema('sources', shownSourceSchema, 'EventSourceList'), {
  sources: [sourceExample],
  uri: `${exampleLinks.of(subscription.kind, exampleId(subscription.idPrefix))}/sources`,
  next_page_uri: null,
})

const sourcesOf = (row: Row): readonly Source[] => row['sources'] as Source[]

const typeOf = (request: FastifyRequest): string => pathParams(request)['type'] ?? ''

const nameInBody = asInPart(/^sources\[\d+\]\./)

/** The source of this type. Throws if there is none. */
function sourceAt(row: Row, type: string): Source {
  const source = sourcesOf(row).find((candidate) => candidate.type === type)
  if (source !== undefined) return source
  throw notFound(`The event subscription ${row.id} has no source ${shown(type)}.`)
}

const title = 'event source'

function parseSource(body: Readonly<Record<string, unknown>>): Source {
  checkNames(body, Object.keys(sourceSchema.properties), title)
  if ((body['type'] ?? null) === null) throw badRequest(`"type" is required for an ${title}.`)
  const source = withoutNothing(sourceSchema, body)
  const wrong = checkOf(sourceSchema)(source, '')
  if (wrong !== undefined) throw schemaRefusal(wrong, sourceSchema, source, '')
  const misplaced = wrongSourceUri(source as Static<typeof sourceSchema>)
  if (misplaced !== undefined) throw badRequest(`"uri" is ${shown(body['uri'])}: ${misplaced}.`)
  return completeSource(source as Source)
}

const created = (source: { readonly uri: string }): WriteAnswer => ({
  status: 201,
  location: source.uri,
  body: source,
})

export function registerSources(app: FastifyInstance, context: WriteContext): void {
  const rowFor = (request: FastifyRequest): Row => rowAt(context, request, subscription, 'subscription_id')
  const show = (row: Row, type: string) => shownSourceOf(row.id, sourceAt(row, type), context.presenter.links)
  const changed = (
    request: FastifyRequest,
    change: (present: Row) => readonly Source[],
    answerOf: (row: Row) => WriteAnswer,
  ): Plan<WriteAnswer> => {
    const { caller } = request
    const sources = (present: Row) => ({ sources: change(present) })
    const plan = context.writes.update(caller, subscription, rowFor(request).id, sources, nameInBody)
    return withAnswer(plan, ({ row }) => answerOf(row))
  }

  app.get(sourcesPath, as('list', [200, page]), (request, reply) => {
    queryOf(request)
    const row = rowFor(request)
    const { links } = context.presenter
    const uri = `${links.of('event_subscription', row.id)}/sources`
    const sources = sourcesOf(row).map((source) => shownSourceOf(row.id, source, links))
    return sendJson(reply, { sources, uri, next_page_uri: null })
  })

  const create = writeHandler(context, (request) => {
    rowFor(request)
    const source = parseSource(requestBody(request))
    const change = (present: Row): readonly Source[] => {
      if (sourcesOf(present).every(({ type }) => type !== source.type)) return [...sourcesOf(present), source]
      throw conflict(
        `"type" is ${shown(source.type)}, which the subscription already has: each type may occur once.`,
      )
    }
    return changed(request, change, (row) => created(show(row, source.type)))
  })
  app.post(sourcesPath, as('create', [201, shownSource], shownBy(sourceSchema, { type: 'log.v0' })), create)

  app.get(sourcePath, as('get', [200, shownSource]), (request, reply) => {
    queryOf(request)
    return sendJson(reply, show(rowFor(request), typeOf(request)))
  })

  const update = writeHandler(context, (request) => {
    const type = typeOf(request)
    sourceAt(rowFor(request), type)
    const changes = requestBody(request)
    const change = (present: Row): readonly Source[] => {
      checkNames(changes, Object.keys(sourceChangesSchema.properties), title)
      // Null and empty text clear a field.
      const next = parseSource({ ...sourceAt(present, type), ...changes })
      return sourcesOf(present).map((source) => (source.type === type ? next : source))
    }
    return changed(request, change, (row) => ({ status: 200, body: show(row, type) }))
  })
  app.patch(
    sourcePath,
    as('update', [200, shownSource], shownBy(sourceChangesSchema, { filter: 'conn.server_port == 22' })),
    update,
  )

  const remove = writeHandler(context, (request) => {
    const type = typeOf(request)
    const change = (present: Row): readonly Source[] => {
      const removed = sourceAt(present, type)
      return sourcesOf(present).filter((source) => source !== removed)
    }
    return changed(request, change, () => ({ status: 204 }))
  })
  app.delete(sourcePath, as('delete', [204]), remove)
}

const summaries = {
  list: 'List the sources of an event subscription',
  create: 'Add a source to an event subscription',
  get: 'Get a source of an event subscription',
  update: 'Update a source of an event subscription',
  delete: 'Remove a source of an event subscription',
}

const parametersOf = {
  list: {},
  get: {},
  create: postParameters,
  update: writeParameters,
  delete: writeParameters,
}

const as = (operation: keyof typeof summaries, success: OperationDescription['success'], body?: TSchema) =>
  describe({
    operationId: `${operation}_event_source${operation === 'list' ? 's' : ''}`,
    summary: summaries[operation],
    tag: pluralOf(subscription.title),
    path: operation === 'list' || operation === 'create' ? sourcesPath : sourcePath,
    success,
    ...parametersOf[operation],
    ...(body === undefined ? {} : { body }),
  })

/** `GET /event_subscriptions/{id}/counts`: events that its sources produced, and records that their filters kept back. */
export function registerSubscriptionCounts(
  app: FastifyInstance,
  context: ApiContext,
  operations: Pick<DestinationOperations, 'sourceCounts'>,
): void {
  const path = `${routePath(subscription.path)}/:id/counts`
  const described = describe({
    operationId: 'get_event_subscription_counts',
    atOnce: 'destination_status',
    summary: 'Count what the sources of an event subscription produced and kept back',
    description: 'By source and destination, from the books: exact totals since these began.',
    tag: pluralOf(subscription.title),
    path,
    success: [200, subscriptionCountsSchema],
  })
  app.get(path, described, async (request, reply) => {
    queryOf(request)
    const { id } = rowAt(context, request, subscription)
    return sendJson(reply, { counts: operations.sourceCounts(id) })
  })
}
