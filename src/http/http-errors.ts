/** Answers to requests that never reach a route: refused by the HTTP parser, or with a path that can't be decoded. */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, WeirError } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { requestHeadBytesMax } from './bounds/connection-limits.js'
import { nothingThere } from './guard.js'
import { problemBody, problemHeaders } from './problem.js'

/** Node's error codes for connections without a readable request. */
const parserErrors: Readonly<Record<string, readonly [ErrorCode, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    'ERR_HEADERS_TOO_LARGE',
    'Request Header Fields Too Large',
    `The request line and headers are too large: at most ${requestHeadBytesMax} bytes are allowed.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['ERR_REQUEST_TIMEOUT', 'Request Timeout', 'The request did not arrive in time.'],
}
const unreadable = ['ERR_INVALID_REQUEST', 'Bad Request', 'The request is not valid HTTP.'] as const

/** Writes the answer to the socket, because there is no request object, and closes the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const [code, phrase, message] = parserErrors[error.code ?? ''] ?? unreadable
  const problem = new WeirError(code, message)
  const operationId = newId('op_')
  const body = problemBody(problem, operationId)
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${phrase}`,
      ...Object.entries(problemHeaders).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Operation-Id: ${operationId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

/** Answers 404 for a path that is not percent-encoded UTF-8, after the caller has been authenticated. */
export const undecodablePath =
  (
    checkCaller: (request: FastifyRequest) => Promise<unknown>,
    answer: (error: WeirError, request: FastifyRequest, reply: FastifyReply) => void,
  ) =>
  (_error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    reply.header('Operation-Id', request.id)
    checkCaller(request).then(
      () => answer(nothingThere(request), request, reply),
      (refused: WeirError) => answer(refused, request, reply),
    )
  }
