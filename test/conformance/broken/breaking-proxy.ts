/** A proxy that breaks a promise: it changes what is asked, or what is answered, as a test says. */
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Break {
  readonly ask?: (sent: Sent) => Sent
  readonly answer?: (received: Received, sent: Sent) => Received
}

interface BreakingProxy {
  readonly url: string
  /** What is broken now; nothing at first. */
  breaks: Break
}

interface Test {
  teardown(close: () => unknown): void
}

/** Without a server behind it, every answer is an empty object. */
export async function openBreakingProxy(t: Test, upstream?: string): Promise<BreakingProxy> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = request
    // Latin-1 keeps every byte, also of what is compressed.
    const original = { method, path, headers, body: Buffer.concat(chunks).toString('latin1') }
    const { ask = (sent: Sent) => sent, answer = (received: Received) => received } = opened.breaks
    try {
      const sent = ask(original)
      const received = answer(upstream === undefined ? empty : await forwarded(upstream, sent), sent)
      const { 'transfer-encoding': _, 'content-length': __, ...rest } = received.headers
      response.writeHead(received.status, given(rest)).end(Buffer.from(received.text, 'latin1'))
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const opened: BreakingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breaks: {},
  }
  return opened
}

/** Headers that a break took away are undefined. */
const given = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))

const empty: Received = { status: 200, headers: { 'content-type': 'application/json' }, text: '{}' }

function forwarded(upstream: string, { method, path, headers, body }: Sent): Promise<Received> {
  const bytes = Buffer.from(body, 'latin1')
  // Compressed answers could not be changed.
  const {
    host: _,
    'transfer-encoding': __,
    'accept-encoding': ___,
    'content-length': length,
    ...rest
  } = headers
  const sized = bytes.length > 0 || length !== undefined ? { 'content-length': String(bytes.length) } : {}
  return new Promise((resolve, reject) => {
    const request = send(
      `${upstream}${path}`,
      { method, headers: given({ ...rest, ...sized }) },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString('latin1'),
          }),
        )
      },
    )
    request.on('error', reject)
    request.end(bytes)
  })
}
