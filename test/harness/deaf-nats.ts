/**
 * A proxy between a process and NATS that can swallow publishes by their subject, as if the server never answered them.
 * So a test can hold one piece of work for as long as it likes, while everything else goes on.
 */
import { NatsFrames, publishedTo } from './nats-frames.js'
import { startTcpProxy } from './tcp-proxy.js'

interface DeafNats {
  readonly url: string
  /** Swallows publishes with such subjects from now on; undefined: none. */
  swallow(subjects: RegExp | undefined): void
  close(): void
}

export async function startDeafNats(natsUrl: string): Promise<DeafNats> {
  let swallowed: RegExp | undefined
  const { url, close } = await startTcpProxy(natsUrl, (client, upstream) => {
    const frames = new NatsFrames()
    client.on('data', (chunk: Buffer) => {
      for (const frame of frames.take(chunk))
        if (swallowed === undefined || !swallowed.test(publishedTo(frame))) upstream.write(frame.bytes)
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
