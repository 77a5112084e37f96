/**
 * Answers on a connection whose input is not valid HTTP.
 *
 * Node reports such input immediately. Earlier requests of the connection may still be in progress then, and the request
 * that it belongs to may have been answered already (refused before its body was read). Clients match answers to requests
 * by their order, so an error waits for earlier answers, and no request is answered twice.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getOrMake } from '../../core/maps.js'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export class Connections {
  /** Per connection: the requests that are not answered yet, and always the latest one. */
  readonly #exchanges = new WeakMap<Socket, Set<Exchange>>()
  readonly #broken = new WeakSet<Socket>()

  /** Records the requests of a server before anything else handles them. */
  watch(server: Server): void {
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const exchanges = getOrMake(this.#exchanges, request.socket, () => new Set<Exchange>())
      for (const earlier of exchanges) if (earlier.response.writableFinished) exchanges.delete(earlier)
      exchanges.add({ request, response })
    })
  }

  /** Calls `answer` after earlier requests are answered, or closes the connection if this request has its answer. */
  async unreadable(socket: Socket, answer: () => void): Promise<void> {
    // After an error, Node also reports every further chunk of the connection.
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const exchanges = [...(this.#exchanges.get(socket) ?? [])]
    const latest = exchanges.at(-1)
    const isOfLatest = latest !== undefined && !latest.request.complete
    const earlier = isOfLatest ? exchanges.slice(0, -1) : exchanges
    await Promise.all(earlier.map(({ response }) => finished(response)))
    if (!socket.writable) socket.destroy()
    else if (isOfLatest && latest.response.headersSent) socket.end(() => socket.destroy())
    else answer()
  }
}

/** Resolves when the response is sent, or can no longer be sent. */
const finished = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.writableFinished || response.destroyed) resolve()
    else response.once('close', resolve)
  })
