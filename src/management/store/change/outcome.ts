/**
 * The outcome of the change of a request that failed. Every answer speaks of its own request: `committed`, and nothing
 * can undo that; `not_written`, and nothing of it can still appear; or `unknown`, if NATS did not answer to the commit.
 * A client reads it in `details.outcome`.
 */
import { TooManyAtOnce, unavailable, WeirError } from '../../../ground/core/errors.js'
import { isStreamMissing } from '../../../ground/nats/retry.js'

export type WriteOutcome = 'committed' | 'not_written' | 'unknown'

export const outcomeOf = (error: unknown): WriteOutcome | undefined =>
  error instanceof WeirError ? (error.details['outcome'] as WriteOutcome | undefined) : undefined

const withOutcome = (outcome: WriteOutcome, message: string, cause: unknown): WeirError =>
  unavailable(message, cause, { outcome })

/** The change is in the head of its account, and carrying it out failed. */
export const committed = (cause: unknown): WeirError =>
  withOutcome(
    'committed',
    'The change is committed and will take effect, but part of the store is unavailable right now.',
    cause,
  )

/** The request did its work, and a step behind that failed. `step`: that step as a clause. */
export const carriedOut = (step: string, cause: unknown): WeirError =>
  withOutcome('committed', `The request was carried out, but ${step}. Do not repeat it.`, cause)

/** `reason`: a clause. */
export const unknown = (reason: string, cause?: unknown): WeirError =>
  withOutcome(
    'unknown',
    `The outcome of this change is unknown because ${reason}. Read the resource before trying again.`,
    cause,
  )

const storeAway = 'Part of the store is unavailable right now.'

/**
 * The failure of a request of which nothing was written. What the error says of another change, or of a part of this
 * one, must not be taken for the answer to this one. Errors that the client can correct stay as they are, and so does what
 * a plan throws for its caller.
 */
export function notWritten(error: unknown): unknown {
  if (!(error instanceof WeirError) || error.status < 500) return error
  if (error instanceof TooManyAtOnce || outcomeOf(error) === 'not_written') return error
  const reason = outcomeOf(error) === undefined ? error.message : storeAway
  const text = /othing was (written|changed)/.test(reason) ? reason : `${reason} Nothing was written.`
  return withOutcome('not_written', text, error.cause ?? error)
}

/**
 * The result of the whole work of a request that makes one change. An error without an outcome did not come from the
 * commit of the change, so nothing was written.
 */
export async function withOutcomeOf<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw outcomeOf(error) === undefined ? notWritten(error) : error
  }
}

/** The result of calls of the store before the commit of a change. */
export async function beforeCommit<T>(calls: () => Promise<T>): Promise<T> {
  try {
    return await calls()
  } catch (error) {
    throw refusedBy(error)
  }
}

/** The failure of a call of the store that wrote nothing. */
export const refusedBy = (error: unknown): unknown =>
  notWritten(error instanceof WeirError ? error : unavailable(storeAway, error))

/** Is a bucket missing? What it held is then lost, unless ClickHouse has it. */
export const isBucketLost = (error: unknown): boolean =>
  isStreamMissing(error) || (error instanceof Error && error.cause !== undefined && isBucketLost(error.cause))
