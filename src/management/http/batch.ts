/**
 * A batch: writes of one request that are committed together or not at all.
 *
 * Each write is a request of its own that the API sends to itself, so that it has the same checks, rights and messages as
 * alone. Its handler gives its plan to the batch instead of committing it, and later ones find what it would write.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { randomToken } from '../../ground/core/clock.js'
import { badRequest, WeirError } from '../../ground/core/errors.js'
import { mapTexts } from '../../ground/core/json-object.js'
import type { BatchPart } from '../../words/shape/batch.js'
import type { ViewState } from '../../words/view/view-state.js'
import { type Caller, whileKeyLasts } from '../access/caller.js'
import type { WriteAnswer } from '../store/change/answers.js'
import type { Principal } from '../store/change/change.js'
import { isEmpty, type Plan } from '../store/change/plan.js'
import type { Stage } from '../store/stage.js'
import { jsonType } from './answer-headers.js'
import { onlyHeader } from './caller/headers.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** May its requests be parts of a batch? */
    isBatchable?: boolean
  }
}

/** Runs with the answer once the batch is committed. */
type Finish = (answer: WriteAnswer) => Promise<void>

export class Batch {
  readonly caller: Caller
  readonly #principal: Principal
  readonly #stage: Stage
  readonly plans: Plan<WriteAnswer>[] = []
  readonly #finishes: Finish[] = []
  readonly #expectedVersion: number
  /** Of the last change, with those of the parts that are planned. */
  #version = 0
  /** Ids by what stands for them. */
  readonly #ids = new Map<string, string>()
  /** What is wrong with a part. */
  fault: WeirError | undefined

  /** `expectedVersion`: of the last change that may have been made before. */
  constructor(
    caller: Caller,
    principal: Principal,
    stage: Stage,
    expectedVersion = Number.POSITIVE_INFINITY,
  ) {
    this.caller = caller
    this.#expectedVersion = expectedVersion
    this.#principal = principal
    this.#stage = stage
    this.#begin(stage.state)
  }

  /** The state that the parts so far leave. */
  get state(): ViewState {
    return this.#stage.state
  }

  /** Takes the plan of a part; returns its answer as it is by now. */
  plan(plan: Plan<WriteAnswer>, finish: Finish = async () => {}): WriteAnswer {
    const place = `requests[${this.plans.length}]`
    const known = whileKeyLasts(this.caller, placedAt(place, plan))
    const placed = this.#following(this.plans.length === 0 ? this.#first(known) : known)
    const answer = this.#stage.plan(this.#principal, placed)
    this.plans.push(placed)
    this.#finishes.push(finish)
    return answer
  }

  /** The first plan sees the account as it was before. */
  #first<T>(plan: Plan<T>): Plan<T> {
    return (state, version, at) => {
      this.#begin(state)
      return plan(state, version, at)
    }
  }

  /** Throws if the account was changed since. */
  #begin(state: ViewState): void {
    this.#version = state.accounts.get(this.caller.accountId)?.stored ?? 0
    if (this.#version > this.#expectedVersion)
      throw new WeirError(
        'ERR_DRAFT_OUTDATED',
        `The account was changed by version ${this.#version}, after version ${this.#expectedVersion}, which this batch expects to be the last: read it again.`,
      )
  }

  #following<T>(plan: Plan<T>): Plan<T> {
    return (state, version, at) => {
      const draft = plan(state, version, at)
      if (!isEmpty(draft)) this.#version = version
      return draft
    }
  }

  /** The part with ids in place of what stands for them. */
  named({ method, path, body }: BatchPart): BatchPart {
    const idOf = (text: string): string => this.#ids.get(text) ?? text
    const segments = path.split('/').map((segment) => encodeURIComponent(idOf(decoded(segment))))
    return { method, path: segments.join('/'), ...(body && { body: mapTexts(body, idOf) }) }
  }

  learn(name: string, id: string): void {
    this.#ids.set(name, id)
  }

  /** The answer to the whole, from those to its parts. */
  readonly resultOf = (answers: readonly WriteAnswer[]): WriteAnswer => {
    const results = answers.map(({ status, body, once }) => ({ status, id: idIn(body), ...hidden(once) }))
    const once = answers.map(({ once }, index) => ({ ...results[index], ...once }))
    const warnings = answers.flatMap(({ warnings = [] }, index) =>
      warnings.map((warning) => `requests[${index}]: ${warning}`),
    )
    const body = { results, version: this.#version }
    return { status: 200, body, once: { results: once }, ...cutWarnings(warnings) }
  }

  /** `answers`: to the parts, as they were committed; none if an earlier request did it. */
  async finish(answers: readonly WriteAnswer[]): Promise<void> {
    for (const [index, answer] of answers.entries()) await this.#finishes[index]!(answer)
  }
}

