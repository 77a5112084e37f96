/**
 * Cuts messages that requests of a pull consumer brought out of the bytes of a socket, past the library's parser and the
 * objects that it makes of each: where a message holds one record, they take as long as the record's walk.
 *
 * Only a whole message of an open request is taken here, and never its last one: so the library ends each request, as it
 * answers everything else that the server sends, and what comes in parts. It counts what was taken as if it had come its way.
 */
import { Parser, type ProtocolHandler, State } from '@nats-io/nats-core/internal'
import type { ConsumerMessages } from './consumers.js'
import { protocolOf } from './messages.js'
import { DeliveredMessage, deliveryOf, type PulledMessage } from './pulled-message.js'

/** What the library knows of a request; its types hide it. */
export interface PullRequest {
  readonly sub: { readonly sid: number }
  readonly pending: { msgs: number }
  received: number
  readonly done: boolean
  readonly monitor: { work(): void } | null
}

interface Taker {
  readonly request: PullRequest
  readonly add: (message: PulledMessage) => void
}

type Connection = Parameters<typeof protocolOf>[0]
type Hidden = PullRequest & { readonly consumer: { readonly api: { readonly nc: Connection } } }

const cutters = new WeakMap<ProtocolHandler, MessageCutter>()

/** Gives messages of this request to `add` as soon as their bytes are here, besides those that the library brings. */
export function cutMessages(messages: ConsumerMessages, add: Taker['add']): void {
  const request = messages as unknown as Hidden
  const protocol = protocolOf(request.consumer.api.nc)
  const cutter = cutters.get(protocol) ?? new MessageCutter()
  cutters.set(protocol, cutter)
  // Each connection to a server has a parser of its own, and so has a request: it ends with the connection.
  cutter.attach(protocol.parser)
  cutter.open(request, add)
  void messages.closed().then(() => cutter.close(request))
}

const [capitalH, capitalM, capitalS, capitalG] = [0x48, 0x4d, 0x53, 0x47]
const [space, carriageReturn, lineFeed, zero, nine] = [0x20, 0x0d, 0x0a, 0x30, 0x39]

export class MessageCutter {
  readonly #takers = new Map<number, Taker>()
  #attached: Parser | undefined
  /** Where the number ends that was read last. */
  #end = 0

  attach(parser: Parser): void {
    if (parser === this.#attached) return
    this.#attached = parser
    parser.parse = (bytes: Uint8Array) => this.#parse(parser, bytes as Buffer)
  }

  open(request: PullRequest, add: Taker['add']): void {
    this.#takers.set(request.sub.sid, { request, add })
  }

  close({ sub }: PullRequest): void {
    this.#takers.delete(sub.sid)
  }

  #parse(parser: Parser, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (parser.state === State.OP_START) at = this.#takeAll(bytes, at)
      if (at === bytes.length) return
      const end = endOfRest(parser, bytes, at)
      Parser.prototype.parse.call(parser, bytes.subarray(at, end))
      at = end
    }
  }

  /** Takes messages from there on; the place where something else begins. */
  #takeAll(bytes: Buffer, from: number): number {
    let at = from
    let taker: Taker | undefined
    for (let end = at; end !== -1; ) {
      at = end
      const isPlain = bytes[at] === capitalM
      const word = isPlain ? at : at + 1
      end = -1
      if (!isPlain && bytes[at] !== capitalH) break
      if (bytes[word] !== capitalM || bytes[word + 1] !== capitalS) break
      if (bytes[word + 2] !== capitalG || bytes[word + 3] !== space) break
      const subjectStart = word + 4
      const subjectEnd = endOfWord(bytes, subjectStart)
      const found = this.#takers.get(this.#numberAt(bytes, subjectEnd + 1))
      if (found === undefined || found.request.done || found.request.pending.msgs <= 1) break
      end = this.#take(found, bytes, subjectStart, subjectEnd, isPlain)
      taker = found
    }
    taker?.request.monitor?.work()
    return at
  }

  /** The end of the message; -1: it is not whole, or not as it should be. */
  #take({ request, add }: Taker, bytes: Buffer, subjectStart: number, subjectEnd: number, isPlain: boolean) {
    const replyStart = this.#end + 1
    const replyEnd = endOfWord(bytes, replyStart)
    const first = this.#numberAt(bytes, replyEnd + 1)
    const size = isPlain ? first : this.#numberAt(bytes, this.#end + 1)
    const start = this.#end + 2
    const end = start + size
    if (bytes[this.#end] !== carriageReturn || !(end + 2 <= bytes.length)) return -1
    const dataStart = isPlain ? start : start + first
    const header = isPlain ? undefined : bytes.subarray(start, dataStart)
    const delivery = deliveryOrNone(bytes, replyStart, replyEnd)
    if (delivery === undefined) return -1
    const data = bytes.subarray(dataStart, end)
    add(new DeliveredMessage(delivery, data, header, bytes, subjectStart, subjectEnd))
    request.received += 1
    request.pending.msgs -= 1
    return end + 2
  }

  /** NaN if there is none. */
  #numberAt(bytes: Buffer, start: number): number {
    let at = start
    let number = 0
    for (let byte = bytes[at]; byte !== undefined && byte >= zero && byte <= nine; byte = bytes[++at])
      number = number * 10 + byte - zero
    this.#end = at
    return at === start ? Number.NaN : number
  }
}

/** None if a message's reply is unlike those of consumers: the library then ends its request. */
function deliveryOrNone(bytes: Buffer, start: number, end: number) {
  try {
    return deliveryOf(bytes, start, end)
  } catch {
    return undefined
  }
}

/** Where the word ends that begins there. */
function endOfWord(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length && bytes[at] !== space && bytes[at] !== carriageReturn) at += 1
  return at
}

/** Up to there, bytes are the library's: all of them, unless it only waits for the end of a message. */
function endOfRest({ state, ma, msgBuf }: Parser, bytes: Buffer, at: number): number {
  if (state === State.OP_START) return bytes.length
  if (state === State.MSG_PAYLOAD) return Math.min(bytes.length, at + ma.size - (msgBuf?.length ?? 0) + 2)
  const end = bytes.indexOf(lineFeed, at)
  return end === -1 ? bytes.length : end + 1
}
