/** Routes of replays: begin one for a destination, list, get, cancel. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { now } from '../core/clock.js'
import { badRequest, notFound, shown, WeirError } from '../core/errors.js'
import { pluralOf } from '../core/plural.js'
import { compileCheck } from '../core/schema-check.js'
import { checkSource, wholeKinds } from '../event/check-source.js'
import { anyResource } from '../resource/define.js'
import { eventDestination } from '../resource/event-destination.js'
import type { Source } from '../resource/event-subscription.js'
import {
  type Replay,
  type ReplayRequest,
  replayExample,
  replayRequestSchema,
  replaySchema,
} from '../resource/replay.js'
import type { StoredReplay } from '../wire/replays.js'
import { type ApiContext, pathParams, queryOf, readable, requestBody, rowAt, sendJson } from './context.js'
import { exampleLinks } from './examples.js'
import { checkNames } from './input.js'
import { describe, idempotencyHeaders, listSchema, replaysPath, routePath, shownBy } from './openapi.js'
import { pastTime } from './past-time.js'
import type { Replays } from './replays.js'
import { actionHandler } from './write-handlers.js'

const destination = anyResource(eventDestination)
const tag = pluralOf(destination.title)
const checkRequest = compileCheck(replayRequestSchema)

export function registerReplays(app: FastifyInstance, context: ApiContext, replays: Replays): void {
  const start = describe({
    operationId: 'replay_event_destination',
    summary: 'Send the events of recorded traffic again',
    description:
      'Records that were stored in the time are evaluated again, with the configuration in force, and their events are sent to this destination with the ids that they had before. Live traffic goes first.',
    tag,
    path: `${routePath(destination.path)}/:id/replay`,
    success: [202, replaySchema],
    body: replayRequestSchema,
    headers: idempotencyHeaders,
  })
  const begin = actionHandler(context, async (request) => {
    const { id, account_id } = rowAt(context, request, destination)
    const order = orderIn(requestBody(request), replays.retentionMs)
    checkFilter(context, account_id, id, order.filter)
    const replay = shownReplay(
      context,
      await replays.start({ accountId: account_id, destinationId: id, ...order }),
    )
    return { status: 202, location: replay.uri, body: replay }
  })
  app.post(`${routePath(destination.path)}/:id/replay`, start, begin)

  const list = describe({
    operationId: 'list_replays',
    summary: 'List replays',
    description: 'Those of the last seven days, the newest first, at most 100.',
    tag,
    path: replaysPath,
    success: [200, page],
  })
  app.get(replaysPath, list, async (request, reply) => {
    queryOf(request)
    const found = await replays.list(request.caller.accountId)
    return sendJson(reply, {
      replays: found.slice(0, replaysListedMax).map((replay) => shownReplay(context, replay)),
      uri: context.presenter.links.uri(replaysPath),
      next_page_uri: null,
    })
  })
  registerSingle(app, context, replays)
}

const replaysListedMax = 100

const page = shownBy(listSchema('replays', replaySchema, 'ReplayList'), {
  replays: [replayExample],
  uri: exampleLinks.uri(replaysPath),
  next_page_uri: null,
})

function registerSingle(app: FastifyInstance, context: ApiContext, replays: Replays): void {
  const path = `${replaysPath}/:id`
  const idOf = (request: FastifyRequest): string => pathParams(request)['id'] ?? ''
  const unknown = (id: string) => notFound(`There is no replay ${shown(id)}, or it was a week ago.`)
  const texts = { tag, path }
  const get = describe({
    ...texts,
    operationId: 'get_replay',
    summary: 'Get a replay: its progress',
    success: [200, replaySchema],
  })
  app.get(path, get, async (request, reply) => {
    queryOf(request)
    const id = idOf(request)
    const replay = await replays.get(request.caller.accountId, id)
    if (replay === undefined) throw unknown(id)
    return sendJson(reply, shownReplay(context, replay))
  })
  const cancel = describe({
    ...texts,
    operationId: 'cancel_replay',
    summary: 'Cancel a replay',
    description: 'Events that are already under way are still sent. A replay that has ended stays as it is.',
    success: [204],
  })
  app.delete(path, cancel, async (request, reply) => {
    queryOf(request)
    const id = idOf(request)
    if ((await replays.cancel(request.caller.accountId, id)) === undefined) throw unknown(id)
    return reply.status(204).send()
  })
}

function shownReplay({ presenter }: ApiContext, replay: StoredReplay): Replay {
  const { account_id, stream, first, last, done, open_until: _, subscription_id = null, ...rest } = replay
  return {
    ...rest,
    subscription_id,
    uri: presenter.links.uri(`${replaysPath}/${replay.id}`),
    progress: { messages: done - first + 1, of: Math.max(0, last - first + 1) },
  }
}

interface Order {
  readonly fromMs: number
  readonly toMs: number
  readonly filter: string | null
}

function orderIn(body: Readonly<Record<string, unknown>>, retentionMs: number): Order {
  checkNames(body, Object.keys(replayRequestSchema.properties), 'replay')
  const wrong = checkRequest(body, '')
  if (wrong !== undefined) throw badRequest(wrong)
  const { from, to, filter } = body as ReplayRequest
  const bounds = { nowMs: now(), retentionMs }
  const fromMs = pastTime('"from"', from, bounds)
  const toMs = to === undefined ? bounds.nowMs : pastTime('"to"', to, bounds)
  if (fromMs > toMs) throw badRequest(`"from" is ${shown(from)}, which is later than "to".`)
  return { fromMs, toMs, filter: filter || null }
}

/** The filter must suit every kind of traffic event that goes to the destination. */
function checkFilter(context: ApiContext, accountId: string, id: string, filter: string | null): void {
  if (filter === null) return
  const subscriptions = [...(readable(context).rows.get('event_subscription')?.values() ?? [])].filter(
    (row) => row.account_id === accountId && (row['destination_ids'] as string[]).includes(id),
  )
  const types = subscriptions.flatMap((row) => (row['sources'] as Source[]).map(({ type }) => type))
  for (const type of new Set(types)) {
    // Only what records cause is replayed.
    const problem = wholeKinds.includes(type) ? undefined : checkSource({ type, filter })
    if (problem !== undefined)
      throw new WeirError('ERR_INVALID_EXPRESSION', `"filter" does not suit ${type}: ${problem.msg}`)
  }
}
