/** A message that a pull consumer delivered: what its acknowledgement subject says, and its headers. */
import type { JsMsg } from '@nats-io/jetstream'
import { MsgHdrsImpl, type MsgImpl } from '@nats-io/nats-core/internal'
import { bufferOf } from '../core/bytes.js'
import { shown } from '../core/errors.js'

/** Empty text for a header that a message does not have. */
interface MessageHeaders {
  get(name: string): string
}

/**
 * Most messages have none of the headers that are asked for. Decoding all of them takes 5 to 8 times as long as looking for
 * the name in their bytes.
 */
class DeliveredHeaders implements MessageHeaders {
  readonly #bytes: Uint8Array
  #text: string | undefined

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get(name: string): string {
    this.#text ??= bufferOf(this.#bytes).toString('latin1')
    return this.#text.includes(name) ? MsgHdrsImpl.decode(this.#bytes).get(name) : ''
  }
}

export interface PulledMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly sequence: number
  /** 1 for a first delivery. */
  readonly deliveries: number
  readonly storedAtMs: number
  /** Messages of the consumer that were waiting behind it. */
  readonly pending: number
  readonly headers: MessageHeaders | undefined
  /** The subject for its acknowledgement. */
  readonly reply: string
}

/** As the library gives it. */
export function pulled(message: JsMsg): PulledMessage {
  const { _msg, _rdata } = (message as JsMsg & { readonly msg: MsgImpl }).msg
  const header = _msg.hdr > 0 ? _rdata.subarray(0, _msg.hdr) : undefined
  const { subject } = _msg
  const reply = bufferOf(_msg.reply ?? noBytes)
  const delivery = deliveryOf(reply, 0, reply.length)
  return new DeliveredMessage(delivery, message.data, header, bufferOf(subject), 0, subject.length)
}

/** Values that are rarely needed are decoded on first use. */
export class DeliveredMessage implements PulledMessage {
  readonly data: Uint8Array
  readonly sequence: number
  readonly deliveries: number
  readonly storedAtMs: number
  readonly pending: number
  readonly reply: string
  readonly headers: MessageHeaders | undefined
  readonly #bytes: Buffer
  readonly #subjectStart: number
  readonly #subjectEnd: number

  /** `header`: the bytes before the data, if there are any. The subject is in `bytes`, from its start to its end. */
  constructor(
    { reply, deliveries, sequence, storedAtMs, pending }: Delivery,
    data: Uint8Array,
    header: Uint8Array | undefined,
    bytes: Buffer,
    subjectStart: number,
    subjectEnd: number,
  ) {
    this.data = data
    this.sequence = sequence
    this.deliveries = deliveries
    this.storedAtMs = storedAtMs
    this.pending = pending
    this.reply = reply
    this.headers = header && new DeliveredHeaders(header)
    this.#bytes = bytes
    this.#subjectStart = subjectStart
    this.#subjectEnd = subjectEnd
  }

  get subject(): string {
    return this.#bytes.toString('utf8', this.#subjectStart, this.#subjectEnd)
  }
}

const nanosDigits = 6
const noBytes = Buffer.alloc(0)
/** How the subject begins that a message is acknowledged on. */
const replyHead = Buffer.from('$JS.ACK.')

/** The positions of a subject's tokens; reused for each subject. */
const tokenStarts = new Int32Array(16)
const shortForm = 9
const shortFirst = 4
const longFirst = 6
/** From the deliveries to the pending ones. */
const tokensRead = 5
const dot = 0x2e
const zero = 0x30

/** What the acknowledgement subject of a message says. */
type Delivery = Pick<PulledMessage, 'reply' | 'deliveries' | 'sequence' | 'storedAtMs' | 'pending'>

/**
 * Parses the acknowledgement subject between these bytes in one pass: the library parses it again for each value. `$JS.ACK.`
 * [domain `.` account hash `.`] stream `.` consumer `.` deliveries `.` sequence `.` sequence of the consumer `.` ns since the
 * epoch `.` pending [`.` random]; see ADR-15 of NATS.
 */
export function deliveryOf(bytes: Buffer, start: number, end: number): Delivery {
  let tokens = 1
  for (let at = start; at < end && tokens < tokenStarts.length; at += 1)
    if (bytes[at] === dot) tokenStarts[tokens++] = at + 1
  const first = tokens === shortForm ? shortFirst : longFirst
  const reply = bytes.toString('latin1', start, end)
  if (tokens < first + tokensRead || !isHead(bytes, start))
    throw new Error(`A message of a consumer has an unknown acknowledgement subject: ${shown(reply)}`)
  return {
    reply,
    deliveries: numberAt(bytes, tokenStarts[first]!, end, 0),
    sequence: numberAt(bytes, tokenStarts[first + 1]!, end, 0),
    storedAtMs: numberAt(bytes, tokenStarts[first + 3]!, end, nanosDigits),
    pending: numberAt(bytes, tokenStarts[first + 4]!, end, 0),
  }
}

function isHead(bytes: Buffer, start: number): boolean {
  for (let at = 0; at < replyHead.length; at += 1) if (bytes[start + at] !== replyHead[at]) return false
  return true
}

/** The number that begins there and ends at a dot or with the subject, without its last digits. */
function numberAt(bytes: Buffer, start: number, subjectEnd: number, digitsCut: number): number {
  let end = start
  while (end < subjectEnd && bytes[end] !== dot) end += 1
  let number = 0
  for (let at = start; at < end - digitsCut; at += 1) number = number * 10 + bytes[at]! - zero
  return number
}
