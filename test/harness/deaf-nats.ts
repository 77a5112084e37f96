/**
 * A proxy between a process and NATS that can swallow publishes by their subject, as if the server never answered them.
 * So a test can hold one piece of work for as long as it likes, while everything else goes on.
 */
import { startTcpProxy } from './tcp-proxy.js'

interface DeafNats {
  readonly url: string
  /** Swallows publishes with such subjects from now on; undefined: none. */
  swallow(subjects: RegExp | undefined): void
  close(): void
}

const lineEnd = '\r\n'

export async function startDeafNats(natsUrl: string): Promise<DeafNats> {
  let swallowed: RegExp | undefined
  const { url, close } = await startTcpProxy(natsUrl, (client, upstream) => {
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
  return {
    url,
    swallow: (subjects) => {
      swallowed = subjects
    },
    close,
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
