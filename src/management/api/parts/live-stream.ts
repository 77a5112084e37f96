/** Server-sent events of what an account watches. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { WatchRate } from '../../insight/live-feed.js'

/** Bytes that a slow watcher has not read; lines beyond them are lost for it. */
const watcherBufferBytesMax = 256 * 1024

interface Reader {
  readonly send: (line: object) => boolean
  readonly rate: (rate: WatchRate) => void
  readonly ended: () => void
}

/** The result ends the watching. */
export type Watch = (reader: Reader) => () => void

/**
 * Takes the connection over until the client leaves or stops reading, its key is deleted or expires, its session ends, a
 * restriction refuses its address, or the API stops.
 */
export function stream(request: FastifyRequest, reply: FastifyReply, watch: Watch): void {
  const { raw } = reply
  const { isShutOut } = request.caller
  const finish = (): void => {
    unwatch()
    raw.end()
  }
  const send = (line: object): boolean => {
    if (raw.writableLength > watcherBufferBytesMax) return false
    raw.write(`data: ${JSON.stringify(line)}\n\n`)
    return true
  }
  const rate = (of: WatchRate): void => {
    if (isShutOut?.()) finish()
    // The rates alone have filled another buffer: the client has not read for an hour.
    else if (raw.writableLength > 2 * watcherBufferBytesMax) raw.destroy()
    else raw.write(`event: rate\ndata: ${JSON.stringify(of)}\n\n`)
  }
  const unwatch = watch({ send, rate, ended: finish })
  reply.hijack()
  raw.on('close', unwatch)
  raw.writeHead(200, {
    ...reply.commonHeaders(),
    ...(reply.getHeaders() as Record<string, string>),
    'Content-Type': 'text/event-stream; charset=utf-8',
    // nginx would collect lines before it passes them on.
    'X-Accel-Buffering': 'no',
  })
  raw.flushHeaders()
}
