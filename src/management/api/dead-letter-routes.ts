/** `GET /dead_letters`: records and events that were set aside, with the reasons and the bytes. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '../../ground/core/schema.js'
import {
  deadLetterExample,
  deadLetterGroupsSchema,
  deadLetterSchema,
  wholeDeadLetterSchema,
} from '../../words/shape/dead-letter.js'
import { type ApiContext, pathParams, queryOf, sendJson } from '../http/context.js'
import { exampleLinks } from '../http/openapi/examples.js'
import { describe, limitParameter, listSchema, shownBy } from '../http/openapi/openapi.js'
import { groupsOfLetters, pageOfLetters } from '../operate/dead-letter-answers.js'
import {
  checkDestination,
  letterCalled,
  deadLettersPath as path,
  selectingNames,
  selectingSchemas,
  wholeLetter,
} from '../operate/dead-letter-queries.js'
import { type DeadLetters, sightOf } from '../operate/dead-letters.js'
import type { Letter } from '../operate/letters-of-message.js'
import { deadLettersTag } from './parts/tags.js'

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
  const described = describe({
    operationId: 'list_dead_letters',
    atOnce: 'dead_letters',
    summary: 'List dead letters',
    description:
      'A record is listed for the account or the edge that it names; one that is too broken for that only if the deployment has no other account. A page may have fewer entries than `limit` and a next page.',
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
    await checkDestination(context, request.caller.accountId, query.destination_id)
    return sendJson(
      reply,
      await pageOfLetters(letters, sightOf(request.caller.accountId), query, context.presenter.links),
    )
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
    const query = queryOf(request, selectingNames)
    await checkDestination(context, request.caller.accountId, query.destination_id)
    return sendJson(reply, await groupsOfLetters(letters, sightOf(request.caller.accountId), query))
  })
}

/** The letter that the path names. One of another account is unknown. */
export function letterAt(letters: DeadLetters, request: FastifyRequest): Promise<Letter> {
  const { id = '' } = pathParams(request)
  return letterCalled(letters, sightOf(request.caller.accountId), id)
}
