/**
 * Framing of syslog over TCP, as senders use it (RFC 6587, section 3.4): a message begins with its length and a space (octet
 * counting), or ends with LF, CRLF or NUL (non-transparent framing). A sender may mix them, so each message is looked at by
 * itself.
 */
import { lineBytesMax } from '../lines/line-splitter.js'

const [lineFeed, nul] = [0x0a, 0x00]
const [zero, nine] = [0x30, 0x39]
const space = 0x20
/** No length has more digits. */
const digitsMax = 16
/** A message that begins with a larger number would swallow what follows it. */
const lengthMax = 16 * 1024 * 1024
/** RFC 5424 without its priority begins with `1 `: no message has one byte. */
const version = 1

export interface SyslogFrame {
  /** Without its end. Of a message that is too long, the beginning. */
  readonly text: string
  readonly isTooLong: boolean
}

/** A message that is too long, while the rest of it is skipped. */
interface LongFrame {
  readonly start: Buffer
  /** Bytes that are still to come; undefined if it ends with LF or NUL. */
  left: number | undefined
}

const noBytes: Buffer = Buffer.alloc(0)

export class SyslogFrames {
  /** What came and was not taken. */
  #bytes = noBytes
  /** Has these bytes at its end, if they came in several chunks, and may have room behind them. */
  #room = noBytes
  #roomEnd = 0
  /** So many of the bytes have no end among them. */
  #searched = 0
  #long: LongFrame | undefined

  /** A message without its end, when the connection has ended. */
  rest(): SyslogFrame | undefined {
    if (this.#long !== undefined) return { text: this.#long.start.toString(), isTooLong: true }
    const text = withoutEnd(this.#bytes.subarray(this.#count().countBytes).toString()).trim()
    return text === '' ? undefined : { text, isTooLong: false }
  }

  /** Throws if the length of a message is none: what follows can't be divided into messages. */
  *push(chunk: Buffer): Generator<SyslogFrame> {
    this.#add(chunk)
    for (let frame = this.#next(); frame !== undefined; frame = this.#next())
      if (frame.text !== '') yield frame
  }

  /** A sender may cut a message into single bytes: those that are here are neither copied nor searched again for each. */
  #add(chunk: Buffer): void {
    const { length } = this.#bytes
    if (length === 0) {
      this.#bytes = chunk
      this.#room = noBytes
      this.#roomEnd = 0
      return
    }
    const isInRoom = this.#roomEnd > 0
    if (!isInRoom || this.#room.length - this.#roomEnd < chunk.length) {
      this.#room = Buffer.allocUnsafe(2 * (length + chunk.length))
      this.#roomEnd = this.#bytes.copy(this.#room)
    }
    const start = this.#roomEnd - length
    this.#roomEnd += chunk.copy(this.#room, this.#roomEnd)
    this.#bytes = this.#room.subarray(start, this.#roomEnd)
  }

  #next(): SyslogFrame | undefined {
    if (this.#long !== undefined) return this.#skip(this.#long)
    const { length, countBytes, isCut } = this.#count()
    if (isCut) return undefined
    const frame = length === undefined ? this.#line() : this.#counted(length, countBytes)
    if (frame !== undefined || this.#bytes.length <= lineBytesMax + countBytes) return frame
    // Copied: what is skipped need not be kept.
    const start = Buffer.from(this.#bytes.subarray(countBytes, countBytes + lineBytesMax))
    this.#long = { start, left: length }
    this.#cut(countBytes)
    return this.#skip(this.#long)
  }

  /** Digits and a space. A text that begins with digits, such as an address, has no space behind them. */
  #count(): { readonly length?: number; readonly countBytes: number; readonly isCut?: boolean } {
    const bytes = this.#bytes
    const isDigit = (at: number): boolean => bytes[at]! >= zero && bytes[at]! <= nine
    if (bytes.length === 0 || !isDigit(0) || bytes[0] === zero) return { countBytes: 0 }
    let end = 1
    while (end < bytes.length && end < digitsMax && isDigit(end)) end += 1
    if (end === bytes.length && end < digitsMax) return { countBytes: 0, isCut: true }
    const length = Number(bytes.subarray(0, end).toString())
    if (bytes[end] !== space || length === version) return { countBytes: 0 }
    if (length > lengthMax) throw new Error('a message begins with a length that is none')
    return { length, countBytes: end + 1 }
  }

  #line(): SyslogFrame | undefined {
    const end = this.#lineEnd()
    return end === -1 ? undefined : this.#take(0, end, end + 1)
  }

  #lineEnd(): number {
    const bytes = this.#bytes
    // Not one search for each: the one that is not there would be looked for behind every message.
    let end = this.#searched
    while (end < bytes.length && bytes[end] !== lineFeed && bytes[end] !== nul) end += 1
    this.#searched = end
    return end === bytes.length ? -1 : end
  }

  #counted(length: number, countBytes: number): SyslogFrame | undefined {
    const end = countBytes + length
    return this.#bytes.length < end ? undefined : this.#take(countBytes, end, end)
  }

  #take(start: number, end: number, next: number): SyslogFrame {
    const isTooLong = end - start > lineBytesMax
    const text = this.#bytes.subarray(start, isTooLong ? start + lineBytesMax : end).toString()
    this.#cut(next)
    return { text: withoutEnd(text), isTooLong }
  }

  #cut(bytes: number): void {
    this.#bytes = this.#bytes.subarray(bytes)
    this.#searched = 0
  }

  /** The message, once all of it came. */
  #skip(long: LongFrame): SyslogFrame | undefined {
    const end = long.left === undefined ? this.#lineEnd() + 1 : Math.min(long.left, this.#bytes.length)
    const isEnd = long.left === undefined ? end > 0 : end === long.left
    if (long.left !== undefined) long.left -= end
    this.#cut(isEnd || long.left !== undefined ? end : this.#bytes.length)
    if (!isEnd) return undefined
    this.#long = undefined
    return { text: long.start.toString(), isTooLong: true }
  }
}

/** A text without line breaks and NUL behind it. A regular expression would try each of them as a beginning. */
export function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && '\r\n\0'.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}
