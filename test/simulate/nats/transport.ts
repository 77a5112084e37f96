/** The client library's way to a model server: the place of a socket. */
import { type ConnectionOptions, errors, type NatsConnection } from '@nats-io/nats-core'
import { NatsConnectionImpl, setTransportFactory, type Transport } from '@nats-io/nats-core/internal'
import type { ClientConnection, ClientEnd } from './server.js'

/** Where a client's bytes go. */
type Way = Pick<ClientConnection, 'take' | 'gone'>

/** Opens a way to the server at an address (`host:port`); undefined while it can't be reached. */
export type Dial = (end: Required<ClientEnd>, address: string) => Way | undefined

/** As the library's own `connect`, to models. The library knows one way to connect: all connections of a process have it. */
export function connectTo(dial: Dial, options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new ModelTransport(dial) })
  return NatsConnectionImpl.connect(options)
}

class ModelTransport implements Transport {
  readonly lang = 'model'
  readonly version = '1'
  closeError?: Error
  readonly #dial: Dial
  #server: Way | undefined
  #frames: Uint8Array[] = []
  #wake: () => void = () => {}
  #isDone = false
  #isConnected = false
  readonly #closed: Promise<Error | undefined>
  #close: (error?: Error) => void = () => {}

  constructor(dial: Dial) {
    this.#dial = dial
    this.#closed = new Promise((resolve) => {
      this.#close = resolve
    })
  }

  get isClosed(): boolean {
    return this.#isDone
  }

  async connect({ hostname, port }: { hostname: string; port: number }): Promise<void> {
    const receive = (bytes: Uint8Array): void => {
      this.#frames.push(bytes)
      this.#wake()
    }
    const lost = (): void => this.#end(new errors.ConnectionError('the connection was reset'))
    this.#server = this.#dial({ receive, lost }, `${hostname}:${port}`)
    if (this.#server === undefined) throw new errors.ConnectionError('connection refused')
    this.#isConnected = true
  }

  #end(error?: Error): void {
    if (this.#isDone) return
    this.#isDone = true
    if (error !== undefined) this.closeError = error
    this.#server?.gone()
    this.#wake()
    // As of a socket: one that never was connected is of no account.
    if (this.#isConnected) this.#close(error)
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    for (;;) {
      while (this.#frames.length > 0) yield this.#frames.shift()!
      if (this.#isDone) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  isEncrypted(): boolean {
    return false
  }

  send(frame: Uint8Array): void {
    // The library uses its buffer again.
    if (!this.#isDone) this.#server?.take(Uint8Array.from(frame))
  }

  async close(error?: Error): Promise<void> {
    this.#end(error)
  }

  disconnect(): void {
    this.#end()
  }

  closed(): ReturnType<Transport['closed']> {
    return this.#closed
  }

  discard(): void {}
}
