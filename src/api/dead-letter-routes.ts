/** `GET /dead_letters`: what was set aside, why, and its bytes. */
import type { FastifyInstance } from 'fastify'
import { isoMillis } from '../core/clock.js'
import { Type } from '../core/schema.js'
import {
  deadLetterExample,
  deadLetterGroupsSchema,
  deadLetterSchema,
  wholeDeadLetterSchema,
} from '../resource/dead-letter.js'
import { type ApiContext, queryOf, sendJson } from './context.js'
import { LetterGroups } from './dead-letter-groups.js'
import {
  deadLettersTag,
  letterAt,
  deadLettersPath as path,
  positionOf,
  searchFor,
  selectingNames,
  selectingSchemas,
  shownLetter,
  wholeLetter,
} from './dead-letter-queries.js'
import { type DeadLetters, type Letter, positionId } from './dead-letters.js'
import { exampleLinks } from './examples.js'
import { limitOf } from './lists.js'
import { describe, limitParameter, listSchema, shownBy } from './openapi.js'
import { queryText } from './query-values.js'

const tag = deadLettersTag.name

const pageSchema = shownBy(listSchema('dead_letters', deadLetterSchema, 'DeadLetterList'), {
  dead_letters: [deadLetterExample],
  uri: exampleLinks.uri(path),
  next_page_uri: null,
})

export function registerDeadLetters(app: FastifyInstance, context: ApiContext, letters: DeadLetters): void {
  registerList(app, context, letters)
  registerGroups(app, context, letters)
  const one = describe({
    operationId: 'get_dead_letter',
    summary: 'Get a dead letter: its bytes, the reason, and the place that it names',
    tag,
    path: `${path}/:id`,
    success: [200, wholeDeadLetterSchema],
  })
  app.get(`${path}/:id`, one, async (request, reply) => {
    queryOf(request)
    return sendJson(reply, wholeLetter(await letterAt(letters, request), context.presenter.links))
  })
}

function registerList(app: FastifyInstance, context: ApiContext, letters: DeadLetters): void {
  const { links } = context.presenter
  const described = describe({
    operationId: 'list_dead_letters',
    atOnce: 'dead_letters',
    summary: 'List dead letters',
    description:
      'A record is listed for the account or the edge that it names; one that is too broken for that is shown to no account. A page may have fewer entries than `limit` and a next page.',
    tag,
    path,
    success: [200, pageSchema],
    query: Type.Object({
      limit: limitParameter,
      before_id: Type.Optional(Type.String({ description: 'Letters older than this one.' })),
      ...selectingSchemas,
    }),
  })
  app.get(path, described, async (request, reply) => {
    const query = queryOf(request, ['limit', 'before_id', ...selectingNames])
    const limit = limitOf(query.limit)
    const wanted = { ...(await searchFor(context, request, query)), before: positionOf(query.before_id) }
    const found: Letter[] = []
    const end = await letters.search(request.caller.accountId, wanted, (letter) => found.push(letter) > limit)
    const last = found.length > limit ? found[limit - 1]!.id : end && positionId(end.before)
    const uri = links.uri(path)
    const next = last && queryText({ ...query, limit: String(limit), before_id: last })
    return sendJson(reply, {
      dead_letters: found.slice(0, limit).map((letter) => shownLetter(letter, links)),
      uri,
      next_page_uri: next === undefined ? null : `${uri}?${next}`,
    })
  })
}

function registerGroups(app: FastifyInstance, context: ApiContext, letters: DeadLetters): void {
  const described = describe({
    operationId: 'list_dead_letter_groups',
    atOnce: 'dead_letters',
    summary: 'Count dead letters by type, reason and destination',
    tag,
    path: `${path}/groups`,
    success: [200, deadLetterGroupsSchema],
    query: Type.Object(selectingSchemas),
  })
  app.get(`${path}/groups`, described, async (request, reply) => {
    const wanted = await searchFor(context, request, queryOf(request, selectingNames))
    const groups = new LetterGroups()
    const end = await letters.search(request.caller.accountId, wanted, (letter) => !groups.add(letter))
    return sendJson(reply, {
      ...groups.listed(),
      complete_since: end === undefined ? null : isoMillis(end.atMs),
    })
  })
}
