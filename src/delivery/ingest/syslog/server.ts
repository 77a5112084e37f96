/** Messages of syslog over UDP and TCP: a server, and the texts of what it gets. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { every } from '../../../ground/core/clock.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { type SyslogFrame, SyslogFrames, withoutEnd } from './frames.js'
import { type SyslogMessage, syslogMessage } from './message.js'

interface SyslogOptions {
  readonly host: string
  readonly port: number
  /** Tells an operator what is wrong. */
  readonly note: (text: string) => void
  /** Told how many messages over UDP were lost, because records could not be stored in time. */
  readonly lost: (messages: number) => void
}

type ReceivedMessage = SyslogMessage & Pick<SyslogFrame, 'isTooLong'>

/** Messages that wait, and their characters. A TCP sender waits beyond this; what comes over UDP is lost. */
const waitingMax = 10_000
const waitingCharsMax = 32 * 1024 * 1024
const tellEveryMs = 1_000
/** The buffer of the kernel while this process is busy. */
const udpBufferBytes = 4 * 1024 * 1024
const connectionsMax = 1_000

export class SyslogServer {
  readonly #options: SyslogOptions
  readonly #tcp: Server
  readonly #udp: UdpSocket
  readonly #sockets = new Set<Socket>()
  readonly #waiting: ReceivedMessage[] = []
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
  async *lines(): AsyncGenerator<ReceivedMessage> {
    for (;;) {
      const message = this.#waiting.shift()
      if (message !== undefined) {
        this.#waitingChars -= message.text.length
        yield message
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
    else this.#add({ text: withoutEnd(bytes.toString()), isTooLong: false })
  }

  #tellLost(): void {
    if (this.#lost > 0) this.#options.lost(this.#lost)
    this.#lost = 0
  }

  #add(frame: SyslogFrame): void {
    // One that is too long is refused as it is.
    const message = frame.isTooLong ? frame : { ...syslogMessage(frame.text), isTooLong: false }
    this.#waiting.push(message)
    this.#waitingChars += message.text.length
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
      if (rest !== undefined) this.#add(rest)
    } catch (error) {
      if (!this.#isClosed) this.#options.note(`A connection of syslog was closed: ${messageOf(error)}.`)
    } finally {
      socket.destroy()
      this.#sockets.delete(socket)
    }
  }
}
