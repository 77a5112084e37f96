/** The client library's way to a model server: the place of a socket. */
import { type ConnectionOptions, errors, type NatsConnection } from '@nats-io/nats-core'
import { NatsConnectionImpl, setTransportFactory, type Transport } from '@nats-io/nats-core/internal'
import type { ClientConnection, ClientEnd } from './server.js'

/** Opens a way to the server; undefined while it can't be reached. */
type Dial = (end: ClientEnd) => ClientConnection | undefined

/** As the library's own `connect`, to a model. */
export function connectTo(dial: Dial, options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new ModelTransport(dial) })
  return NatsConnectionImpl.connect(options)
}

class ModelTransport implements Transport {
  readonly lang = 'model'
  readonly version = '1'
  closeError?: Error
  readonly #dial: Dial
  #server: ClientConnection | undefined
  #frames: Uint8Array[] = []
  #wake: () => void = () => {}
  #isDone = false
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

  async connect(): Promise<void> {
    this.#server = this.#dial({
      receive: (bytes) => {
        this.#frames.push(bytes)
        this.#wake()
      },
    })
    if (this.#server === undefined) throw new errors.ConnectionError('connection refused')
  }

  #end(error?: Error): void {
    if (this.#isDone) return
    this.#isDone = true
    if (error !== undefined) this.closeError = error
    this.#server?.gone()
    this.#wake()
    this.#close(error)
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
