/**
 * A connection to one broker: only to an address that destinations may lead to, authenticated, with bounds for what the
 * broker sends. Answers come in the order of the requests.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { API, Callback, Connection, Reader, ResponseParser, Writer } from '@platformatic/kafka'
import { version } from '../../../ground/core/package.js'
import type { ReachableNetworks } from '../../outgoing/private-networks.js'
import type { HostPort } from '../kind/servers.js'
import { type Protocol, protocol } from './protocol.js'
import { authenticate, type Sasl } from './sasl.js'

export interface ConnectionOptions {
  readonly networks: ReachableNetworks
  readonly clientId: string
  readonly tls: { readonly ca?: string } | undefined
  readonly sasl: Sasl | undefined
}

/** More than the answer of any request that is made here: of the largest, a partition takes some 50. */
const answerBytesMax = 1024 * 1024
const lengthBytes = 4
/** The length, and the number of the request. */
const headBytes = 8

/** The peer sends something else than Kafka's protocol. */
export class NotKafkaError extends Error {
  override readonly name = 'NotKafkaError'
}

/** The broker stops, or it expects TLS or SASL, or does not: it gives no reason. */
class ClosedByBrokerError extends Error {
  override readonly name = 'ClosedByBrokerError'
}

/** The broker knows no version of a request that is known here. */
class UnknownVersionError extends Error {
  override readonly name = 'UnknownVersionError'
}

interface Request {
  readonly parse: (body: Buffer) => unknown
  readonly done: Callback<unknown>
}

// biome-ignore lint/suspicious/noExplicitAny: the arguments of any request
type AnyApi = API<any[], any>

export class KafkaConnection {
  readonly #socket: Socket
  readonly #library: Protocol
  readonly #clientId: string
  readonly #requests = new Map<number, Request>()
  #lastRequest = 0
  #received: Buffer[] = []
  #receivedBytes = 0
  /** The bytes of the answer that is being received, with its length; 0 if it is not known. */
  #answerBytes = 0
  #closed: Error | undefined
  /** Each fails what waits for an answer: the library does not answer if it can't read what the broker sent. */
  readonly #waiting = new Set<(reason: Error) => void>()
  /** By the number of an API, the versions that the broker knows. */
  #versions = new Map<number, { readonly minVersion: number; readonly maxVersion: number }>()

  private constructor(socket: Socket, library: Protocol, clientId: string) {
    this.#socket = socket
    this.#library = library
    this.#clientId = clientId
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', (error) => this.close(error))
    socket.on('close', () => this.close(new ClosedByBrokerError('The broker closed the connection.')))
  }

  /** Resolves when the broker accepts requests; an abort closes the connection. */
  static async open(
    place: HostPort,
    { networks, clientId, tls, sasl }: ConnectionOptions,
    signal: AbortSignal,
  ): Promise<KafkaConnection> {
    const library = await protocol()
    const connection = new KafkaConnection(await openSocket(place, networks, tls, signal), library, clientId)
    try {
      return await connection.#until(signal, async () => {
        const { apiKeys } = await connection.#call(library.apiVersionsV3.api, 'weir', version)
        connection.#versions = new Map(apiKeys.map((api) => [api.apiKey, api]))
        if (sasl !== undefined) await authenticate(connection.#asLibrary, sasl, library)
        return connection
      })
    } catch (error) {
      connection.close()
      throw error
    }
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Makes a request in the newest version that both sides know; an abort closes the connection. */
  call<A extends unknown[], R>(apis: readonly API<A, R>[], signal: AbortSignal, ...args: A): Promise<R> {
    const api = apis.find(({ key, version }) => {
      const { minVersion, maxVersion } = this.#versions.get(key) ?? { minVersion: 0, maxVersion: -1 }
      return minVersion <= version && version <= maxVersion
    })
    if (api === undefined) throw new UnknownVersionError('Kafka 2.8 or newer is expected.')
    return this.#until(signal, () => this.#call(api, ...args))
  }

  close(reason: Error = new Error('The connection was closed.')): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    for (const fail of this.#waiting) fail(reason)
    this.#requests.clear()
    this.#received = []
    this.#socket.destroy()
  }

