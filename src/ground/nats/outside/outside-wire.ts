/**
 * The bytes to and from a server that is not Weir's own, in place of the library's transport: with bounds for what the
 * server makes this process keep, and an end at once when it breaks the protocol or the caller gives up.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { isAddress } from '../../core/address/ip.js'
import { shown } from '../../core/errors.js'
import { version } from '../../core/package.js'
import { NotNatsError, type ServerMessage, ServerMessages } from '../server-messages.js'

export interface OutsideServer {
  readonly host: string
  readonly port: number
  /** Certificates of its authorities, in PEM; default: those that Node trusts. Undefined: without TLS. */
  readonly tls: { readonly ca?: string } | undefined
}

/** The answers to a full request are a fraction of it. */
const receivedBytesMax = 1024 * 1024
/** No event is promised to be smaller. */
const payloadBytesMin = 1024

/** The server wants TLS, and the caller does not, or the other way round. */
class TlsMismatchError extends Error {
  readonly code = 'ERR_TLS_MISMATCH'
}

/** The server's facts about itself that matter here. */
interface ServerInfo {
  readonly max_payload?: unknown
  readonly tls_required?: unknown
  readonly tls_available?: unknown
}

export class OutsideWire {
  readonly lang = 'weir'
  readonly version = version
  readonly #server: OutsideServer
  readonly #deliver: (message: Uint8Array) => void
  readonly #signal: AbortSignal
  readonly #messages = new ServerMessages()
  #socket: Socket
  #isGreeted = false
  /** Since something was sent that the server answers. */
  #receivedBytes = 0
  #isPongWaiting = false
  #isEnded = false
  #resolve: (reason: Error | undefined) => void = () => {}
  readonly #closed = new Promise<Error | undefined>((resolve) => {
    this.#resolve = resolve
  })

  /** `address`: of the server's host. `deliver` takes whole messages. An abort of `signal` ends the connection. */
  constructor(
    server: OutsideServer,
    address: string,
    deliver: (message: Uint8Array) => void,
    signal: AbortSignal,
  ) {
    this.#server = server
    this.#deliver = deliver
    this.#signal = signal
    this.#socket = this.#heard(connectTcp({ host: address, port: server.port, noDelay: true }))
    signal.addEventListener('abort', this.#aborted, { once: true })
    if (signal.aborted) this.#aborted()
  }

  /** Resolves with the reason; undefined if the server closed the connection without an error of it. */
  closed(): Promise<Error | undefined> {
    return this.#closed
  }

  isEncrypted(): boolean {
    return this.#socket instanceof TLSSocket
  }

  send(frame: Uint8Array): void {
    if (this.#isEnded) return
    this.#receivedBytes = 0
    this.#socket.write(frame)
  }

  async close(reason?: Error): Promise<void> {
    this.#end(reason ?? new Error('The connection was closed.'))
  }

  /** The library has heard nothing for too long. */
  disconnect(): void {
    this.#end(new Error('The server is silent.'))
  }

  readonly #aborted = (): void => this.#end(new Error('The connection was given up.'))

  #end(reason?: Error): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#signal.removeEventListener('abort', this.#aborted)
    this.#socket.destroy()
    this.#resolve(reason)
  }

  #heard(socket: Socket): Socket {
    return socket
      .on('data', (chunk) => this.#receive(chunk))
      .on('error', (error) => this.#end(error))
      .on('close', () => this.#end())
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    this.#messages.add(chunk)
    try {
      if (this.#receivedBytes > receivedBytesMax)
        throw new NotNatsError('The server sends more than it was asked for.')
      while (!this.#isEnded) {
        const message = this.#messages.take()
        if (message === undefined) return
        this.#take(message)
      }
    } catch (error) {
      const isKnown = error instanceof NotNatsError || error instanceof TlsMismatchError
      // The library could not read it.
      this.#end(isKnown ? error : new NotNatsError())
    }
  }

  #take({ bytes, info }: ServerMessage): void {
    const isFirst = !this.#isGreeted
    if (isFirst && info === undefined) throw new NotNatsError()
    if (info !== undefined) {
      const known = JSON.parse(info) as ServerInfo
      checkPayload(known)
      this.#isGreeted = true
      if (isFirst && this.#mustEncrypt(known)) {
        this.#encrypt(bytes)
        return
      }
    }
    if (bytes.equals(ping)) this.#pong()
    else this.#deliver(bytes)
  }

  /** At most one waits: a server that asks and does not read would have any number of them kept. */
  #pong(): void {
    if (this.#isPongWaiting) return
    this.#isPongWaiting = true
    this.#socket.write(pong, () => {
      this.#isPongWaiting = false
    })
  }

  #mustEncrypt({ tls_required, tls_available }: ServerInfo): boolean {
    if (this.#server.tls === undefined) {
      if (tls_required === true) throw new TlsMismatchError('The server requires TLS.')
      return false
    }
    if (tls_required !== true && tls_available !== true)
      throw new TlsMismatchError('The server does not support TLS.')
    // Messages behind the greeting would be taken for encrypted ones.
    if (!this.#messages.isEmpty) throw new NotNatsError()
    return true
  }

  #encrypt(greeting: Buffer): void {
    const { host, tls } = this.#server
    const plain = this.#socket.removeAllListeners()
    plain.on('error', (error) => this.#end(error))
    // A certificate is for a name or, without one, for the address.
    const encrypted = connectTls({ socket: plain, host, servername: isAddress(host) ? '' : host, ...tls })
    encrypted.once('secureConnect', () => this.#deliver(greeting))
    this.#socket = this.#heard(encrypted)
  }
}

const ping = Buffer.from('PING\r\n')
const pong = Buffer.from('PONG\r\n')

function checkPayload({ max_payload: bytes }: ServerInfo): void {
  if (!Number.isInteger(bytes) || (bytes as number) < payloadBytesMin)
    throw new NotNatsError(
      `The server takes messages up to ${shown(bytes)} bytes; at least ${payloadBytesMin} are needed.`,
    )
}
