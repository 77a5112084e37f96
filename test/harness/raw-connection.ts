/** A connection that sends exact bytes and keeps every answer. */
import { connect, type Server, type Socket } from 'node:net'
import { until } from './weir.js'

/** The port on which an API instance of a test listens. */
export function portOf({ server }: { readonly server: Server }): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export class RawConnection {
  readonly #socket: Socket
  #text = ''
  #isClosed = false

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (chunk) => {
      this.#text += chunk
    })
    this.#socket.on('close', () => {
      this.#isClosed = true
    })
    // A server that has closed the connection may reset it while the test still sends.
    this.#socket.on('error', () => {})
  }

  send(...lines: readonly string[]): void {
    this.#socket.write(lines.join('\r\n'), 'latin1')
  }

  /** Waits until the operating system has everything that was sent. */
  async sent(): Promise<void> {
    await until('everything is sent', () => !this.#socket.connecting && this.#socket.writableLength === 0)
  }

  /** Closes the connection; the rest is never sent. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** The answers so far; each has a `Content-Length`. */
  get answers(): RawAnswer[] {
    const answers: RawAnswer[] = []
    for (let rest = this.#text; ; ) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return answers
      const head = rest.slice(0, end)
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
      const body = rest.slice(end + 4, end + 4 + length)
      if (body.length < length) return answers
      answers.push({ status: Number(head.split(' ')[1]), head, body })
      rest = rest.slice(end + 4 + length)
    }
  }

  get statuses(): number[] {
    return this.answers.map(({ status }) => status)
  }

  /** Waits for this many answers. */
  async answered(count: number): Promise<RawAnswer[]> {
    await until(`${count} answers`, () => this.answers.length >= count)
    return this.answers
  }

  /** Waits until the server has closed the connection, and returns all answers. */
  async closed(): Promise<RawAnswer[]> {
    await until('the connection is closed', () => this.#isClosed)
    return this.answers
  }
}
