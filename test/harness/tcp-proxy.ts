/** A proxy in front of a server of NATS, for tests that look at what a process sends, or hold it. */
import { connect, createServer, type Socket } from 'node:net'

interface TcpProxy {
  readonly url: string
  close(): void
}

/** `forward` passes on what a client sends, `backward` what the server sends; without it, that is passed on as it is. */
export async function startTcpProxy(
  natsUrl: string,
  forward: (client: Socket, upstream: Socket) => void,
  backward: (upstream: Socket, client: Socket) => void = (upstream, client) => void upstream.pipe(client),
): Promise<TcpProxy> {
  const { hostname, port } = new URL(natsUrl)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    backward(upstream, client)
    forward(client, upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const own = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `nats://127.0.0.1:${own}`,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
