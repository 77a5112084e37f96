/** A span for each request to the API that is traced; what it waits for is below it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  contextOfRequest,
  inSpan,
  type Span,
  type TraceContext,
  tracing,
} from '../../ground/core/telemetry/tracing.js'

/** Where messages that a request publishes belong: to its span, or as its client says, if it has none. */
export const traceOf = ({ headers }: FastifyRequest): TraceContext | undefined =>
  tracing()?.current()?.context ?? contextOfRequest(headers)

export function traceRequests(app: FastifyInstance): void {
  if (tracing() === undefined) return
  const spans = new WeakMap<FastifyRequest, Span>()
  app.addHook('onRequest', (request, reply, done) => {
    const span = begin(request)
    if (span === undefined) return done()
    spans.set(request, span)
    // As in `answer-counter.ts`: an answer is closed once.
    reply.raw.on('close', () => end(span, request, reply))
    inSpan(span, done)
  })
  // A body is read in the context of its connection.
  app.addHook('preValidation', (request, _reply, done) => inSpan(spans.get(request), done))
}

/** The pattern of the path, not the path: that may hold what a client sent by mistake. */
function begin({ method, id, headers, routeOptions: { url = 'none' } }: FastifyRequest): Span | undefined {
  const attributes = { 'http.request.method': method, 'http.route': url, 'weir.operation_id': id }
  const parent = contextOfRequest(headers)
  return tracing()?.begin(`${method} ${url}`, { kind: 'server', parent, attributes })
}

function end(span: Span, { caller }: FastifyRequest, { raw, statusCode }: FastifyReply): void {
  span.set({
    'http.response.status_code': statusCode,
    // An open page has none.
    ...(caller?.accountId !== undefined && { 'weir.account.id': caller.accountId }),
  })
  if (!raw.writableFinished) span.end('aborted')
  else span.end(statusCode >= 500 ? String(statusCode) : undefined)
}
