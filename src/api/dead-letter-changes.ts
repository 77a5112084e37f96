/** `POST /dead_letters/…/resend`, `…/drop` and `DELETE`: dead letters are sent again, or dropped. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, conflict, scalarShown } from '../core/errors.js'
import { Type } from '../core/schema.js'
import { parseRecord } from '../record/record.js'
import { deadLetterBatchSchema, editedRecordSchema } from '../resource/dead-letter.js'
import { type ApiContext, queryOf, requestBody } from './context.js'
import {
  deadLettersTag,
  letterAt,
  deadLettersPath as path,
  positionOf,
  searchFor,
  selectingNames,
  selectingSchemas,
} from './dead-letter-queries.js'
import type { DeadLetterResender, Refusal } from './dead-letter-resender.js'
import { type DeadLetters, type Letter, positionId } from './dead-letters.js'
import { checkNames } from './input.js'
import { describe, idempotencyHeaders } from './openapi.js'
import { actionHandler } from './write-handlers.js'

const tag = deadLettersTag.name

/** Letters of one request, and their bytes: a client repeats the request for more. */
const batchMax = 1_000
const batchBytesMax = 16 * 1024 * 1024
const refusalsShown = 10

export function registerDeadLetterChanges(
  app: FastifyInstance,
  context: ApiContext,
  letters: DeadLetters,
  resender: DeadLetterResender,
): void {
  registerOne(app, context, letters, resender)
  const query = 'selects letters as in the list; without a member, all. A request takes 1,000 at most'
  const batches = [
    {
      verb: 'resend',
      summary: 'Send dead letters again',
      description: `The body ${query}; \`next_before_id\` continues.`,
      work: (batch: Letter[]) => resender.resend(batch),
    },
    {
      verb: 'drop',
      summary: 'Drop dead letters',
      description: `They are removed for good. The body ${query}; \`next_before_id\` continues.`,
      work: async (batch: Letter[]): Promise<Refusal[]> => {
        await resender.drop(batch)
        return []
      },
    },
  ]
  for (const { verb, work, ...texts } of batches) {
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
      const { batch, next } = await batchFor(context, letters, request)
      const refusals = await work(batch)
      const body = {
        done: batch.length - refusals.length,
        refused: refusals.length,
        refusals: refusals.slice(0, refusalsShown).map(({ letter, reason }) => ({ id: letter.id, reason })),
        next_before_id: next,
      }
      return { status: 200, body }
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

async function batchFor(
  context: ApiContext,
  letters: DeadLetters,
  request: FastifyRequest,
): Promise<{ batch: Letter[]; next: string | null }> {
  const names = ['before_id', ...selectingNames] as const
  const body = requestBody(request)
  checkNames(body, names, 'selection of dead letters')
  for (const [name, value] of Object.entries(body))
    if (typeof value !== 'string') throw badRequest(`"${name}" is ${scalarShown(value)}: a text is needed.`)
  const selection = body as { readonly [Name in (typeof names)[number]]?: string }
  const wanted = {
    ...(await searchFor(context, request, selection)),
    before: positionOf(selection.before_id),
  }
  const batch: Letter[] = []
  let bytes = 0
  const end = await letters.search(request.caller.accountId, wanted, (letter) => {
    bytes += letter.data.length
    return batch.push(letter) === batchMax || bytes > batchBytesMax
  })
  return { batch, next: end === undefined ? null : positionId(end.before) }
}

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
      'An event goes to its destination, a record or an audit event through the pipeline. It is a dead letter no more; if it fails again, it becomes a new one.',
    tag,
    path: `${path}/:id`,
    success: [204],
    body: editedRecordSchema,
    headers: idempotencyHeaders,
  })
  const resendOne = actionHandler(context, async (request) => {
    const letter = await letterAt(letters, request)
    const body = requestBody(request)
    checkNames(body, ['record'], 'request to send a dead letter again')
    const { record = null } = body
    if (record !== null) await resender.resendEdited(letter, editedRecord(letter, record, request))
    else {
      const [refusal] = await resender.resend([letter])
      if (refusal !== undefined)
        throw conflict(`The dead letter ${letter.id} can't be sent again. ${refusal.reason}`)
    }
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

/** The record as it is published: it names the account, so that it can't become one of another account's edge. */
function editedRecord({ type, data }: Letter, record: unknown, { caller }: FastifyRequest): Uint8Array {
  if (type !== 'record') throw badRequest('"record" is given, but the dead letter is no record.')
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw badRequest(`"record" is ${scalarShown(record)}: an object is needed.`)
  const { accountId } = caller
  const { account_id = accountId, record_id = recordIdIn(data) } = record as Record<string, unknown>
  if (account_id !== accountId) throw badRequest('"record.account_id" is not your account.')
  const bytes = Buffer.from(JSON.stringify({ ...record, record_id, account_id }))
  const checked = parseRecord(bytes)
  if (!checked.ok) throw badRequest(`"record" is not valid: ${checked.problem.msg}`)
  return bytes
}

function recordIdIn(data: Uint8Array): unknown {
  try {
    return (JSON.parse(Buffer.from(data).toString()) as { record_id?: unknown } | null)?.record_id
  } catch {
    return undefined
  }
}
