/** Failed requests: the error that the client sees, and the entry of the log. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  ClientGone,
  type ErrorCode,
  TimeLimitPassed,
  TooManyAtOnce,
  WeirError,
} from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { problemBody, problemHeadersOf } from '../exchange/problem.js'

/** Fastify's own errors, by their codes. */
const frameworkErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'ERR_CONTENT_TYPE',
    'The body must have the content type application/json.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_TYPE: [
    'ERR_CONTENT_TYPE',
    'The content type is malformed: application/json is needed.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'ERR_INVALID_REQUEST',
    'The length of the body differs from the header "Content-Length".',
  ],
}

function asWeirError(error: FastifyError | WeirError, bodyBytesMax: number): WeirError {
  if (error instanceof WeirError) return error
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body is too large: at most ${bodyBytesMax} bytes are allowed.`
    return new WeirError('ERR_BODY_TOO_LARGE', message, { cause: error })
  }
  const known = frameworkErrors[error.code]
  if (known !== undefined) return new WeirError(known[0], known[1], { cause: error })
  return new WeirError('ERR_INTERNAL', 'Internal error. Search the log for the operation id.', {
    cause: error,
  })
}

/** Never reaches the client, whose connection is closed; it gives the request a status in the metrics. */
const incomplete = (): WeirError =>
  new WeirError('ERR_REQUEST_TIMEOUT', 'The connection ended before the request was complete.')

/** Logs what is no fault of the client. */
export function reportFault(
  occurrences: Pick<Occurrences, 'requestFailed' | 'requestUnavailable'>,
  error: WeirError,
  { id, routeOptions }: FastifyRequest,
): void {
  // A refusal because of a bound is counted by the code that refuses, and is no fault.
  if (error.status < 500 || error instanceof TooManyAtOnce || error instanceof TimeLimitPassed) return
  const fields = { operation_id: id, path: routeOptions.url ?? '', err: error.cause ?? error }
  if (error.code === 'ERR_INTERNAL') occurrences.requestFailed(fields)
  else occurrences.requestUnavailable(fields)
}

/** The error that the client sees, after it is reported. The cause of a 5xx is only logged. */
export function refusalOf(
  occurrences: Occurrences,
  thrown: FastifyError | WeirError,
  request: FastifyRequest,
): WeirError {
  const isAborted = thrown === request.raw.errored || thrown instanceof ClientGone
  const error = isAborted ? incomplete() : asWeirError(thrown, request.routeOptions.bodyLimit)
  if (isAborted)
    occurrences.requestAborted({ operation_id: request.id, path: request.routeOptions.url ?? '' })
  reportFault(occurrences, error, request)
  return error
}

export const answerProblem =
  (occurrences: Occurrences) =>
  (thrown: FastifyError | WeirError, request: FastifyRequest, reply: FastifyReply): void => {
    const error = refusalOf(occurrences, thrown, request)
    if (request.batch !== undefined) request.batch.fault = error
    reply.status(error.status).headers(problemHeadersOf(error)).send(problemBody(error, request.id))
  }
