/** The wire between deliverers and the emulated AWS, where one sees how far a request is. */
import { startTcpProxy } from '../harness/tcp-proxy.js'

/** `asked`: half of a request has been passed on; `answered`: the service has done it, and its answer was passed on. */
type RequestPoint = 'asked' | 'answered'

export interface AnswerWire {
  readonly url: string
  /** Calls back once, at a request with events. The result forgets it. */
  watch(point: RequestPoint, seen: () => void): () => void
  close(): void
}

const putting = /^POST [^\0]*X-Amz-Target: \S+\.(PutRecords|PutRecordBatch)\r\n/i
const accepted = /^HTTP\/1\.1 200 /

export async function startAnswerWire(url: string): Promise<AnswerWire> {
  let watched: { readonly point: RequestPoint; readonly seen: () => void } | undefined
  const meet = (): void => {
    const { seen } = watched!
    watched = undefined
    seen()
  }
  const putters = new WeakSet<object>()
  const proxy = await startTcpProxy(
    url,
    (client, upstream) =>
      client.on('data', (chunk: Buffer) => {
        const isPut = putting.test(chunk.toString('latin1', 0, 2_048))
        if (isPut) putters.add(upstream)
        if (!isPut || watched?.point !== 'asked') return void upstream.write(chunk)
        upstream.write(chunk.subarray(0, chunk.length / 2))
        meet()
      }),
    (upstream, client) =>
      upstream.on('data', (chunk: Buffer) => {
        client.write(chunk)
        const isDone = putters.has(upstream) && accepted.test(chunk.toString('latin1', 0, 16))
        if (isDone && watched?.point === 'answered') meet()
      }),
  )
  return {
    url: proxy.url.replace('nats:', 'http:'),
    watch: (point, seen) => {
      const own = { point, seen }
      watched = own
      return () => {
        if (watched === own) watched = undefined
      }
    },
    close: proxy.close,
  }
}
