/** The HTTP server of a role without the API: is it alive, is it ready, its metrics. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { problemBody, problemHeadersOf } from './api/problem.js'
import { notFound, WeirError } from './core/errors.js'
import { type HealthAnswer, type HealthSource, healthAnswer, healthPaths } from './core/health.js'
import { type Listening, listenHttp } from './core/http-listen.js'
import { newId } from './core/ids.js'

export interface OpsServerOptions extends HealthSource {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** Opens the server. Rejects where the port is taken. */
export const openOpsServer = (options: OpsServerOptions): Promise<Listening> =>
  listenHttp(options.host, options.port, (request, response) => {
    void respond(options, request, response)
  })

async function respond(
  source: HealthSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, headers, body } = await answer(source, request)
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function answer(source: HealthSource, request: IncomingMessage): Promise<HealthAnswer> {
  const { method = '', url = '' } = request
  const path = url.split('?')[0]!
  try {
    return (await healthAnswer(source, method, path)) ?? refusal(nothingElse)
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
