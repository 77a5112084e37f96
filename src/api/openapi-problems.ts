/**
 * What any operation may answer instead of success, for the OpenAPI document. Each status by itself: generators tell
 * answers apart by them, and many take no classes such as 4XX.
 */
import { requestBodyBytesMax } from '../core/limits.js'
import type { TSchema } from '../core/schema.js'

interface Problem {
  readonly name: string
  readonly description: string
  readonly mayRetry?: boolean
}

const problems: Readonly<Record<string, Problem>> = {
  400: {
    name: 'BadRequest',
    description: 'Something in the request is wrong: the message names it and says what is allowed.',
  },
  401: { name: 'Unauthenticated', description: 'The token is missing, or not known.' },
  403: {
    name: 'Forbidden',
    description:
      "A restriction of the account keeps the caller's address out, or the account lacks the right.",
  },
  404: {
    name: 'NotFound',
    description: 'The account has no such resource, in the path or where the body names one.',
  },
  429: {
    name: 'RateLimited',
    description: 'Too many requests of the account, or failed logins of the address.',
    mayRetry: true,
  },
  500: { name: 'InternalError', description: 'Something is wrong in Weir: the log has more.' },
  503: {
    name: 'Unavailable',
    description: 'The store is away, or too busy: nothing is wrong with the request.',
    mayRetry: true,
  },
}

const problemsOfBodies: Readonly<Record<string, Problem>> = {
  413: {
    name: 'BodyTooLarge',
    description: `The body is too large: ${requestBodyBytesMax} bytes where nothing else is said.`,
  },
  415: { name: 'WrongContentType', description: 'The content type of the body is not application/json.' },
}

const operationId = {
  'Operation-Id': { schema: { type: 'string' }, description: 'The log tells more under this id.' },
}

const retryAfter = {
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    description: 'Seconds after which to come again.',
  },
}

/** The components that operations refer to. */
export const problemResponses = (schema: TSchema): Record<string, object> =>
  Object.fromEntries(
    Object.values({ ...problems, ...problemsOfBodies }).map(({ name, description, mayRetry }) => [
      name,
      {
        description,
        headers: { ...operationId, ...(mayRetry ? retryAfter : {}) },
        content: { 'application/json': { schema } },
      },
    ]),
  )

export const problemReferences = (hasBody: boolean): Record<string, object> =>
  Object.fromEntries(
    Object.entries({ ...problems, ...(hasBody ? problemsOfBodies : {}) }).map(([status, { name }]) => [
      status,
      { $ref: `#/components/responses/${name}` },
    ]),
  )