  async #until<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const aborted = (): void => this.close()
    signal.addEventListener('abort', aborted, { once: true })
    try {
      if (signal.aborted) this.close()
      return await this.#unlessClosed(work)
    } finally {
      signal.removeEventListener('abort', aborted)
    }
  }

  /** Not by a promise of the connection: it would keep each answer for as long as the connection is open. */
  #unlessClosed<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return reject(this.#closed)
      this.#waiting.add(reject)
      work()
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(reject))
    })
  }

  #call<A extends unknown[], R>(api: API<A, R>, ...args: A): Promise<R> {
    return new Promise((resolve, reject) => {
      const done: Callback<R> = (error, answer) => (error ? reject(error) : resolve(answer))
      ;(api as AnyApi)(this.#asLibrary, ...args, done)
    })
  }

  /** The members of a connection that the library's functions need. */
  get #asLibrary(): Connection {
    return { send: this.#send } as unknown as Connection
  }

  readonly #send = (
    apiKey: number,
    apiVersion: number,
    createPayload: () => Writer,
    parse: ResponseParser<unknown>,
    hasRequestTags: boolean,
    hasAnswerTags: boolean,
    done: Callback<unknown>,
  ): void => {
    if (this.#closed !== undefined) return
    const { Writer, Reader } = this.#library
    this.#lastRequest += 1
    const number = this.#lastRequest
    const writer = Writer.create().appendInt16(apiKey).appendInt16(apiVersion).appendInt32(number)
    writer.appendString(this.#clientId, false)
    if (hasRequestTags) writer.appendTaggedFields()
    this.#requests.set(number, {
      parse: (body) => {
        const reader = forward(Reader.from(hasAnswerTags ? body.subarray(tagsBytes(body)) : body))
        return parse(number, apiKey, apiVersion, reader)
      },
      done,
    })
    this.#socket.write(writer.appendFrom(createPayload()).prependLength().buffer)
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#receivedBytes += chunk.length
    while (this.#closed === undefined && this.#receivedBytes >= Math.max(headBytes, this.#answerBytes)) {
      const received = Buffer.concat(this.#received)
      this.#received = [received]
      if (this.#answerBytes === 0) {
        this.#answerBytes = received.readInt32BE(0) + lengthBytes
        if (this.#answerBytes < headBytes || this.#answerBytes > answerBytesMax)
          this.close(new NotKafkaError('The server does not answer as Kafka does.'))
      } else {
        const [answer, rest] = [received.subarray(0, this.#answerBytes), received.subarray(this.#answerBytes)]
        this.#received = [rest]
        this.#receivedBytes = rest.length
        this.#answerBytes = 0
        this.#answered(answer)
      }
    }
  }

  #answered(answer: Buffer): void {
    const number = answer.readInt32BE(lengthBytes)
    const request = this.#requests.get(number)
    if (request === undefined) {
      this.close(new NotKafkaError('The server answers what was not asked.'))
      return
    }
    this.#requests.delete(number)
    let parsed: unknown
    let failure: Error | null = null
    try {
      parsed = request.parse(answer.subarray(headBytes))
    } catch (error) {
      failure = error as Error
    }
    this.#answer(() => request.done(failure, parsed))
  }

  /** Within, the library reads what the broker sent to authenticate. */
  #answer(done: () => void): void {
    try {
      done()
    } catch (error) {
      this.close(new NotKafkaError('The server does not authenticate as Kafka does.', { cause: error }))
    }
  }
}

/**
 * Has the library read forward only, and no further than the answer goes: for a text of a length below 0, it goes back, and
 * reads a list of such texts without end.
 */
function forward(reader: Reader): Reader {
  let position = 0
  const move = (to: number): void => {
    if (!(to >= position && to <= reader.length))
      throw new NotKafkaError('The server does not answer as Kafka does.')
    position = to
  }
  return Object.defineProperty(reader, 'position', { get: () => position, set: move })
}

/** The tagged fields of an answer's head: none is in use, so that there is only their number. */
const tagsBytes = (body: Buffer): number => (body.length > 0 ? 1 : 0)

function openSocket(
  { host, port }: HostPort,
  networks: ReachableNetworks,
  tls: ConnectionOptions['tls'],
  signal: AbortSignal,
): Promise<Socket> {
  networks.check(host)
  const options = { host, port, lookup: networks.lookup, noDelay: true, keepAlive: true }
  const isName = !/^[\d.]+$|:/.test(host)
  const socket =
    tls === undefined
      ? connectTcp(options)
      : connectTls({ ...options, ...tls, ...(isName && { servername: host }) })
  return new Promise((resolve, reject) => {
    const aborted = (): void => void socket.destroy(new Error('The request was aborted.'))
    signal.addEventListener('abort', aborted, { once: true })
    if (signal.aborted) aborted()
    let isConnected = false
    socket.once('connect', () => {
      isConnected = true
    })
    const failed = (error: NodeJS.ErrnoException): void => {
      signal.removeEventListener('abort', aborted)
      const isClosed = isConnected && error.code === 'ECONNRESET'
      reject(
        isClosed
          ? new ClosedByBrokerError('The broker closed the connection before it was encrypted.')
          : error,
      )
    }
    socket.once('error', failed)
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      signal.removeEventListener('abort', aborted)
      resolve(socket)
    })
  })
}
