/**
 * A proxy between a process and NATS that counts writes to buckets and to the stream of audit events. At the n-th write
 * it calls back, either before the write is passed on or after. So a test can stop at every point of a sequence of
 * writes, without a hook in the program.
 */
import { startTcpProxy } from './tcp-proxy.js'

interface Cut {
  /** Counted from 1, from now on. */
  readonly write: number
  /** Is the write passed on before the callback? */
  readonly after: boolean
  readonly meet: () => unknown
  /** Is a held write passed on once `meet` has resolved? */
  readonly passes?: boolean
}

interface NatsProxy {
  readonly url: string
  /** Writes seen so far. */
  readonly writes: number
  /** The write of the last cut was not seen yet. */
  readonly isCutAhead: boolean
  cut(cut: Cut): void
  close(): void
}

/** Publishes of a client, in NATS' protocol. */
const write = /\r?\n?H?PUB (\$KV\.|weir\.events\.)/g

export async function startNatsProxy(natsUrl: string): Promise<NatsProxy> {
  let writes = 0
  let due: (Cut & { readonly at: number }) | undefined
  const { url, close } = await startTcpProxy(natsUrl, (client, upstream) => {
    client.on('data', (chunk: Buffer) => {
      writes += chunk.toString('latin1').match(write)?.length ?? 0
      const met = due !== undefined && writes >= due.at ? due : undefined
      if (met === undefined) return void upstream.write(chunk)
      due = undefined
      if (met.after) return void upstream.write(chunk, () => setTimeout(met.meet, 20))
      const held = Promise.resolve(met.meet())
      if (!met.passes) return
      client.pause()
      void held.then(() => {
        upstream.write(chunk)
        client.resume()
      })
    })
  })
  return {
    url,
    get writes() {
      return writes
    },
    get isCutAhead() {
      return due !== undefined
    },
    cut: (cut) => {
      due = { ...cut, at: writes + cut.write }
    },
    close,
  }
}
