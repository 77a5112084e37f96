/** What a port of this machine answers, without a NATS client: a server greets with a line about itself. */
import { connect, createServer } from 'node:net'

const greetingTimeoutMs = 1_000
const greetingBytesMax = 64 * 1024

/** The name of the NATS server on a port of the loopback address; `undefined` where none greets. */
export const readServerName = (port: number): Promise<unknown> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let greeting = ''
    const done = (name: unknown) => {
      socket.destroy()
      resolve(name)
    }
    socket.setTimeout(greetingTimeoutMs, () => done(undefined))
    socket.on('error', () => done(undefined))
    socket.on('close', () => done(undefined))
    socket.on('data', (chunk) => {
      greeting += chunk.toString('utf8')
      if (greeting.includes('\n') || greeting.length > greetingBytesMax) done(serverNameIn(greeting))
    })
  })

/** `INFO {"server_id": …, "server_name": …}`, as the NATS client protocol has it. */
function serverNameIn(greeting: string): unknown {
  const [, info] = /^INFO (\{.*\})/.exec(greeting) ?? []
  try {
    return info === undefined ? undefined : JSON.parse(info).server_name
  } catch {
    return undefined
  }
}

/** A port of the loopback address that nobody listens on at this moment. */
export const freePort = (): Promise<number> => listenOnce(0)

export async function isPortFree(port: number): Promise<boolean> {
  try {
    return (await listenOnce(port)) === port
  } catch {
    return false
  }
}

const listenOnce = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
