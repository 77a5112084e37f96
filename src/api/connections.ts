/**
 * What is answered on a connection whose input can't be read as HTTP.
 *
 * Node reports such input as soon as it meets it. By then, earlier requests of the connection may still wait for their
 * answers, and the request it belongs to may have been answered already (refused before its body was read). A client
 * takes answers in the order of its requests, so an error waits for earlier answers, and a request that was answered
 * gets no second answer.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getOrMakeWeak } from '../core/maps.js'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export class Connections {
  /** Requests of each connection that are not answered yet, and always the latest one. */
  readonly #exchanges = new WeakMap<Socket, Set<Exchange>>()
  readonly #broken = new WeakSet<Socket>()

  /** Notes the requests of a server, before anything else sees them. */
  watch(server: Server): void {
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const exchanges = getOrMakeWeak(this.#exchanges, request.socket, () => new Set<Exchange>())
      for (const earlier of exchanges) if (earlier.response.writableFinished) exchanges.delete(earlier)
      exchanges.add({ request, response })
    })
  }

  /** Calls `answer` once it is the turn of the unreadable input, or closes the connection if that has its answer. */
  async unreadable(socket: Socket, answer: () => void): Promise<void> {
    // After an error, Node reports every further chunk of the connection, too.
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

/** Resolves when the response is sent, or can't be sent any more. */
const finished = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.writableFinished || response.destroyed) resolve()
    else response.once('close', resolve)
  })
