/** Small HTTP servers of our own, beside the management API's. */
import { createServer, type RequestListener } from 'node:http'

export interface Listening {
  readonly url: string
  /** Ends connections that are open, too. */
  close(): Promise<void>
}

/** Opens a server; 0 is any free port. Rejects where the port is taken. */
export async function listenHttp(host: string, port: number, answer: RequestListener): Promise<Listening> {
  const server = createServer(answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })
  const address = server.address()
  const opened = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${opened}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
