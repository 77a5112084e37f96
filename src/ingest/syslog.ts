/** Messages of syslog: RFC 3164, RFC 5424, and their framing over TCP, RFC 6587. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { every } from '../core/clock.js'
import { messageOf, StartFault } from '../core/errors.js'
import { lineBytesMax } from './line-splitter.js'

/** `<134>1 2026-11-20T10:00:00Z host app 12 - - text`, with or without structured data. */
const rfc5424 =
  /^<\d{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+)(?: \uFEFF?(?<text>[\s\S]*))?$/
/** `<134>Nov 20 10:00:00 host haproxy[12]: text`; senders leave out the host, or the tag. */
const rfc3164 =
  /^<\d{1,3}>(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )?(?:(?!\S+: )[\w.:-]+ (?=\S+: ))?(?:[^\s:[\]]+(?:\[\d+\])?: )?(?<text>[\s\S]*)$/

/** The text of a message, without its head. A text without a head is returned as it is. */
export function syslogText(message: string): string {
  const match = rfc5424.exec(message) ?? rfc3164.exec(message)
  return (match === null ? message : (match.groups?.['text'] ?? '')).trimEnd()
}

/** Without line breaks and NUL behind it. A regular expression would try each of them as a beginning. */
function endOf(text: string): number {
  let end = text.length
  while (end > 0 && '\r\n\0'.includes(text[end - 1]!)) end -= 1
  return end
}

const lineFeed = 0x0a
const [zero, nine] = [0x30, 0x39]
/** `262144 `: digits before an octet-counted message. */
const countChars = String(lineBytesMax).length

/** Cuts a TCP stream into messages. Each begins with its length and a space, or ends with a line break (RFC 6587, 3.4). */
export class SyslogFrames {
  #bytes: Buffer = Buffer.alloc(0)

  /** A message without its line break, when the connection has ended. */
  rest(): string {
    return this.#bytes.toString().trim()
  }

  /** Throws if a message is too long, or its length is none: what follows can't be told apart. */
  *push(chunk: Buffer): Generator<string> {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) if (frame !== '') yield frame
  }

  #next(): string | undefined {
    const [first = 0] = this.#bytes
    const isCounted = first > zero && first <= nine
    const frame = isCounted ? this.#counted() : this.#line()
    if (frame === undefined && this.#bytes.length > lineBytesMax) throw new Error('a message is too long')
    return frame
  }

  #line(): string | undefined {
    const end = this.#bytes.indexOf(lineFeed)
    return end === -1 ? undefined : this.#take(end, end + 1)
  }

  #counted(): string | undefined {
    const space = this.#bytes.subarray(0, countChars + 1).indexOf(' ')
    if (space === -1 && this.#bytes.length <= countChars) return undefined
    const length = Number(this.#bytes.subarray(0, Math.max(0, space)).toString() || Number.NaN)
    if (!Number.isInteger(length) || length > lineBytesMax)
      throw new Error('a message begins with a length that is none')
    const end = space + 1 + length
    if (this.#bytes.length < end) return undefined
    this.#bytes = this.#bytes.subarray(space + 1)
    return this.#take(length, length)
  }

  #take(end: number, next: number): string {
    const text = this.#bytes.subarray(0, end).toString()
    this.#bytes = this.#bytes.subarray(next)
    return text.slice(0, endOf(text))
  }
}

interface SyslogOptions {
  readonly host: string
  readonly port: number
  /** Tells an operator what is wrong. */
  readonly note: (text: string) => void
  /** Told how many messages over UDP were lost, because records could not be stored in time. */
  readonly lost: (messages: number) => void
}

/** Messages that wait, and their characters. A TCP sender waits beyond this; what comes over UDP is lost. */
const waitingMax = 10_000
const waitingCharsMax = 32 * 1024 * 1024
const tellEveryMs = 1_000
/** What the kernel may keep while this process is busy. */
const udpBufferBytes = 4 * 1024 * 1024
const connectionsMax = 1_000

export class SyslogServer {
  readonly #options: SyslogOptions
  readonly #tcp: Server
  readonly #udp: UdpSocket
  readonly #sockets = new Set<Socket>()
  readonly #waiting: string[] = []
  #waitingChars = 0
  readonly #timer = every(tellEveryMs, () => this.#tellLost())
  #lost = 0
  #isClosed = false
  #wake: () => void = () => {}
  #roomAgain: (() => void)[] = []

  constructor(options: SyslogOptions) {
    this.#options = options
    this.#tcp = createServer((socket) => void this.#serve(socket))
    this.#tcp.maxConnections = connectionsMax
    this.#udp = createSocket({
      type: options.host.includes(':') ? 'udp6' : 'udp4',
      recvBufferSize: udpBufferBytes,
    })
    this.#udp.on('message', (bytes) => this.#datagram(bytes))
  }

  get #isFull(): boolean {
    return this.#waiting.length >= waitingMax || this.#waitingChars >= waitingCharsMax
  }

  /** Resolves with the port. Rejects with a `StartFault` if it is taken. */
  async open(): Promise<number> {
    const { host, port } = this.#options
    try {
      this.#tcp.listen(port, host)
      await once(this.#tcp, 'listening')
      const address = this.#tcp.address()
      const chosen = typeof address === 'object' && address !== null ? address.port : port
      this.#udp.bind(chosen, host)
      await once(this.#udp, 'listening')
      const failed = (error: Error): void => this.#options.note(`Syslog: ${messageOf(error)}.`)
      this.#tcp.on('error', failed)
      this.#udp.on('error', failed)
      this.#tcp.on('drop', () =>
        this.#options.note(`Syslog has ${connectionsMax} connections: another one is refused.`),
      )
      return chosen
    } catch (error) {
      throw new StartFault(`Syslog can't be taken on ${host}:${port}: ${messageOf(error)}.`)
    }
  }

  /** The texts of the messages, until it is closed. */
  async *lines(): AsyncGenerator<string> {
    for (;;) {
      const text = this.#waiting.shift()
      if (text !== undefined) {
        this.#waitingChars -= text.length
        yield text
        if (!this.#isFull) for (const go of this.#roomAgain.splice(0)) go()
        continue
      }
      if (this.#isClosed) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Takes no more; what waits is still read. */
  close(): void {
    this.#isClosed = true
    this.#timer.stop()
    this.#tellLost()
    this.#tellLost()
    this.#tcp.close()
    this.#udp.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#wake()
  }

  #datagram(bytes: Buffer): void {
    if (this.#isFull) this.#lost += 1
    else this.#add(bytes.toString())
  }

  #tellLost(): void {
    if (this.#lost > 0) this.#options.lost(this.#lost)
    this.#lost = 0
  }

  #add(message: string): void {
    const text = syslogText(message)
    this.#waiting.push(text)
    this.#waitingChars += text.length
    this.#wake()
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket)
    socket.setKeepAlive(true)
    const frames = new SyslogFrames()
    try {
      for await (const chunk of socket) {
        for (const message of frames.push(chunk as Buffer)) this.#add(message)
        if (this.#isFull) await new Promise<void>((resolve) => void this.#roomAgain.push(resolve))
      }
      const rest = frames.rest()
      if (rest !== '') this.#add(rest)
    } catch (error) {
      if (!this.#isClosed) this.#options.note(`A connection of syslog was closed: ${messageOf(error)}.`)
    } finally {
      socket.destroy()
      this.#sockets.delete(socket)
    }
  }
}