/** Warnings are in a header, which has a bound. */
const warningsMax = 10

function cutWarnings(warnings: readonly string[]): Pick<WriteAnswer, 'warnings'> {
  if (warnings.length === 0) return {}
  const more = warnings.length - warningsMax
  return {
    warnings: more > 0 ? [...warnings.slice(0, warningsMax), `There are ${more} more warnings.`] : warnings,
  }
}

/** One-time members, in an answer that is given again. */
const hidden = (once: object | undefined): object =>
  Object.fromEntries(Object.keys(once ?? {}).map((name) => [name, null]))

const idIn = (body: object | undefined): string | null =>
  (body as { readonly id?: string } | undefined)?.id ?? null

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw badRequest(`"path" has a segment that can't be decoded: ${segment}.`)
  }
}

/** The error with the part that it is about. */
const inPart = (place: string, error: WeirError): WeirError =>
  new WeirError(error.code, `${place}: ${error.message}`, {
    details: { ...error.details, request: place },
    places: error.places,
    ...(error.retryAfterSeconds !== undefined && { retryAfterSeconds: error.retryAfterSeconds }),
    cause: error.cause,
  })

const placedAt =
  <T>(place: string, plan: Plan<T>): Plan<T> =>
  (...planning) => {
    try {
      return plan(...planning)
    } catch (error) {
      throw error instanceof WeirError ? inPart(place, error) : error
    }
  }

/** Known to this process alone, which sends it to itself. */
const header = 'weir-batch'
const secretBytes = 32

/** The batches whose parts are being planned. */
export class Batches {
  readonly #open = new Map<string, Batch>()

  /** The batch that the request is a part of, if it is. */
  of(request: FastifyRequest): Batch | undefined {
    if (this.#open.size === 0) return undefined
    const secret = onlyHeader(request, header)
    return secret === undefined ? undefined : this.#open.get(secret)
  }

  /** Plans the parts one after the other; throws what the first one that is refused would be told. */
  async plan(app: FastifyInstance, batch: Batch, parts: readonly BatchPart[]): Promise<void> {
    const secret = randomToken(secretBytes)
    this.#open.set(secret, batch)
    try {
      for (const [index, part] of parts.entries())
        await planPart(app, batch, `requests[${index}]`, part, secret)
    } finally {
      this.#open.delete(secret)
    }
  }
}

async function planPart(
  app: FastifyInstance,
  batch: Batch,
  place: string,
  part: BatchPart,
  secret: string,
): Promise<void> {
  const { method, path: url, body } = batch.named(part)
  const content = body && { payload: JSON.stringify(body), headers: { 'content-type': jsonType } }
  const planned = batch.plans.length
  const answer = await app.inject({
    method,
    url,
    ...content,
    headers: { ...content?.headers, [header]: secret },
  })
  const { fault } = batch
  if (fault !== undefined) throw fault.message.startsWith(place) ? fault : inPart(place, fault)
  if (batch.plans.length === planned) throw new Error(`${method} ${url} gave no plan.`)
  if (part.as !== undefined) batch.learn(part.as, String((answer.json() as { id?: string }).id))
}
