/**
 * The wire between one process and NATS, which shows where in its work the process is.
 *
 * A crash point is named by what is seen from outside: the process is killed when a message of the point comes by, before or
 * after it is passed on. So nothing of a test is in the process that dies, what dies is what is shipped, and a point means
 * the same in every version. The kill follows within a millisecond of the sign.
 *
 * The wire can also go silent while its connections stay open, as half-open ones do when a cable is pulled: no byte passes,
 * and nothing is closed.
 */
import type { Socket } from 'node:net'
import { type NatsFrame, NatsFrames } from '../harness/nats-frames.js'
import { startTcpProxy } from '../harness/tcp-proxy.js'

export interface Sign {
  /** The first line of a message that the process sends, or gets. */
  readonly line: RegExp
  /** So many of them pass before the one that is meant. Default: 0. */
  readonly skip?: number
  /** What becomes of the message. Behind one that is `last` or `held`, nothing of its connection passes any more. */
  readonly fate: 'pass' | 'last' | 'held'
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

class Watching {
  #watched: Watched | undefined

  watch(sign: Sign, seen: () => void): () => void {
    const own: Watched = { sign, seen, left: sign.skip ?? 0 }
    this.#watched = own
    return () => {
      if (this.#watched === own) this.#watched = undefined
    }
  }

  /** What becomes of the message. */
  meet({ line }: NatsFrame): Sign['fate'] {
    const watched = this.#watched
    if (!watched?.sign.line.test(line)) return 'pass'
    watched.left -= 1
    if (watched.left >= 0) return 'pass'
    this.#watched = undefined
    // After it has been written.
    queueMicrotask(watched.seen)
    return watched.sign.fate
  }
}

export async function startWire(natsUrl: string): Promise<Wire> {
  const watching = new Watching()
  let isSilent = false
  const held: (() => void)[] = []
  const clients = new Set<Socket>()
  const pass = (from: Socket, to: Socket): void => {
    const frames = new NatsFrames()
    let isOver = false
    const forward = (chunk: Buffer): void => {
      for (const frame of isOver ? [] : frames.take(chunk)) {
        const fate = isOver ? 'held' : watching.meet(frame)
        if (fate !== 'held' && !to.destroyed) to.write(frame.bytes)
        isOver ||= fate !== 'pass'
      }
    }
    from.on('data', (chunk: Buffer) => {
      if (!isSilent) return forward(chunk)
      from.pause()
      held.push(() => {
        forward(chunk)
        from.resume()
      })
    })
  }
  const { url, close } = await startTcpProxy(
    natsUrl,
    (client, upstream) => {
      clients.add(client)
      client.once('close', () => clients.delete(client))
      pass(client, upstream)
    },
    pass,
  )
  return {
    url,
    watch: (sign, seen) => watching.watch(sign, seen),
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
