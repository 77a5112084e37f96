/** What a role without the API tells whoever watches over it: is it alive, is it ready, its metrics. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Failing } from './child.js'
import { type Listening, listenHttp } from './core/http-listen.js'
import { metricsContentType } from './core/metrics.js'

export interface OpsServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Parts that don't work; empty when the role is ready. */
  readonly failing: () => Failing | Promise<Failing>
  /** Prometheus' text. */
  readonly metrics: () => Promise<string>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Opens the server. Rejects where the port is taken. */
export const openOpsServer = (options: OpsServerOptions): Promise<Listening> =>
  listenHttp(options.host, options.port, (request, response) => {
    void respond(options, request, response)
  })

async function respond(
  options: OpsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, type, body } = await answer(options, request)
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function answer(options: OpsServerOptions, { method, url = '' }: IncomingMessage): Promise<Answer> {
  const path = url.split('?')[0]
  try {
    if (method !== 'GET' && method !== 'HEAD') return json(405, { status: 'GET and HEAD are answered here.' })
    if (path === '/healthz') return json(200, { status: 'alive' })
    if (path === '/readyz') return readiness(await options.failing())
    if (path === '/metrics') return { status: 200, type: metricsContentType, body: await options.metrics() }
    return json(404, { status: 'Answered here: /healthz, /readyz, /metrics.' })
  } catch {
    return json(500, { status: 'The state can not be told.' })
  }
}

/** The answer of `/readyz`: 503 names the parts that fail and why. */
const readiness = (failing: Failing): Answer =>
  Object.keys(failing).length === 0
    ? json(200, { status: 'ready' })
    : json(503, { status: 'unavailable', failing })

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})
