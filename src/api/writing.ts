/**
 * Writes as their requests ask for them: for real; with `validate_only` for the answer alone; under an
 * `Idempotency-Key` once, and then told again what they were answered.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest, shown } from '../core/errors.js'
import { idempotencyKeyCharsMax } from '../core/limits.js'
import { type Answer, type RequestKey, requestKey } from '../store/answers.js'
import { type Plan, unchanged } from '../store/plan.js'
import type { ViewState } from '../view/view-state.js'
import { whileKeyLasts } from './caller.js'
import { type ApiContext, json, queryOf } from './context.js'
import { onlyHeader } from './headers.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The plan with what its result is answered with. */
export const answered =
  <T>(plan: Plan<T>, answerOf: (result: T, state: ViewState) => Answer): Plan<Answer> =>
  (state, version, at) => {
    const draft = plan(state, version, at)
    return { ...draft, result: answerOf(draft.result, state) }
  }

/** The route of a write, from what makes its plan. */
export const writing =
  (
    context: ApiContext,
    planFor: (request: FastifyRequest) => Promise<Plan<Answer>> | Plan<Answer>,
  ): Handler =>
  async (request, reply) => {
    const isRehearsal = isRehearsed(request)
    const key = keyOf(request)
    const { accountId, principal } = request.caller
    const { store } = context
    const planned = async () => whileKeyLasts(request.caller, await planFor(request))
    if (isRehearsal) {
      const { once: _, ...answer } = await store.rehearse(accountId, principal, await planned())
      return send(reply, answer)
    }
    if (key === undefined) return send(reply, await store.commit(accountId, principal, await planned()))
    const before = await store.answered(key)
    if (before !== undefined) return send(reply, before)
    return send(reply, await store.commitOnce(accountId, principal, await planned(), key))
  }

/** The route of an action that changes no resource. Under a key it is not done again once it was answered. */
export const acting =
  (context: ApiContext, act: (request: FastifyRequest) => Promise<Answer>): Handler =>
  async (request, reply) => {
    queryOf(request)
    const key = keyOf(request)
    if (key === undefined) return send(reply, await act(request))
    const { accountId, principal } = request.caller
    const before = await context.store.answered(key)
    if (before !== undefined) return send(reply, before)
    const result = await act(request)
    return send(reply, await context.store.commitOnce(accountId, principal, () => unchanged(result), key))
  }

/** Does the request ask for the answer alone? */
export function isRehearsed(request: FastifyRequest): boolean {
  const text = queryOf(request, ['validate_only']).validate_only
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw badRequest(`The query parameter "validate_only" is ${shown(text)}: true or false is allowed.`)
}

/** Space to tilde: what HTTP hands on unchanged. */
const printableAscii = /^[ -~]+$/

/** Of a request that may come again; other methods than POST do the same when they are repeated. */
function keyOf(request: FastifyRequest): RequestKey | undefined {
  const { method, url, body, caller } = request
  const key = method === 'POST' ? onlyHeader(request, 'Idempotency-Key') : undefined
  if (key === undefined) return undefined
  if (key.length > idempotencyKeyCharsMax || !printableAscii.test(key)) {
    throw badRequest(
      `The header "Idempotency-Key" is ${shown(key)}: 1 to ${idempotencyKeyCharsMax} printable ASCII characters are allowed.`,
    )
  }
  const [path] = url.split('?')
  return requestKey(caller.accountId, key, `${method} ${path} ${JSON.stringify(body ?? {})}`)
}

function send(reply: FastifyReply, { status, location, body, once }: Answer): FastifyReply {
  reply.status(status)
  if (location !== undefined) reply.header('Location', location)
  return body === undefined ? reply.send() : reply.type(json).send(JSON.stringify({ ...body, ...once }))
}
