/**
 * The HTTP server of every role. It answers health and metrics itself; the API handles all other requests once it is
 * built. So the health pages are the same in every role, and available while the API starts.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { notFound, WeirError } from '../../ground/core/errors.js'
import { type ListeningServer, type ListenOptions, listenHttp } from '../../ground/core/http-listen.js'
import { newId } from '../../ground/core/ids.js'
import { recent } from '../../ground/core/recent.js'
import {
  type HealthAnswer,
  type HealthSource,
  healthAnswer,
  healthPaths,
} from '../../ground/core/telemetry/health.js'
import { acceptedCoding } from '../exchange/accepted-forms.js'
import { problemBody, problemHeadersOf } from '../exchange/problem.js'

export interface OpsServerOptions extends HealthSource, Pick<ListenOptions, 'http' | 'connectionRefused'> {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The error for all other paths, until `answerWith` is called. */
  readonly otherwise?: () => WeirError
  /** Health and metrics are on another port: here their paths are unknown. */
  readonly isHealthElsewhere?: boolean
}

/** Opens the server. Rejects if the port is taken. */
export async function openOpsServer(options: OpsServerOptions): Promise<ListeningServer> {
  const { host, port, http, connectionRefused, otherwise = nothingElse, isHealthElsewhere } = options
  // Anyone may ask for them, without a key.
  const source = { ...options, metrics: recent(options.metrics) }
  const compressed = lastGzipped()
  let others: RequestListener = (_request, response) => send(response, refusal(otherwise()), true)
  const respond: RequestListener = (request, response) => {
    const { url = '' } = request
    const queryAt = url.indexOf('?')
    const path = queryAt === -1 ? url : url.slice(0, queryAt)
    if (!healthPaths.includes(path)) others(request, response)
    else if (isHealthElsewhere) send(response, refusal(elsewhere), request.method !== 'HEAD')
    else void sendHealth(source, request, response, path, compressed)
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
  { method = '', headers }: IncomingMessage,
  response: ServerResponse,
  path: string,
  compressed: Compress,
): Promise<void> {
  const answer = await healthAnswer(source, method, path).catch((error: unknown) =>
    refusal(error instanceof WeirError ? error : unknownState),
  )
  const coding =
    answer.body.length < compressedCharsMin ? undefined : acceptedCoding(headers['accept-encoding'], ['gzip'])
  const bytes = coding === undefined ? Buffer.from(answer.body) : await compressed(answer.body)
  const encoding = coding === undefined ? {} : { 'content-encoding': coding }
  send(response, { ...answer, headers: { ...answer.headers, ...encoding } }, method !== 'HEAD', bytes)
}

/** A shorter answer is one packet anyhow. */
const compressedCharsMin = 1_400

type Compress = (text: string) => Promise<Buffer<ArrayBuffer>>

/** Compresses texts of which the last one is mostly the next one, too. */
function lastGzipped(): Compress {
  let last: { readonly text: string; readonly bytes: Promise<Buffer<ArrayBuffer>> } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, bytes: gzipped(text) }
    return last.bytes
  }
}

const gzipped = promisify<string, Buffer<ArrayBuffer>>(gzip)

function send(
  response: ServerResponse,
  { status, headers, body }: HealthAnswer,
  withBody: boolean,
  bytes = Buffer.from(body),
): void {
  response.writeHead(status, {
    ...headers,
    'content-length': bytes.length,
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  })
  response.end(withBody ? bytes : undefined)
}

const nothingElse = () => notFound(`Only ${healthPaths.join(', ')} are answered here.`)
const elsewhere = notFound('Health and metrics are not served on this port.')
const unknownState = new WeirError('ERR_INTERNAL', 'The readiness check failed.')

const refusal = (error: WeirError): HealthAnswer => ({
  status: error.status,
  headers: problemHeadersOf(error),
  body: problemBody(error, newId('op_')),
})
