/**
 * The HTTP server of every role. It answers health and metrics itself; the API handles all other requests once it is
 * built. So the health pages are the same in every role, and available while the API starts.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { notFound, WeirError } from '../core/errors.js'
import { type ListeningServer, type ListenOptions, listenHttp } from '../core/http-listen.js'
import { newId } from '../core/ids.js'
import { type HealthAnswer, type HealthSource, healthAnswer, healthPaths } from '../core/telemetry/health.js'
import { problemBody, problemHeadersOf } from '../http/problem.js'

export interface OpsServerOptions extends HealthSource, Pick<ListenOptions, 'http' | 'connectionRefused'> {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The error for all other paths, until `answerWith` is called. */
  readonly otherwise?: WeirError
}

/** Opens the server. Rejects if the port is taken. */
export async function openOpsServer(options: OpsServerOptions): Promise<ListeningServer> {
  const { host, port, http, connectionRefused, otherwise = nothingElse } = options
  let others: RequestListener = (_request, response) => send(response, refusal(otherwise), true)
  const respond: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?')[0]!
    if (healthPaths.includes(path)) void sendHealth(options, request, response, path)
    else others(request, response)
  }
  const listening = await listenHttp(host, port, respond, { http, connectionRefused })
  return {
    ...listening,
    answerWith: (next) => {
      others = next
    },
  }
}

async function sendHealth(
  source: HealthSource,
  { method = '' }: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const answer = await healthAnswer(source, method, path).catch((error: unknown) =>
    refusal(error instanceof WeirError ? error : unknownState),
  )
  send(response, answer, method !== 'HEAD')
}

function send(response: ServerResponse, { status, headers, body }: HealthAnswer, withBody: boolean): void {
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  })
  response.end(withBody ? body : undefined)
}

const nothingElse = notFound(`Only ${healthPaths.join(', ')} are answered here.`)
const unknownState = new WeirError('ERR_INTERNAL', 'The readiness check failed.')

const refusal = (error: WeirError): HealthAnswer => ({
  status: error.status,
  headers: problemHeadersOf(error),
  body: problemBody(error, newId('op_')),
})
