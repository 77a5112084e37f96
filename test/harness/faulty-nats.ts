/**
 * A NATS that fails at the n-th write to a bucket or to the stream of audit events, in one of several ways, until it is
 * healed. Only what goes through its address notices.
 */
import type { Socket } from 'node:net'
import { startTcpProxy } from './tcp-proxy.js'

/**
 * `hang`: nothing passes, and what was held passes later; `gone`: connections break, and new ones do; `short`: half of what
 * is sent passes, and the connection breaks; `slow`: all passes, later than a client waits.
 */
export type NatsFault = 'hang' | 'gone' | 'short' | 'slow'

interface FaultyNats {
  readonly url: string
  /** Fails at this write, counted from 1, from now on. `meet`: called then, for another fault than one of its own. */
  failAt(write: number, fault: NatsFault | (() => void)): void
  /** Was the write of the last fault seen? */
  readonly isMet: boolean
  heal(): void
  close(): void
}

/** Publishes of a client, in NATS' protocol. */
const write = /\r?\n?H?PUB (\$KV\.|weir\.events\.)/g
const slowMs = 1_500

export async function startFaultyNats(natsUrl: string): Promise<FaultyNats> {
  let fault: NatsFault | undefined
  let due: { at: number; fault: NatsFault | (() => void) } | undefined
  let writes = 0
  const clients = new Set<Socket>()
  const held: (() => void)[] = []
  const pass = (from: Socket, to: Socket, chunk: Buffer): void => {
    if (fault === undefined) return void to.write(chunk)
    from.pause()
    const on = (): void => {
      if (!to.destroyed) to.write(chunk)
      from.resume()
    }
    if (fault === 'hang') held.push(on)
    else if (fault === 'slow') setTimeout(on, slowMs)
    else {
      if (fault === 'short') to.write(chunk.subarray(0, chunk.length / 2))
      from.destroy()
    }
  }
  const backward = (upstream: Socket, client: Socket): void => {
    upstream.on('data', (chunk: Buffer) => pass(upstream, client, chunk))
  }
  const proxy = await startTcpProxy(
    natsUrl,
    (client, upstream) => {
      if (fault === 'gone') client.destroy()
      clients.add(client)
      client.once('close', () => clients.delete(client))
      client.on('data', (chunk: Buffer) => {
        writes += chunk.toString('latin1').match(write)?.length ?? 0
        if (due !== undefined && writes >= due.at) {
          if (typeof due.fault === 'string') fault = due.fault
          else due.fault()
          due = undefined
          if (fault === 'gone') for (const each of clients) each.destroy()
        }
        pass(client, upstream, chunk)
      })
    },
    backward,
  )
  return {
    url: proxy.url,
    failAt: (at, wanted) => {
      due = { at: writes + at, fault: wanted }
    },
    get isMet() {
      return due === undefined
    },
    heal: () => {
      fault = undefined
      due = undefined
      for (const on of held.splice(0)) on()
    },
    close: proxy.close,
  }
}
