/**
 * What one side of a connection to NATS sends, message by message, for proxies that look for one of them.
 * https://docs.nats.io/reference/reference-protocols/nats-protocol
 */

const lineEnd = '\r\n'
const withPayload = /^H?(PUB|MSG) /

export interface NatsFrame {
  /** The first line: `PUB subject [reply] bytes`, `MSG subject sid [reply] bytes`, `PING` … */
  readonly line: string
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
      const line = this.#rest.toString('latin1', 0, end)
      const lineBytes = end + lineEnd.length
      const bytes = withPayload.test(line)
        ? lineBytes + Number(line.slice(line.lastIndexOf(' '))) + lineEnd.length
        : lineBytes
      if (bytes > this.#rest.length) return whole
      whole.push({ line, bytes: this.#rest.subarray(0, bytes) })
      this.#rest = this.#rest.subarray(bytes)
    }
  }
}

/** The subject of a publish; empty for other messages. */
export const publishedTo = ({ line }: NatsFrame): string => /^H?PUB (\S+)/.exec(line)?.[1] ?? ''
