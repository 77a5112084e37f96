/** HTTP servers: each listens from the moment it is opened, and what answers may change later. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { after } from './clock.js'

export interface Listening {
  readonly url: string
  readonly server: Server
  /** From now on `answer` gets the requests. */
  answerWith(answer: RequestListener): void
  /** Requests under way may take `patienceMs`; then every connection is ended. */
  close(patienceMs?: number): Promise<void>
}

/** Opens a server; 0 is any free port. Rejects where the port is taken. */
export async function listenHttp(
  host: string,
  port: number,
  answer: RequestListener,
  options: ServerOptions = {},
): Promise<Listening> {
  const server = createServer(options, answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  const address = server.address()
  const opened = typeof address === 'object' && address !== null ? address.port : port
  let current = answer
  return {
    url: urlOf(host, opened),
    server,
    answerWith: (next) => {
      server.off('request', current)
      server.on('request', next)
      current = next
    },
    close: (patienceMs = 0) => close(server, patienceMs),
  }
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

async function close(server: Server, patienceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  if (patienceMs === 0) server.closeAllConnections()
  const cut = after(patienceMs, () => server.closeAllConnections())
  await closed
  cut.stop()
}
