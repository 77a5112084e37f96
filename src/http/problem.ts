/** Renders errors as clients see them. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  ClientGone,
  type ErrorCode,
  errorCodes,
  statusOf,
  TimeLimitPassed,
  TooManyAtOnce,
  WeirError,
} from '../core/errors.js'
import { mapOf, objectOf, Type } from '../core/schema.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'

export const problemSchema = objectOf(
  {
    error_code: Type.Enum([...errorCodes], { title: 'ErrorCode' }),
    status_code: Type.Integer({ minimum: 400, maximum: 599 }),
    msg: Type.String({ description: 'One sentence that names the field, the value and what is allowed.' }),
    details: mapOf(Type.String(), {
      description:
        '`operation_id`, and more details for some errors. Of an expression that is wrong, by its place: the sentence, and with `.offset`, `.length`, `.line` and `.column` behind the place, the characters to mark.',
    }),
  },
  { title: 'Problem', description: 'An error.' },
)

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

/** `details` are texts: the contract says so. */
const placeDetails = ({ message, places }: WeirError): Record<string, string> =>
  Object.fromEntries(
    places.flatMap(({ place, offset, length, line, column }) => [
      [place, message],
      ...Object.entries({ offset, length, line, column }).map(([name, value]) => [
        `${place}.${name}`,
        String(value),
      ]),
    ]),
  )

export const problemBody = (error: WeirError, operationId: string): string =>
  JSON.stringify({
    error_code: error.code,
    status_code: statusOf(error.code),
    msg: error.message,
    details: { operation_id: operationId, ...placeDetails(error), ...error.details },
  })

/** Headers of every error, also of those that no route or hook has handled. */
export const problemHeaders = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

/** The headers of an error, including those that depend on its kind. */
export function problemHeadersOf(error: WeirError): Readonly<Record<string, string>> {
  const { status, retryAfterSeconds } = error
  return {
    ...problemHeaders,
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
  }
}

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
    reply.status(error.status).headers(problemHeadersOf(error)).send(problemBody(error, request.id))
  }
