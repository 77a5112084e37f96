/**
 * A proxy between a process and NATS that can swallow publishes by their subject, as if the server never answered them.
 * So a test can hold one piece of work for as long as it likes, while everything else goes on.
 */
import { connect, createServer, type Socket } from 'node:net'

interface DeafNats {
  readonly url: string
  /** Swallows publishes with such subjects from now on; undefined: none. */
  swallow(subjects: RegExp | undefined): void
  close(): void
}

const lineEnd = '\r\n'

export async function startDeafNats(natsUrl: string): Promise<DeafNats> {
  const { hostname, port } = new URL(natsUrl)
  const sockets = new Set<Socket>()
  let swallowed: RegExp | undefined
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
    upstream.pipe(client)
    let rest: Buffer = Buffer.alloc(0)
    client.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const bytes = messageBytes(rest)
        if (bytes === undefined || bytes > rest.length) return
        const message = rest.subarray(0, bytes)
        if (swallowed === undefined || !swallowed.test(subjectOf(message))) upstream.write(message)
        rest = rest.subarray(bytes)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const own = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `nats://127.0.0.1:${own}`,
    swallow: (subjects) => {
      swallowed = subjects
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The words of the first line of a client's message: `PUB subject [reply] bytes`, `SUB …`, `PING`. */
function firstLine(bytes: Buffer): string[] | undefined {
  const end = bytes.indexOf(lineEnd)
  return end === -1 ? undefined : bytes.toString('latin1', 0, end).split(' ')
}

/** How long the first message is; undefined if its first line is not whole. */
function messageBytes(bytes: Buffer): number | undefined {
  const words = firstLine(bytes)
  if (words === undefined) return undefined
  const lineBytes = words.join(' ').length + lineEnd.length
  return isPublish(words) ? lineBytes + Number(words.at(-1)) + lineEnd.length : lineBytes
}

const subjectOf = (message: Buffer): string => {
  const words = firstLine(message) ?? []
  return isPublish(words) ? words[1]! : ''
}

const isPublish = ([verb = '']: readonly string[]): boolean => verb === 'PUB' || verb === 'HPUB'
