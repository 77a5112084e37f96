/** The sources of an event subscription, one by one. Each change is an update of the subscription. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, conflict, notFound, shown } from '../core/errors.js'
import { sourcesPerSubscriptionMax } from '../core/limits.js'
import { compileCheck, type TSchema, Type } from '../core/schema.js'
import { anyResource, type Row } from '../resource/define.js'
import {
  completeSource,
  eventSubscription,
  type Source,
  shownSourceOf,
  sourceSchema,
} from '../resource/event-subscription.js'
import { type ApiContext, bodyOf, commit, json, pathParams, queryOf, rowAt } from './context.js'
import { checkNames } from './input.js'
import { listSchema, paramsSchema, problems } from './resource-routes.js'

const subscription = anyResource(eventSubscription)
const sourcesPath = '/event_subscriptions/:subscription_id/sources'
const sourcePath = `${sourcesPath}/:type`
const checkSource = compileCheck(sourceSchema)

const shownSource = Type.Object({
  type: Type.String(),
  uri: Type.String(),
  fields: Type.Optional(Type.Array(Type.String())),
  filter: Type.Optional(Type.String()),
})

const sourcesOf = (row: Row): readonly Source[] => row['sources'] as Source[]

const noSource = (row: Row, type: string) =>
  notFound(`The event subscription ${row.id} has no source ${shown(type)}.`)

export function registerSources(app: FastifyInstance, context: ApiContext): void {
  const rowFor = (request: FastifyRequest): Row =>
    rowAt(context, request, subscription, pathParams(request)['subscription_id'] ?? '')
  const typeOf = (request: FastifyRequest): string => pathParams(request)['type'] ?? ''
  const show = (row: Row, source: Source): object => shownSourceOf(row.id, source, context.presenter.links)
  const one = (row: Row, type: string): Source => {
    const source = sourcesOf(row).find((candidate) => candidate.type === type)
    if (source === undefined) throw noSource(row, type)
    return source
  }
  const write = async (
    request: FastifyRequest,
    change: (present: Row) => readonly Source[],
  ): Promise<Row> => {
    const { id } = rowFor(request)
    const plan = context.writes.update(request.caller, subscription, id, (present) => ({
      sources: change(present),
    }))
    return (await commit(context, request, plan)).row
  }

  app.get(sourcesPath, documented('list', { 200: listSchema('sources', shownSource) }), (request, reply) => {
    queryOf(request)
    const row = rowFor(request)
    const uri = `${context.presenter.links.of('event_subscription', row.id)}/sources`
    const sources = sourcesOf(row).map((source) => show(row, source))
    return reply.type(json).send(JSON.stringify({ sources, uri, next_page_uri: null }))
  })

  app.post(sourcesPath, documented('create', { 201: shownSource }, sourceSchema), async (request, reply) => {
    queryOf(request)
    const source = sourceOf(bodyOf(request))
    const row = await write(request, (present) => {
      if (sourcesOf(present).some(({ type }) => type === source.type)) {
        throw conflict(
          `"type" is ${shown(source.type)}, which the subscription has: a source stands in it once.`,
        )
      }
      if (sourcesOf(present).length >= sourcesPerSubscriptionMax) {
        throw badRequest(`The subscription has ${sourcesPerSubscriptionMax} sources: no more are allowed.`)
      }
      return [...sourcesOf(present), source]
    })
    return reply
      .status(201)
      .type(json)
      .send(JSON.stringify(show(row, source)))
  })

  app.get(sourcePath, documented('get', { 200: shownSource }), (request, reply) => {
    queryOf(request)
    const row = rowFor(request)
    return reply.type(json).send(JSON.stringify(show(row, one(row, typeOf(request)))))
  })

  app.patch(sourcePath, documented('update', { 200: shownSource }, patchSchema), async (request, reply) => {
    queryOf(request)
    const type = typeOf(request)
    const changes = bodyOf(request)
    checkNames(changes, ['fields', 'filter'], 'event source')
    const row = await write(request, (present) => {
      const next = sourceOf({ ...one(present, type), ...changes })
      return sourcesOf(present).map((source) => (source.type === type ? next : source))
    })
    return reply.type(json).send(JSON.stringify(show(row, one(row, type))))
  })

  app.delete(
    sourcePath,
    documented('delete', { 204: Type.Null({ description: 'Removed.' }) }),
    async (request, reply) => {
      queryOf(request)
      const type = typeOf(request)
      await write(request, (present) => {
        one(present, type)
        return sourcesOf(present).filter((source) => source.type !== type)
      })
      return reply.status(204).send()
    },
  )
}

const patchSchema = Type.Object(
  {
    fields: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
    filter: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { additionalProperties: false },
)

function sourceOf(body: Record<string, unknown>): Source {
  checkNames(body, ['type', 'fields', 'filter'], 'event source')
  if (body['type'] === undefined) throw badRequest('"type" is required for an event source.')
  const wrong = checkSource(body, '')
  if (wrong !== undefined) throw badRequest(wrong)
  return completeSource(body as unknown as Source)
}

function documented(operation: string, response: object, body?: TSchema) {
  const path = operation === 'list' || operation === 'create' ? sourcesPath : sourcePath
  return {
    schema: {
      operationId: `${operation}_event_source`,
      summary: `${operation[0]!.toUpperCase()}${operation.slice(1)} event sources of a subscription`,
      tags: ['event subscriptions'],
      params: paramsSchema(path),
      ...(body === undefined ? {} : { body }),
      response: { ...response, ...problems },
    },
  }
}
