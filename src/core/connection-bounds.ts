/**
 * Bounds of the connections to an HTTP server. Node cuts slow requests, but never closes a connection that sends nothing
 * at all, and accepts connections until the process has no descriptor left for NATS, ClickHouse and AWS.
 */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

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
export function boundConnections(
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
