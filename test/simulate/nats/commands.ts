/** Commands of a client of NATS, cut out of the bytes of its connection: https://docs.nats.io/reference/reference-protocols. */
import { bufferOf } from '../../../src/ground/core/bytes.js'

export type Command =
  | { readonly verb: 'CONNECT'; readonly options: Readonly<Record<string, unknown>> }
  | { readonly verb: 'PING' | 'PONG' }
  | {
      readonly verb: 'SUB'
      readonly subject: string
      readonly queue: string | undefined
      readonly id: string
    }
  | { readonly verb: 'UNSUB'; readonly id: string; readonly max: number | undefined }
  | {
      readonly verb: 'PUB'
      readonly subject: string
      readonly reply: string | undefined
      /** Undefined if it has none. */
      readonly headers: Buffer | undefined
      readonly data: Buffer
    }

const lineEnd = Buffer.from('\r\n')

export class CommandReader {
  #rest: Buffer = Buffer.alloc(0);

  /** All commands that are whole by now. */
  *commands(bytes: Uint8Array): Generator<Command> {
    this.#rest = this.#rest.length === 0 ? bufferOf(bytes) : Buffer.concat([this.#rest, bytes])
    for (;;) {
      const end = this.#rest.indexOf(lineEnd)
      if (end === -1) return
      const line = this.#rest.toString('utf8', 0, end)
      const start = end + lineEnd.length
      const publish = publishOf(line)
      if (publish === undefined) {
        this.#rest = this.#rest.subarray(start)
        yield commandOf(line)
        continue
      }
      const { headerBytes, bytes: size, ...command } = publish
      if (this.#rest.length < start + size + lineEnd.length) return
      const headers = headerBytes === 0 ? undefined : this.#rest.subarray(start, start + headerBytes)
      const data = this.#rest.subarray(start + headerBytes, start + size)
      this.#rest = this.#rest.subarray(start + size + lineEnd.length)
      yield { ...command, headers, data }
    }
  }
}

function publishOf(line: string) {
  const [verb = '', subject = '', ...others] = line.trim().split(/\s+/)
  if (!/^H?PUB$/i.test(verb)) return undefined
  const hasHeaders = verb.length > 'PUB'.length
  const sizes = others.splice(hasHeaders ? -2 : -1).map(Number)
  const [headerBytes, bytes] = hasHeaders ? sizes : [0, ...sizes]
  const reply = others[0]
  return { verb: 'PUB' as const, subject, reply, headerBytes: headerBytes!, bytes: bytes! }
}

function commandOf(line: string): Command {
  const [verb = '', ...words] = line.trim().split(/\s+/)
  switch (verb.toUpperCase()) {
    case 'CONNECT':
      return { verb: 'CONNECT', options: JSON.parse(line.slice(line.indexOf('{'))) }
    case 'PING':
      return { verb: 'PING' }
    case 'PONG':
      return { verb: 'PONG' }
    case 'SUB':
      return {
        verb: 'SUB',
        subject: words[0]!,
        queue: words.length > 2 ? words[1] : undefined,
        id: words.at(-1)!,
      }
    case 'UNSUB':
      return { verb: 'UNSUB', id: words[0]!, max: words[1] === undefined ? undefined : Number(words[1]) }
    default:
      throw new Error(`The client sent an unknown command: ${line.slice(0, 100)}`)
  }
}
