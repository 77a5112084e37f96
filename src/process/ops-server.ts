/** The HTTP server of a role without the API, and of the API while it starts: is it alive, is it ready, its metrics. */
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import { problemBody, problemHeadersOf } from '../api/problem.js'
import { notFound, WeirError } from '../core/errors.js'
import { type HealthAnswer, type HealthSource, healthAnswer, healthPaths } from '../core/health.js'
import { type Listening, listenHttp } from '../core/http-listen.js'
import { newId } from '../core/ids.js'

export interface OpsServerOptions extends HealthSource {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The answer to all other paths. */
  readonly otherwise?: WeirError
  readonly http?: ServerOptions
}

/** Opens the server. Rejects where the port is taken. */
export const openOpsServer = (options: OpsServerOptions): Promise<Listening> => {
  const { host, port, http } = options
  return listenHttp(host, port, (request, response) => void respond(options, request, response), http)
}

async function respond(
  options: OpsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, headers, body } = await answer(options, request)
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function answer(options: OpsServerOptions, request: IncomingMessage): Promise<HealthAnswer> {
  const { method = '', url = '' } = request
  const path = url.split('?')[0]!
  try {
    return (await healthAnswer(options, method, path)) ?? refusal(options.otherwise ?? nothingElse)
  } catch (error) {
    return refusal(error instanceof WeirError ? error : undecided)
  }
}

const nothingElse = notFound(`Only ${healthPaths.join(', ')} are answered here.`)
const undecided = new WeirError('ERR_INTERNAL', 'The readiness check failed.')

const refusal = (error: WeirError): HealthAnswer => ({
  status: error.status,
  headers: problemHeadersOf(error),
  body: problemBody(error, newId('op_')),
})
