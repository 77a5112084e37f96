/** `POST /batch`: several writes, committed together or not at all. */
import type { FastifyInstance } from 'fastify'
import { badRequest, shown } from '../../ground/core/errors.js'
import { type BatchRequest, batchResultsSchema, batchSchema } from '../../words/shape/batch.js'
import { checkOf, schemaRefusal } from '../exchange/body/schema-faults.js'
import { Batch, type Batches } from '../http/batch.js'
import { requestBody } from '../http/context.js'
import { describe } from '../http/openapi/openapi.js'
import { postParameters } from '../http/openapi/write-parameters.js'
import { afterwards, isValidateOnly, keyOf, principalOf, send } from '../http/write-handlers.js'
import type { WriteAnswer } from '../store/change/answers.js'
import { withOutcomeOf } from '../store/change/outcome.js'
import { changesTag } from './parts/tags.js'
import type { WriteContext } from './parts/write-context.js'

const path = '/batch'

export function registerBatches(app: FastifyInstance, context: WriteContext, batches: Batches): void {
  const { store } = context
  const described = describe({
    operationId: 'create_batch',
    summary: 'Make several changes together or not at all',
    description:
      "Each request is checked as if those before it had been carried out. If one is refused, nothing is written, and the message says which. Lockout and policy tests are checked for the whole: what holds in the end counts. A name that one request gives up can't be taken by another of the same batch. What has to fit one message of NATS may be too much, which is answered with 413: send it in parts.",
    atOnce: 'batch',
    tag: changesTag.name,
    path,
    success: [200, batchResultsSchema],
    body: batchSchema,
    conflict: 'The account was changed after the expected version, or another account has such a name.',
    ...postParameters,
  })
  app.post(path, described, async (request, reply) => {
    const validateOnly = isValidateOnly(request)
    const { requests, expected_version } = batchIn(requestBody(request))
    const key = keyOf(request)
    const { caller } = request
    const { accountId } = caller
    const principal = principalOf(request)
    let answers: readonly WriteAnswer[] = []
    const { batch, answer } = await withOutcomeOf(async () => {
      const stage = await store.stage(accountId)
      // Looked for after the stage: a change that an earlier request left is carried out by now, and its answer stored.
      const before = key && (await store.answered(key))
      if (before !== undefined) return { batch: undefined, answer: before }
      const batch = new Batch(caller, principal, stage, expected_version)
      await batches.plan(app, batch, requests)
      const resultOf = (all: readonly WriteAnswer[]): WriteAnswer => {
        answers = all
        return batch.resultOf(all)
      }
      const plans = { plans: batch.plans, resultOf }
      const answer = await (validateOnly
        ? store.rehearsals.ofBatch(accountId, principal, plans)
        : store.commitBatch(accountId, principal, plans, key))
      return { batch, answer }
    })
    if (validateOnly) return send(reply, { ...answer, once: {} })
    await afterwards('a step after it failed', async () => batch?.finish(answers))
    return send(reply, answer)
  })
}

function batchIn(body: Record<string, unknown>): BatchRequest {
  const wrong = checkOf(batchSchema)(body, '')
  if (wrong !== undefined) throw schemaRefusal(wrong, batchSchema, body, '')
  const { requests } = body as BatchRequest
  const names = new Set<string>()
  for (const [index, { method, path, as }] of requests.entries()) {
    const place = `requests[${index}]`
    if (!path.startsWith('/') || path.includes('?') || path.includes('#'))
      throw badRequest(`"${place}.path" is ${shown(path)}: a path from / on, without a query, is needed.`)
    if (as === undefined) continue
    if (method !== 'POST')
      throw badRequest(`"${place}.as" stands for the id of a new resource, which ${method} does not create.`)
    if (names.has(as)) throw badRequest(`"${place}.as" is ${shown(as)}, as of an earlier request.`)
    names.add(as)
  }
  return body as BatchRequest
}
