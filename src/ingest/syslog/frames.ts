/**
 * Framing of syslog over TCP, as senders use it (RFC 6587, section 3.4): a message begins with its length and a space (octet counting), or ends
 * with LF, CRLF or NUL (non-transparent framing). A sender may mix them, so each message is looked at by itself.
 */
import { lineBytesMax } from '../line-splitter.js'

const [lineFeed, nul] = [0x0a, 0x00]
const [zero, nine] = [0x30, 0x39]
const space = 0x20
/** No length has more digits. */
const digitsMax = 16

export class SyslogFrames {
  #bytes: Buffer = Buffer.alloc(0)

  /** A message without its end, when the connection has ended. */
  rest(): string {
    const { countBytes } = this.#count()
    return withoutEnd(this.#bytes.subarray(countBytes).toString()).trim()
  }

  /** Throws if a message is too long, or its length is none: what follows can't be divided into messages. */
  *push(chunk: Buffer): Generator<string> {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) if (frame !== '') yield frame
  }

  #next(): string | undefined {
    const { length, countBytes, isCut } = this.#count()
    if (isCut) return undefined
    const frame = length === undefined ? this.#line() : this.#counted(length, countBytes)
    if (frame === undefined && this.#bytes.length > lineBytesMax + countBytes)
      throw new Error('a message is too long')
    return frame
  }

  /** Digits and a space. A text that begins with digits, such as an address, has no space behind them. */
  #count(): { readonly length?: number; readonly countBytes: number; readonly isCut?: boolean } {
    const bytes = this.#bytes
    const isDigit = (at: number): boolean => bytes[at]! >= zero && bytes[at]! <= nine
    if (bytes.length === 0 || !isDigit(0) || bytes[0] === zero) return { countBytes: 0 }
    let end = 1
    while (end < bytes.length && end < digitsMax && isDigit(end)) end += 1
    if (end === bytes.length && end < digitsMax) return { countBytes: 0, isCut: true }
    if (bytes[end] !== space) return { countBytes: 0 }
    const length = Number(bytes.subarray(0, end).toString())
    if (length > lineBytesMax) throw new Error('a message begins with a length that is none')
    return { length, countBytes: end + 1 }
  }

  #line(): string | undefined {
    const bytes = this.#bytes
    // Not one search for each: the one that is not there would be looked for behind every message.
    let end = 0
    while (end < bytes.length && bytes[end] !== lineFeed && bytes[end] !== nul) end += 1
    return end === bytes.length ? undefined : this.#take(0, end, end + 1)
  }

  #counted(length: number, countBytes: number): string | undefined {
    const end = countBytes + length
    return this.#bytes.length < end ? undefined : this.#take(countBytes, end, end)
  }

  #take(start: number, end: number, next: number): string {
    const text = this.#bytes.subarray(start, end).toString()
    this.#bytes = this.#bytes.subarray(next)
    return withoutEnd(text)
  }
}

/** A text without line breaks and NUL behind it. A regular expression would try each of them as a beginning. */
export function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && '\r\n\0'.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}
