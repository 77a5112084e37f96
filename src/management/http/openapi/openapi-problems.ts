/**
 * Error responses that any operation may have, for the OpenAPI document. Each status is listed, because many generators
 * don't support classes such as 4XX.
 */
import { requestBodyBytesMax } from '../../../ground/core/limits.js'
import type { TSchema } from '../../../ground/core/schema.js'
import { requestHeadBytesMax } from '../../exchange/connection-limits.js'

interface Problem {
  readonly name: string
  readonly description: string
  readonly mayRetry?: boolean
}

const problems: Readonly<Record<string, Problem>> = {
  400: {
    name: 'BadRequest',
    description: 'Something in the request is wrong; the message names it and says what is allowed.',
  },
  401: { name: 'Unauthenticated', description: 'The token is missing or unknown, or its key has expired.' },
  403: {
    name: 'Forbidden',
    description:
      "A restriction of the account refuses the caller's address, or the key or the account lacks the right.",
  },
  404: {
    name: 'NotFound',
    description: 'The account has no resource with an id in the path or the body.',
  },
  429: {
    name: 'RateLimited',
    description: 'Too many requests from the account, or failed logins from the address.',
    mayRetry: true,
  },
  431: {
    name: 'HeadersTooLarge',
    description: `The request line and headers are too large: ${requestHeadBytesMax} bytes are allowed.`,
  },
  500: { name: 'InternalError', description: 'Internal error; search the log for the operation id.' },
  503: {
    name: 'Unavailable',
    description:
      'The store is unavailable, or too many requests of this kind, or with a large body, are being served; nothing is wrong with the request.',
    mayRetry: true,
  },
  504: {
    name: 'TimeLimitPassed',
    description:
      'Reading the logs took longer than one request may: ask for a shorter time, or again when the machine is less busy.',
    mayRetry: true,
  },
}

const problemsOfBodies: Readonly<Record<string, Problem>> = {
  413: {
    name: 'BodyTooLarge',
    description: `The body is too large: ${requestBodyBytesMax} bytes are allowed unless the operation says otherwise.`,
  },
  415: {
    name: 'WrongContentType',
    description: 'The content type of the body is not one that the operation takes.',
  },
}

const operationId = {
  'Operation-Id': { schema: { type: 'string' }, description: 'Identifies the request in the log.' },
}

const retryAfter = {
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    description: 'Seconds to wait before retrying.',
  },
}

/** The response components that operations refer to. */
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

/** The same as responses of a route, with bodies that a protocol defines. */
export const problemsIn = (body: TSchema): Record<string, object> =>
  Object.fromEntries(
    Object.entries({ ...problems, ...problemsOfBodies }).map(([status, { description, mayRetry }]) => {
      const headers = Object.entries({ ...operationId, ...(mayRetry ? retryAfter : {}) })
      const schemas = headers.map(([name, { schema, ...about }]) => [name, { ...schema, ...about }])
      return [status, { description, headers: Object.fromEntries(schemas), ...body }]
    }),
  )

export const problemReferences = (hasBody: boolean): Record<string, object> =>
  Object.fromEntries(
    Object.entries({ ...problems, ...(hasBody ? problemsOfBodies : {}) }).map(([status, { name }]) => [
      status,
      { $ref: `#/components/responses/${name}` },
    ]),
  )
