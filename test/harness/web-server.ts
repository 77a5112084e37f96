/** A web server on loopback that keeps the requests it gets, and answers as a test says. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { fixturePem } from './certificates.js'

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Uncompressed. */
  readonly body: string
}

interface WebServer {
  readonly port: number
  /** `http://127.0.0.1:…` */
  readonly url: string
  readonly requests: Seen[]
  answer: (seen: Seen, response: ServerResponse) => void
}

interface Test {
  teardown(close: () => unknown): void
}

interface WebServerOptions {
  readonly tls?: true
  readonly host?: string
  readonly port?: number
}

export async function openWebServer(
  t: Test,
  answer: WebServer['answer'] = (_, response) => response.writeHead(200).end('ok'),
  { tls, host = '127.0.0.1', port = 0 }: WebServerOptions = {},
): Promise<WebServer> {
  const requests: Seen[] = []
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const bytes = Buffer.concat(chunks)
    const { method = '', url = '', headers } = request
    const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
    const seen = { method, path: url, headers, body }
    requests.push(seen)
    opened.answer(seen, response)
  }
  const server = tls
    ? createTlsServer({ cert: fixturePem('ecdsa'), key: fixturePem('ecdsa.key') }, listener)
    : createServer(listener)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const bound = (server.address() as AddressInfo).port
  const opened: WebServer = {
    port: bound,
    url: `http${tls ? 's' : ''}://${host}:${bound}`,
    requests,
    answer,
  }
  return opened
}
