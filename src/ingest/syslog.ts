/** Messages of syslog: RFC 3164, RFC 5424, and their framing over TCP, RFC 6587. */
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
