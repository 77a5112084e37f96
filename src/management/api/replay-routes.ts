/** Routes of replays: begin one for a destination, list, get, cancel. */
import type { FastifyInstance } from 'fastify'
import { type ReplayedPart, replayedParts, type StoredReplay } from '../../delivery/wire/replays.js'
import { now } from '../../ground/core/clock.js'
import { badRequest, shown, WeirError } from '../../ground/core/errors.js'
import { listed, pluralOf } from '../../ground/core/text/plural.js'
import { trafficEvents } from '../../words/event/catalog.js'
import { checkSource, wholeKinds } from '../../words/event/check-source.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import type { Source } from '../../words/resource/event-subscription.js'
import { anyResource } from '../../words/resource/kind/define.js'
import {
  type Replay,
  type ReplayRequest,
  replayExample,
  replayRequestSchema,
  replaySchema,
} from '../../words/shape/replay.js'
import { checkNames } from '../exchange/body/input.js'
import { checkOf, schemaRefusal } from '../exchange/body/schema-faults.js'
import { pastTime } from '../exchange/query-values.js'
import { readable } from '../exchange/rows.js'
import { type ApiContext, queryOf, requestBody, rowAt, sendJson } from '../http/context.js'
import { exampleLinks } from '../http/openapi/examples.js'
import { describe, listSchema, replaysPath, routePath, shownBy } from '../http/openapi/openapi.js'
import { idempotencyHeaders } from '../http/openapi/write-parameters.js'
import { actionHandler } from '../http/write-handlers.js'
import type { Replays } from '../operate/replays.js'
import { registerJob } from './job-routes.js'

const destination = anyResource(eventDestination)
const tag = pluralOf(destination.title)

