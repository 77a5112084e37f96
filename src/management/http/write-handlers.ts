/**
 * Handlers of writes: with `validate_only` they return the answer and change nothing; with an `Idempotency-Key` the write
 * is done once and repetitions get the first answer. When to take `validate_only`, and when something else:
 * docs/before-a-change.md.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { badRequest, shown } from '../../ground/core/errors.js'
import { idempotencyKeyCharsMax } from '../../ground/core/limits.js'
import type { ViewState } from '../../words/view/view-state.js'
import { whileKeyLasts } from '../access/caller.js'
import { checkKeyRight } from '../access/key-rights.js'
import { type RequestKey, requestKey, type WriteAnswer } from '../store/change/answers.js'
import type { Principal } from '../store/change/change.js'
import { carriedOut, withOutcomeOf } from '../store/change/outcome.js'
import { type Draft, type Plan, unchanged } from '../store/change/plan.js'
import { onlyHeader } from './caller/headers.js'
import { type ApiContext, isTrueIn, queryOf, sendJson } from './context.js'
import { warningHeader } from './missing-values.js'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The plan, with its result rendered as an answer. */
export const withAnswer =
  <T>(plan: Plan<T>, answerOf: (result: T, state: ViewState) => WriteAnswer): Plan<WriteAnswer> =>
  (state, version, at) => {
    const draft = plan(state, version, at)
    return { ...draft, result: answerOf(draft.result, state) }
  }

interface WriteOptions {
  /** Names of its query parameters, besides `validate_only`. */
  readonly parameters?: readonly string[]
  /** Called with each answer before it is sent, also with that to a repeated request. */
  readonly written?: (request: FastifyRequest, answer: WriteAnswer) => Promise<void> | void
}

/** Handlers that may answer a part of a batch. */
const batchable = new WeakSet<object>()

/** Marks the routes of such handlers. Called before routes are registered. */
export function markBatchable(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (batchable.has(route.handler)) route.config = { ...route.config, isBatchable: true }
  })
}

/** The handler of a write, from a function that makes its plan. */
export function writeHandler(
  context: ApiContext,
  planFor: (request: FastifyRequest) => Promise<Plan<WriteAnswer>> | Plan<WriteAnswer>,
  { parameters = [], written = () => {} }: WriteOptions = {},
): Handler {
  const handler: Handler = async (request, reply) => {
    const finish = async (answer: WriteAnswer) => written(request, answer)
    const { batch } = request
    if (batch !== undefined)
      return send(reply, batch.plan(withWarnings(context, await planFor(request)), finish))
    const validateOnly = isValidateOnly(request, parameters)
    const key = keyOf(request)
    const { accountId } = request.caller
    const principal = principalOf(request)
    const { store } = context
    const planned = async () => withWarnings(context, whileKeyLasts(request.caller, await planFor(request)))
    if (validateOnly) {
      const { once: _, ...answer } = await store.rehearsals.of(accountId, principal, await planned())
      return send(reply, answer)
    }
    const commit = async () =>
      key === undefined
        ? store.commit(accountId, principal, await planned())
        : ((await store.answered(key)) ?? store.commitOnce(accountId, principal, await planned(), key))
    const answer = await withOutcomeOf(commit)
    await afterwards('a step after it failed', () => finish(answer))
    return send(reply, answer)
  }
  batchable.add(handler)
  return handler
}

/** The plan, with warnings about what it stores. */
const withWarnings =
  ({ missingValues }: ApiContext, plan: Plan<WriteAnswer>): Plan<WriteAnswer> =>
  (state, version, at) => {
    const draft = plan(state, version, at)
    const warnings = missingValues.warnings(draft.puts)
    if (warnings.length === 0) return draft
    return {
      ...draft,
      result: { ...draft.result, warnings: [...(draft.result.warnings ?? []), ...warnings] },
    }
  }

/** The plan, with the rows that it would store as its result. */
export const withRows =
  <T>(plan: Plan<T>): Plan<Draft<T>['puts']> =>
  (state, version, at) => {
    const draft = plan(state, version, at)
    return { ...draft, result: draft.puts }
  }

/** The handler of an action that no plan of rows describes. With a key, an answered action is not repeated. */
export const actionHandler =
  (
    context: ApiContext,
    act: (request: FastifyRequest) => Promise<WriteAnswer>,
    /** Names of its query parameters. */
    parameters: readonly string[] = [],
  ): Handler =>
  async (request, reply) => {
    queryOf(request, parameters)
    const key = keyOf(request)
    if (key === undefined) return send(reply, await act(request))
    const { accountId, principal } = request.caller
    const before = await context.store.answered(key)
    if (before !== undefined) return send(reply, before)
    const result = await act(request)
    const kept = await afterwards('its answer could not be stored under the "Idempotency-Key"', () =>
      context.store.commitOnce(accountId, principal, () => unchanged(result), key),
    )
    return send(reply, kept)
  }

/** The result of a step after the work of a request. `failed`: its failure as a clause. */
export async function afterwards<T>(failed: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw carriedOut(failed, error)
  }
}

/** The names of the query parameters of every write. */
export const writeParameterNames = ['validate_only', 'skip_tests'] as const

/** Is the request only to be checked? */
export function isValidateOnly(request: FastifyRequest, others: readonly string[] = []): boolean {
  return isTrueIn(queryOf(request, [...writeParameterNames, ...others]), 'validate_only')
}

/** The author of a write, who may have asked for it although policy tests would fail. */
export function principalOf({ caller, query }: FastifyRequest): Principal {
  const { principal, rights } = caller
  if (!isTrueIn(query as { readonly skip_tests?: string }, 'skip_tests')) return principal
  checkKeyRight({ id: principal.credentialId, rights }, 'skip_tests')
  return { ...principal, skipsTests: true }
}

/** Space to tilde: characters that HTTP passes on unchanged. */
const printableAscii = /^[ -~]+$/

/** The idempotency key of a POST; repeating other methods has no further effect anyway. */
export function keyOf(request: FastifyRequest): RequestKey | undefined {
  const { method, url, body, caller } = request
  const key = method === 'POST' ? onlyHeader(request, 'Idempotency-Key') : undefined
  if (key === undefined) return undefined
  if (key.length > idempotencyKeyCharsMax || !printableAscii.test(key)) {
    throw badRequest(
      `The header "Idempotency-Key" is ${shown(key)}: 1 to ${idempotencyKeyCharsMax} printable ASCII characters are allowed.`,
    )
  }
  const [path] = url.split('?')
  return requestKey(caller.accountId, key, `${method} ${path}${asked(request)} ${JSON.stringify(body ?? {})}`)
}

/** The query parameters that decide what is written. */
function asked({ query }: FastifyRequest): string {
  const { validate_only: _, ...others } = query as Readonly<Record<string, unknown>>
  return Object.keys(others).length === 0 ? '' : `?${JSON.stringify(others)}`
}

export function send(
  reply: FastifyReply,
  { status, location, body, once, warnings }: WriteAnswer,
): FastifyReply {
  reply.status(status)
  if (warnings !== undefined) reply.header(warningHeader, warnings.join(' '))
  if (location !== undefined) reply.header('Location', location)
  return body === undefined ? reply.send() : sendJson(reply, { ...body, ...once })
}

/** Steps of a kind besides storing a new resource. */
export interface CreationHooks {
  /** Throws a `WeirError` if it can't be done. */
  before(values: object): Promise<void>
  /** Runs after the resource is stored, also if the request is repeated, so it must not repeat an earlier effect. */
  after(accountId: string, created: object): Promise<void>
}
