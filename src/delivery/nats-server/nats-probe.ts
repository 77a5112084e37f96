/** Probes ports of this machine without a NATS client: a NATS server greets with a line about itself. */
import { spawnSync } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { firstWith, supports } from '../../ground/nats/server-versions.js'

const greetingTimeoutMs = 1_000
const greetingBytesMax = 64 * 1024

/** The fields of a server's greeting that are used here. */
interface ServerGreeting {
  readonly server_name?: unknown
  readonly version?: unknown
}

/** The greeting of the NATS server on a port of the loopback address; `undefined` if none answers. */
export const readGreeting = (port: number): Promise<ServerGreeting | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let greeting = ''
    const done = (info: ServerGreeting | undefined) => {
      socket.destroy()
      resolve(info)
    }
    socket.setTimeout(greetingTimeoutMs, () => done(undefined))
    socket.on('error', () => done(undefined))
    socket.on('close', () => done(undefined))
    socket.on('data', (chunk) => {
      greeting += chunk.toString('utf8')
      if (greeting.includes('\n') || greeting.length > greetingBytesMax) done(parseGreeting(greeting))
    })
  })

/** Parses `INFO {"server_id": …, "server_name": …}` of the NATS client protocol. */
function parseGreeting(greeting: string): ServerGreeting | undefined {
  const [, info] = /^INFO (\{.*\})/.exec(greeting) ?? []
  try {
    return info === undefined ? undefined : JSON.parse(info)
  } catch {
    return undefined
  }
}

/** A port of the loopback address that is free right now. */
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

const askMaxMs = 10_000

/** Throws if the server would refuse its configuration, or ignore it, because it is too old. */
export function expectSyncAlways(executable: string, env?: NodeJS.ProcessEnv): void {
  const { stdout } = spawnSync(executable, ['--version'], { encoding: 'utf8', env, timeout: askMaxMs })
  const version = /\d+\.\d+\.\d+\S*/.exec(stdout ?? '')?.[0]
  if (supports(version, 'syncAlways')) return
  throw new Error(
    `WEIR_NATS_SYNC=always needs nats-server ${firstWith('syncAlways')} or newer, and ${executable} is ${version ?? 'of an unknown version'}. Put a current one on PATH, or remove the setting.`,
  )
}
