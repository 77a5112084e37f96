/**
 * What one side of a connection to NATS sends, message by message, for proxies that look for one of them.
 * https://docs.nats.io/reference/reference-protocols/nats-protocol
 */

const lineEnd = '\r\n'
const withPayload = new Set(['PUB', 'HPUB', 'MSG', 'HMSG'])

export interface NatsFrame {
  /** Of the first line: `PUB subject [reply] bytes`, `MSG subject sid [reply] bytes`, `PING` … */
  readonly words: readonly string[]
  /** The whole message. */
  readonly bytes: Buffer
}

export class NatsFrames {
  #rest: Buffer = Buffer.alloc(0)

  /** The messages that are whole with these bytes. */
  take(chunk: Buffer): NatsFrame[] {
    const whole: NatsFrame[] = []
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (;;) {
      const end = this.#rest.indexOf(lineEnd)
      if (end === -1) return whole
      const words = this.#rest.toString('latin1', 0, end).split(' ')
      const lineBytes = end + lineEnd.length
      const bytes = withPayload.has(words[0]!) ? lineBytes + Number(words.at(-1)) + lineEnd.length : lineBytes
      if (bytes > this.#rest.length) return whole
      whole.push({ words, bytes: this.#rest.subarray(0, bytes) })
      this.#rest = this.#rest.subarray(bytes)
    }
  }
}

/** The subject of a publish; empty for other messages. */
export const publishedTo = ({ words: [verb, subject = ''] }: NatsFrame): string =>
  verb === 'PUB' || verb === 'HPUB' ? subject : ''

/** Where a delivered message is acknowledged; empty for others. */
export function answeredTo({ words }: NatsFrame): string {
  const isWithReply = (words[0] === 'MSG' && words.length === 5) || (words[0] === 'HMSG' && words.length === 6)
  return isWithReply ? words[3]! : ''
}
