/**
 * The wire between one process and what it talks to, which shows where in its work the process is.
 *
 * A crash point is named by what is seen from outside: the process is killed when a message of the point comes by, before or
 * after it is passed on. So nothing of a test is in the process that dies, what dies is what is shipped, and a point means
 * the same in every version. The kill follows within a millisecond of the sign.
 *
 * The wire can also go silent while its connections stay open, as half-open ones do when a cable is pulled: no byte passes,
 * and nothing is closed.
 */
import type { Socket } from 'node:net'
import { answeredTo, type NatsFrame, NatsFrames, publishedTo } from '../harness/nats-frames.js'
import { startTcpProxy } from '../harness/tcp-proxy.js'

export interface Sign {
  /** A publish of the process to such a subject, or a message that gets to it and is acknowledged at such a subject. */
  readonly sent?: RegExp
  readonly received?: RegExp
  /** So many of them pass before the one that is meant. Default: 0. */
  readonly skip?: number
  /** Is the message itself passed on? Nothing behind it is. */
  readonly passes: boolean
}

export interface Wire {
  readonly url: string
  /** Calls back once, when the sign is seen; the result forgets it. */
  watch(sign: Sign, seen: () => void): () => void
  /** Nothing passes from now on, and connections stay open. */
  silence(): void
  /** What was held passes, and all that follows. */
  heal(): void
  /** Connections break now; new ones are made. */
  cut(): void
  close(): void
}

interface Watched {
  readonly sign: Sign
  readonly seen: () => void
  left: number
}

export async function startWire(natsUrl: string): Promise<Wire> {
  let watched: Watched | undefined
  let isSilent = false
  const held: (() => void)[] = []
  const clients = new Set<Socket>()
  /** Is this the message that is waited for? */
  const isMeant = (subject: string, pattern: RegExp | undefined): boolean => {
    if (watched === undefined || pattern === undefined || !pattern.test(subject)) return false
    watched.left -= 1
    return watched.left < 0
  }
  const pass = (from: Socket, to: Socket, meant: (frame: NatsFrame) => boolean): void => {
    const frames = new NatsFrames()
    from.on('data', (chunk: Buffer) => {
      if (isSilent) {
        from.pause()
        held.push(() => {
          from.resume()
          forward(chunk)
        })
      } else forward(chunk)
    })
    const forward = (chunk: Buffer): void => {
      for (const frame of frames.take(chunk)) {
        if (!meant(frame)) {
          if (!to.destroyed) to.write(frame.bytes)
          continue
        }
        const { sign, seen } = watched!
        watched = undefined
        if (sign.passes) to.write(frame.bytes)
        seen()
        // Nothing that the process sends before it is dead gets anywhere.
        from.removeAllListeners('data')
        from.resume()
        return
      }
    }
  }
  const { url, close } = await startTcpProxy(
    natsUrl,
    (client, upstream) => {
      clients.add(client)
      client.once('close', () => clients.delete(client))
      pass(client, upstream, (frame) => isMeant(publishedTo(frame), watched?.sign.sent))
    },
    (upstream, client) => pass(upstream, client, (frame) => isMeant(answeredTo(frame), watched?.sign.received)),
  )
  return {
    url,
    watch: (sign, seen) => {
      const own: Watched = { sign, seen, left: sign.skip ?? 0 }
      watched = own
      return () => {
        if (watched === own) watched = undefined
      }
    },
    silence: () => {
      isSilent = true
    },
    heal: () => {
      isSilent = false
      for (const on of held.splice(0)) on()
    },
    cut: () => {
      for (const client of clients) client.destroy()
    },
    close,
  }
}