export function registerReplays(app: FastifyInstance, context: ApiContext, replays: Replays): void {
  const start = describe({
    operationId: 'replay_event_destination',
    summary: 'Send the events of recorded traffic again',
    description:
      'Records that were stored in the time are evaluated again, with the configuration in force, and their events are sent to this destination with the ids that they had before. Live traffic goes first. A filter is applied to the types of events that have all of its names; others are not sent, and the answer names them.',
    tag,
    path: `${routePath(destination.path)}/:id/replay`,
    success: [202, replaySchema],
    body: replayRequestSchema,
    headers: idempotencyHeaders,
  })
  const begin = actionHandler(context, async (request) => {
    const { id, account_id } = rowAt(context, request, destination)
    const order = orderIn(requestBody(request), replays.retentionMs)
    const { types, types_left_out } = replayedTypes(receivedTypes(context, account_id, id), order)
    const replay = shownReplay(
      context,
      await replays.start({ accountId: account_id, destinationId: id, ...order, types, types_left_out }),
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
  registerJob(app, {
    name: 'replay',
    path: replaysPath,
    tag,
    schema: replaySchema,
    texts: {
      get: 'Get a replay: its progress',
      cancel: 'Events that are already under way are still sent. A replay that has ended stays as it is.',
    },
    get: (accountId, id) => replays.get(accountId, id),
    cancel: (accountId, id) => replays.cancel(accountId, id),
    shown: (replay) => shownReplay(context, replay),
  })
}

const replaysListedMax = 100

const page = shownBy(listSchema('replays', replaySchema, 'ReplayList'), {
  replays: [replayExample],
  uri: exampleLinks.uri(replaysPath),
  next_page_uri: null,
})

function shownReplay({ presenter }: ApiContext, replay: StoredReplay): Replay {
  const {
    account_id,
    stream,
    first,
    last,
    done,
    more,
    open_until: _,
    subscription_id = null,
    ...rest
  } = replay
  const parts = replayedParts(replay)
  const { types = null, types_left_out = [] } = replay
  return {
    ...rest,
    types: types && [...types],
    types_left_out: [...types_left_out],
    subscription_id,
    uri: presenter.links.uri(`${replaysPath}/${replay.id}`),
    progress: {
      messages: total(parts, ({ first, done }) => done - first + 1),
      of: total(parts, ({ first, last }) => Math.max(0, last - first + 1)),
    },
  }
}

interface Order {
  readonly fromMs: number
  readonly toMs: number
  readonly filter: string | null
  readonly types: readonly string[] | null
}

function orderIn(body: Readonly<Record<string, unknown>>, retentionMs: number): Order {
  checkNames(body, Object.keys(replayRequestSchema.properties), 'replay')
  const wrong = checkOf(replayRequestSchema)(body, '')
  if (wrong !== undefined) throw schemaRefusal(wrong, replayRequestSchema, body, '')
  const { from, to, filter, types = null } = body as ReplayRequest
  const bounds = { nowMs: now(), retentionMs }
  const fromMs = pastTime('"from"', from, bounds)
  const toMs = to === undefined ? bounds.nowMs : pastTime('"to"', to, bounds)
  if (fromMs > toMs) throw badRequest(`"from" is ${shown(from)}, which is later than "to".`)
  return { fromMs, toMs, filter: filter || null, types }
}

/** The kinds of events that subscriptions send to the destination. */
const receivedTypes = (context: ApiContext, accountId: string, id: string): string[] =>
  [...(readable(context).rows.get('event_subscription')?.values() ?? [])]
    .filter((row) => row.account_id === accountId && (row['destination_ids'] as string[]).includes(id))
    .flatMap((row) => (row['sources'] as Source[]).map(({ type }) => type))

interface ReplayedTypes {
  /** Null: all that the destination gets, also those that it gets later. */
  readonly types: readonly string[] | null
  readonly types_left_out: readonly string[]
}

interface TypesAndFilter {
  readonly types: readonly string[] | null
  readonly filter: string | null
}

/**
 * The kinds of events that a replay sends: those that the request chooses and that have the names of the filter.
 * `received`: the kinds that subscriptions send to the destination. Only events of records are replayed.
 */
function replayedTypes(received: readonly string[], { types, filter }: TypesAndFilter): ReplayedTypes {
  const possible = [...new Set(received)].filter((type) => !wholeKinds.includes(type)).sort()
  for (const type of types ?? []) checkType(type, possible)
  const chosen = types && [...new Set(types)]
  if (filter === null) return { types: chosen, types_left_out: [] }
  return { types: chosen, types_left_out: leftOutBy(filter, chosen ?? possible) }
}

function checkType(type: string, possible: readonly string[]): void {
  const problem = checkSource({ type })
  if (problem !== undefined) throw badRequest(`"types": ${problem.msg}`)
  if (wholeKinds.includes(type))
    throw badRequest(
      `"types" has ${shown(type)}, which no record causes: only events of records are sent again.`,
    )
  if (possible.includes(type)) return
  const known = possible.length === 0 ? 'no events of records' : listed(possible, 'and')
  throw badRequest(`"types" has ${shown(type)}, but the destination gets ${known} from its subscriptions.`)
}

/** The kinds that lack a name of the filter. Throws if no kind suits it. */
function leftOutBy(filter: string, types: readonly string[]): string[] {
  const asked = types.length === 0 ? trafficEvents.map(({ name }) => name) : types
  const problems = asked.map((type) => checkSource({ type, filter }))
  if (problems.includes(undefined)) return types.filter((_, index) => problems[index] !== undefined)
  throw new WeirError(
    'ERR_INVALID_EXPRESSION',
    `"filter" does not suit ${listed(asked)}: ${problems[0]!.msg}`,
    {
      places:
        problems[0]!.mark === undefined
          ? []
          : [{ place: 'filter', ...problems[0]!.mark, msg: problems[0]!.msg }],
    },
  )
}

const total = (parts: readonly ReplayedPart[], of: (part: ReplayedPart) => number): number =>
  parts.reduce((sum, part) => sum + of(part), 0)
