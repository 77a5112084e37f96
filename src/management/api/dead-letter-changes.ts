/** `POST /dead_letters/…/resend`, `…/drop` and `DELETE`: dead letters are sent again, or dropped. */

import type { FastifyInstance } from 'fastify'
import { Type } from '../../ground/core/schema.js'
import { deadLetterBatchSchema, editedRecordSchema } from '../../words/shape/dead-letter.js'
import { type ApiContext, queryOf, requestBody } from '../http/context.js'
import { describe } from '../http/openapi/openapi.js'
import { idempotencyHeaders } from '../http/openapi/write-parameters.js'
import { actionHandler } from '../http/write-handlers.js'
import { type BatchVerb, changeLetters, resendLetter } from '../operate/dead-letter-answers.js'
import {
  checkDestination,
  deadLettersPath as path,
  selectingSchemas,
} from '../operate/dead-letter-queries.js'
import type { DeadLetterResender } from '../operate/dead-letter-resender.js'
import { type DeadLetters, sightOf } from '../operate/dead-letters.js'
import { letterAt } from './dead-letter-routes.js'
import { deadLettersTag } from './parts/tags.js'

const tag = deadLettersTag.name

export function registerDeadLetterChanges(
  app: FastifyInstance,
  context: ApiContext,
  letters: DeadLetters,
  resender: DeadLetterResender,
): void {
  registerOne(app, context, letters, resender)
  const query = 'selects letters as in the list; without a member, all. A request takes 1,000 at most'
  const batches: readonly { verb: BatchVerb; summary: string; description: string }[] = [
    {
      verb: 'resend',
      summary: 'Send dead letters again',
      description: `The body ${query}; \`next_before_id\` continues.`,
    },
    {
      verb: 'drop',
      summary: 'Drop dead letters',
      description: `They are removed for good. The body ${query}; \`next_before_id\` continues.`,
    },
  ]
  for (const { verb, ...texts } of batches) {
    const described = describe({
      ...texts,
      operationId: `${verb}_dead_letters`,
      atOnce: 'dead_letters',
      tag,
      path: `${path}/${verb}`,
      success: [200, deadLetterBatchSchema],
      body: batchBodySchema,
      headers: idempotencyHeaders,
    })
    const change = actionHandler(context, async (request) => {
      const sight = sightOf(request.caller.accountId)
      const body = requestBody(request)
      await checkDestination(context, request.caller.accountId, body['destination_id'])
      return { status: 200, body: await changeLetters(letters, resender, sight, verb, body) }
    })
    app.post(`${path}/${verb}`, described, change)
  }
}

const batchBodySchema = Type.Object(
  {
    ...selectingSchemas,
    before_id: Type.Optional(Type.String({ description: 'Letters older than this one.' })),
  },
  { title: 'DeadLetterSelection', additionalProperties: false, examples: [{ type: 'event' }] },
)

function registerOne(
  app: FastifyInstance,
  context: ApiContext,
  letters: DeadLetters,
  resender: DeadLetterResender,
): void {
  const resend = describe({
    operationId: 'resend_dead_letter',
    summary: 'Send a dead letter again',
    description:
      'An event goes to its destination, a record or an audit event through the pipeline. It is no longer a dead letter; if it fails again, it becomes a new one.',
    tag,
    path: `${path}/:id`,
    success: [204],
    body: editedRecordSchema,
    headers: idempotencyHeaders,
  })
  const resendOne = actionHandler(context, async (request) => {
    const letter = await letterAt(letters, request)
    await resendLetter(resender, letter, requestBody(request), request.caller.accountId)
    return { status: 204 }
  })
  app.post(`${path}/:id/resend`, resend, resendOne)
  const drop = describe({
    operationId: 'drop_dead_letter',
    summary: 'Drop a dead letter',
    tag,
    path: `${path}/:id`,
    success: [204],
  })
  app.delete(`${path}/:id`, drop, async (request, reply) => {
    queryOf(request)
    await resender.drop([await letterAt(letters, request)])
    return reply.status(204).send()
  })
}
