/**
 * Cuts what a server sends into whole messages, and throws at the first one that is none, or too large: the library keeps
 * any number of bytes of a message that never ends, and writes to the console what it can't read.
 * https://docs.nats.io/reference/reference-protocols/nats-protocol
 */

/** The server sends something else than the protocol of NATS, or more than it was asked for. */
export class NotNatsError extends Error {
  override readonly name = 'NotNatsError'

  constructor(message = 'The server does not answer as NATS does.') {
    super(message)
  }
}

const lineEnd = Buffer.from('\r\n')
/** Enough for INFO, the longest line. */
const lineBytesMax = 64 * 1024
/** More than any answer to what is asked here. */
const messageBytesMax = 256 * 1024

const lineForm =
  /^(?:(?:HMSG \S+ \d{1,9} (?:\S+ )?\d{1,9}|MSG \S+ \d{1,9}(?: \S+)?) (?<size>\d{1,9})|PING|PONG|\+OK|-ERR [^\r\n]+|INFO (?<info>\{[^\r\n]*\}) *)\r\n$/

export interface ServerMessage {
  readonly bytes: Buffer
  /** The JSON of an INFO. */
  readonly info: string | undefined
}

export class ServerMessages {
  #held: Buffer[] = []
  #heldBytes = 0
  /** The number of held bytes in which no line ends. */
  #searched = 0
  /** The message that begins with the held bytes, as far as it is known. */
  #next: { readonly bytes: number; readonly info: string | undefined } | undefined

  /** Nothing was sent behind the messages that were taken. */
  get isEmpty(): boolean {
    return this.#heldBytes === 0
  }

  add(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
  }

  /** The next message, if it is whole. */
  take(): ServerMessage | undefined {
    this.#next ??= this.#readLine()
    if (this.#next === undefined || this.#heldBytes < this.#next.bytes) return undefined
    const { bytes, info } = this.#next
    const all = this.#all()
    const message = all.subarray(0, bytes)
    if (!message.subarray(-2).equals(lineEnd)) throw new NotNatsError()
    this.#held = [all.subarray(bytes)]
    this.#heldBytes -= bytes
    this.#searched = 0
    this.#next = undefined
    return { bytes: message, info }
  }

  #all(): Buffer {
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    this.#held = [all]
    return all
  }

  #readLine(): { bytes: number; info: string | undefined } | undefined {
    if (this.#heldBytes === this.#searched) return undefined
    const all = this.#all()
    const end = all.indexOf(lineEnd, Math.max(0, this.#searched - 1)) + lineEnd.length
    this.#searched = all.length
    if (end < lineEnd.length) {
      if (all.length > lineBytesMax) throw new NotNatsError()
      return undefined
    }
    const line = lineForm.exec(end > lineBytesMax ? '' : all.toString('utf8', 0, end))
    if (line === null) throw new NotNatsError()
    const { size, info } = line.groups!
    if (Number(size ?? 0) > messageBytesMax)
      throw new NotNatsError(`The server sends a message of ${size} bytes.`)
    return { bytes: size === undefined ? end : end + Number(size) + lineEnd.length, info }
  }
}
