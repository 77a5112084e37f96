/**
 * The HTTP client of one destination: its own few connections, one answer per request, of which only the beginning is kept.
 * It follows no redirect and retries nothing.
 */
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { request as requestHttps } from 'node:https'
import { after } from '../../ground/core/clock.js'
import type { ReachableNetworks } from './private-networks.js'

/** More than the requests of one destination at once, so that none waits for a socket. */
const socketsMax = 8
/** Shorter than the idle timeout of most servers, which would close a connection while a request is on its way. */
const idleSocketMs = 4_000
/** An answer that is longer by more than this ends its connection. */
const unreadBytesMax = 64 * 1024
/** A piece keeps the whole of what was read from the connection with it, so so many become a block that is a copy. */
const piecesPerBlock = 256
/** An answer in more pieces is cut: a server that sends single bytes would keep a core busy. */
const piecesMax = 200_000

export interface HttpAnswer {
  readonly status: number
  /** `Too Many Requests` */
  readonly statusText: string
  readonly headers: IncomingHttpHeaders
  /** Its first bytes. */
  readonly body: Buffer
  /** Is that all of it? `cut`: the answer ended early. `long`: there was more than is kept. */
  readonly extent: 'whole' | 'cut' | 'long'
}

export interface HttpQuestion {
  readonly method: 'GET' | 'POST' | 'OPTIONS'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** How much of the answer is kept. */
  readonly answerBytesMax: number
}

/** The request ended before an answer began; `outgoing/faults.ts` knows its fault by the name. */
const endedEarly = (name: 'AbortError' | 'TimeoutError'): Error =>
  Object.assign(new Error('The request was aborted.'), { name })

export class HttpClient {
  readonly #url: URL
  readonly #agent: ReturnType<ReachableNetworks['httpAgent']>
  readonly #requestTimeoutMs: number

  constructor(url: URL, networks: ReachableNetworks, requestTimeoutMs: number) {
    const options = { keepAlive: true, maxSockets: socketsMax, timeout: idleSocketMs }
    this.#url = url
    this.#agent = this.isSecure ? networks.httpsAgent(options) : networks.httpAgent(options)
    this.#requestTimeoutMs = requestTimeoutMs
  }

  get isSecure(): boolean {
    return this.#url.protocol === 'https:'
  }

  /**
   * Rejects with an error of the network, a `TimeoutError` or an `AbortError`. An answer that has begun is cut at the
   * deadline instead.
   */
  ask({ body, answerBytesMax, ...options }: HttpQuestion, signal: AbortSignal): Promise<HttpAnswer> {
    if (signal.aborted) return Promise.reject(endedEarly('AbortError'))
    const send = this.isSecure ? requestHttps : requestHttp
    const request = send(this.#url, { ...options, agent: this.#agent })
    const answered = this.#answerTo(request, answerBytesMax, signal)
    request.end(body)
    return answered
  }

  #answerTo(request: ClientRequest, answerBytesMax: number, signal: AbortSignal): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      let answer: AnswerReader | undefined
      const settle = (error?: unknown): void => {
        deadline.stop()
        signal.removeEventListener('abort', aborted)
        if (answer === undefined) reject(error)
        else resolve(answer.answer())
      }
      const giveUp = (name: 'AbortError' | 'TimeoutError'): void => {
        settle(endedEarly(name))
        request.destroy()
      }
      const aborted = (): void => giveUp('AbortError')
      const deadline = after(this.#requestTimeoutMs, () => giveUp('TimeoutError'))
      signal.addEventListener('abort', aborted, { once: true })
      request.on('error', settle)
      request.once('response', (response) => {
        answer = new AnswerReader(response, answerBytesMax)
        response.once('close', () => settle())
      })
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Reads an answer, keeps its beginning, and closes the connection if it is much longer. */
class AnswerReader {
  readonly #response: IncomingMessage
  readonly #blocks: Buffer[] = []
  readonly #bytesMax: number
  /** Not yet a block. */
  #pieces: Buffer[] = []
  #piecesSeen = 0
  #bytes = 0

  constructor(response: IncomingMessage, bytesMax: number) {
    this.#response = response
    this.#bytesMax = bytesMax
    response.on('data', (chunk: Buffer) => this.#add(chunk))
    // Whatever ends it, what was read is the answer.
    response.on('error', () => {})
  }

  #add(chunk: Buffer): void {
    const room = this.#bytesMax - this.#bytes
    if (room > 0) this.#pieces.push(chunk.subarray(0, room))
    if (this.#pieces.length === piecesPerBlock) {
      this.#blocks.push(Buffer.concat(this.#pieces))
      this.#pieces = []
    }
    this.#bytes += chunk.length
    this.#piecesSeen += 1
    const isTooLong = this.#bytes > this.#bytesMax + unreadBytesMax
    if (isTooLong || this.#piecesSeen > piecesMax) this.#response.destroy()
  }

  answer(): HttpAnswer {
    const { statusCode = 0, statusMessage = '', headers, complete } = this.#response
    const end = complete ? 'whole' : 'cut'
    return {
      status: statusCode,
      statusText: statusMessage,
      headers,
      body: Buffer.concat([...this.#blocks, ...this.#pieces]),
      extent: this.#bytes > this.#bytesMax ? 'long' : end,
    }
  }
}
