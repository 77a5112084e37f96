/** Requests that never become one: what the HTTP parser refuses, and paths that can't be decoded. */
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, WeirError } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { nothingThere } from './guard.js'
import { problemBody, problemHeaders } from './problem.js'

/** Node's codes of a connection that brings no readable request. */
const parserErrors: Readonly<Record<string, readonly [ErrorCode, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    'ERR_HEADERS_TOO_LARGE',
    'Request Header Fields Too Large',
    'The request line and headers are too large: together they may have 16384 bytes.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['ERR_REQUEST_TIMEOUT', 'Request Timeout', 'The request did not arrive in time.'],
}
const unreadable = ['ERR_INVALID_REQUEST', 'Bad Request', 'The request is not valid HTTP.'] as const

/** Answers on the bare connection, as there is no request to answer, and closes it. */
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

/** A path that is no percent-encoded UTF-8 leads nowhere, for those who may know. */
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
