/**
 * HTTP servers: each listens from the moment it is opened; its handler may be replaced later.
 *
 * Connections are bounded: Node cuts slow requests, but never closes a connection that sends nothing at all, and accepts
 * connections until the process has no descriptor left for NATS, ClickHouse and AWS.
 */
import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http'
import type { Socket } from 'node:net'
import { after } from './clock.js'
import { messageOf, StartFault } from './errors.js'

/** Why a connection is refused: there are too many in all, or from its address. */
export type RefusedBecause = 'all' | 'address'

export interface ConnectionBounds {
  /** A connection on which no request arrives within this time is closed. */
  readonly firstRequestMs: number
  readonly max: number
  readonly perAddressMax: number
}

/** Used if the system does not say how many there are. The process keeps half for itself. */
const descriptorsDefault = 1024
/** Each connection takes some 10 KiB of memory. */
const connectionsMax = 10_000
const firstRequestMs = 30_000

/** Bounds for this process: clients get half of its descriptors, and one address half of these. */
export function defaultBounds(): ConnectionBounds {
  const max = Math.min(connectionsMax, Math.floor(descriptorsMax() / 2))
  return { firstRequestMs, max, perAddressMax: Math.ceil(max / 2) }
}

/** How many descriptors this process may have. Node has raised the soft limit to the hard one already. */
function descriptorsMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return soft === undefined ? descriptorsDefault : Number(soft)
  } catch {
    // Not a Linux.
    return descriptorsDefault
  }
}

/** Must be called before the server listens. `refused`: called for each connection that is refused. */
function boundConnections(
  server: Server,
  bounds: ConnectionBounds,
  refused: (because: RefusedBecause) => void,
): void {
  const perAddress = new Map<string, number>()
  let count = 0
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    const ofAddress = perAddress.get(remoteAddress) ?? 0
    if (count >= bounds.max || ofAddress >= bounds.perAddressMax) {
      refused(count >= bounds.max ? 'all' : 'address')
      socket.destroy()
      return
    }
    count += 1
    perAddress.set(remoteAddress, ofAddress + 1)
    socket.once('close', () => {
      count -= 1
      const left = perAddress.get(remoteAddress)! - 1
      if (left === 0) perAddress.delete(remoteAddress)
      else perAddress.set(remoteAddress, left)
    })
    // The server closes a connection at its timeout. Between later requests it sets one of its own.
    socket.setTimeout(bounds.firstRequestMs)
  })
  server.prependListener('request', ({ socket }: { socket: Socket }) => {
    if (socket.timeout === bounds.firstRequestMs) socket.setTimeout(0)
  })
}

export interface ListeningServer {
  readonly url: string
  readonly server: Server
  /** From now on, `answer` handles the requests. */
  answerWith(answer: RequestListener): void
  /** Running requests may take `patienceMs`; then every connection is closed. */
  close(patienceMs?: number): Promise<void>
}

export interface ListenOptions {
  readonly http?: ServerOptions | undefined
  readonly bounds?: ConnectionBounds
  /** Called for each connection that is refused because there are too many. */
  readonly connectionRefused?: ((because: RefusedBecause) => void) | undefined
}

/** Opens a server; port 0 means any free one. Rejects if the port is taken. */
export async function listenHttp(
  host: string,
  port: number,
  answer: RequestListener,
  { http = {}, bounds = defaultBounds(), connectionRefused = () => {} }: ListenOptions = {},
): Promise<ListeningServer> {
  const server = createServer(http, answer)
  boundConnections(server, bounds, connectionRefused)
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

/** The body of a request. Throws an error with the message `tooLong` if it has more bytes. */
export async function readBody(request: IncomingMessage, bytesMax: number, tooLong: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(tooLong)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Explains why listening failed, for the person who set host and port. */
export function listenFault(
  error: unknown,
  host: string,
  port: number,
  setting = 'WEIR_PORT',
  hostSetting = 'WEIR_HOST',
): StartFault {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `Another process listens on ${urlOf(host, port)}: set ${setting} to a free port, or to 0 for any.`,
    EACCES: `This user may not listen on port ${port}: set ${setting} to one above 1023, or to 0 for any.`,
    EADDRNOTAVAIL: `${hostSetting} is ${host}, which is not an address of this machine: set it to 127.0.0.1, for example, or to 0.0.0.0 for all.`,
    ENOTFOUND: `${hostSetting} is ${host}, a name that does not resolve: set it to an address of this machine, such as 127.0.0.1.`,
  }
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = reasons[code === 'EAI_AGAIN' ? 'ENOTFOUND' : code]
  return new StartFault(
    reason ?? `Weir can't listen on ${urlOf(host, port)} (${hostSetting}, ${setting}): ${messageOf(error)}.`,
    { cause: error },
  )
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

async function close(server: Server, patienceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  if (patienceMs === 0) server.closeAllConnections()
  const cut = after(patienceMs, () => server.closeAllConnections())
  await closed
  cut.stop()
}
