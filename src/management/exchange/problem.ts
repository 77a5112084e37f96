/** Errors as clients see them. */
import { errorCodes, statusOf, type WeirError } from '../../ground/core/errors.js'
import { mapOf, objectOf, Type } from '../../ground/core/schema.js'

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
