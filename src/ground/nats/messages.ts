/** Messages of JetStream, in Weir's own types. */
import type { JetStreamClient, JsMsg, StoredMsg } from '@nats-io/jetstream'
import { headers as createHeaders, type MsgHdrs, type NatsConnection, nanos } from '@nats-io/nats-core'
import type { MsgImpl, ProtocolHandler } from '@nats-io/nats-core/internal'
import { bufferOf } from '../core/bytes.js'
import { messageOf, shown } from '../core/errors.js'
import { DeliveredHeaders, type MessageHeaders } from './message-headers.js'
import {
  callTimeoutMs,
  isMessageMissing,
  isWrongRevision,
  type Patience,
  retried,
  undefinedIf,
} from './retry.js'

/** JetStream's own: the id of a published message. */
export const messageIdHeader = 'Nats-Msg-Id'

export interface PublishOptions extends Patience {
  /** A second publish with the same id within the stream's duplicate window is acknowledged and not stored. */
  readonly msgId?: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * The stream that stores it, if the message goes straight to its leader, past servers in between: worth it if there is
   * much.
   */
  readonly storedBy?: string
  /** Stores only in this stream, and only if its last message has this sequence. */
  readonly expect?: { readonly streamName: string; readonly lastSequence: number }
}

export interface PublishAfterOptions extends Patience {
  readonly headers?: Readonly<Record<string, string>>
  /** The sequence of the subject's last message; 0 if there is none. */
  readonly afterSequence: number
}

/** Publishes until a stream has stored the message. `client`: chosen for each attempt. */
export async function publishStored(
  client: () => JetStreamClient,
  subject: string,
  data: Uint8Array | string,
  { msgId, headers, expect, ...patience }: PublishOptions,
): Promise<{ sequence: number; duplicate: boolean }> {
  const options = {
    ...(msgId === undefined ? {} : { msgID: msgId }),
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    ...(expect === undefined ? {} : { expect }),
    timeout: callTimeoutMs,
    retries: 0,
  }
  const ack = await retried(() => client().publish(subject, data, options), patience)
  return { sequence: ack.seq, duplicate: ack.duplicate }
}

/** Resolves with the new sequence; undefined if another message is the subject's last. */
export async function publishAfter(
  client: JetStreamClient,
  subject: string,
  data: Uint8Array | string,
  { afterSequence, headers = {}, ...patience }: PublishAfterOptions,
): Promise<number | undefined> {
  const expect = { lastSubjectSequence: afterSequence }
  const options = { headers: headersOf(headers), timeout: callTimeoutMs, retries: 0, expect }
  const publish = () => client.publish(subject, data, options)
  const ack = await undefinedIf(isWrongRevision, () => retried(publish, patience))
  return ack?.seq
}

/** A message that a pull consumer delivered. */
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
  return new DeliveredMessage(replyOf(message), message.data, header, bufferOf(subject), 0, subject.length)
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
    reply: string,
    data: Uint8Array,
    header: Uint8Array | undefined,
    bytes: Buffer,
    subjectStart: number,
    subjectEnd: number,
  ) {
    const { deliveries, sequence, storedAtMs, pending } = deliveryOf(reply)
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

/** The subject that a message is acknowledged on; every message of a consumer has one. */
const replyOf = (message: JsMsg): string => (message as JsMsg & { readonly reply: string }).reply

/** The positions of a subject's tokens; reused for each subject. */
const tokenStarts = new Int32Array(16)
const shortForm = 9
const shortFirst = 4
const longFirst = 6
/** From the deliveries to the pending ones. */
const tokensRead = 5
const dot = 0x2e
const zero = 0x30

/**
 * Parses the acknowledgement subject in one pass: the library parses it again for each value. `$JS.ACK.` [domain `.` account
 * hash `.`] stream `.` consumer `.` deliveries `.` sequence `.` sequence of the consumer `.` ns since the epoch `.` pending
 * [`.` random]; see ADR-15 of NATS.
 */
function deliveryOf(reply: string) {
  let tokens = 1
  for (let at = 0; at < reply.length && tokens < tokenStarts.length; at += 1)
    if (reply.charCodeAt(at) === dot) tokenStarts[tokens++] = at + 1
  const first = tokens === shortForm ? shortFirst : longFirst
  if (!reply.startsWith('$JS.ACK.') || tokens < first + tokensRead)
    throw new Error(`A message of a consumer has an unknown acknowledgement subject: ${shown(reply)}`)
  return {
    deliveries: numberAt(reply, tokenStarts[first]!, 0),
    sequence: numberAt(reply, tokenStarts[first + 1]!, 0),
    storedAtMs: numberAt(reply, tokenStarts[first + 3]!, nanosDigits),
    pending: numberAt(reply, tokenStarts[first + 4]!, 0),
  }
}

/** The number that begins there and ends at a dot or with the text, without its last digits. */
function numberAt(text: string, start: number, digitsCut: number): number {
  let end = start
  while (end < text.length && text.charCodeAt(end) !== dot) end += 1
  let number = 0
  for (let at = start; at < end - digitsCut; at += 1) number = number * 10 + text.charCodeAt(at) - zero
  return number
}

/** A server with a busy disk may take seconds. */
const confirmTimeoutMs = 5_000

/**
 * Acknowledgements of a message that a consumer delivered, besides an empty one, which says that it is done; ADR-13 of NATS.
 */
const progress = {
  again: Buffer.from('-NAK'),
  working: Buffer.from('+WPI'),
}

/** The types hide it. */
export const protocolOf = (connection: NatsConnection): ProtocolHandler =>
  (connection as NatsConnection & { readonly protocol: ProtocolHandler }).protocol

/**
 * Answers of a consumer's messages. They take only the subject of the answer: a message that is kept until then would
 * keep its bytes, too, and tens of thousands of messages can be in flight.
 */
export class Acknowledgements {
  readonly #connection: NatsConnection
  /** Messages that are done, whose acknowledgements are not sent yet. */
  #done: string[] = []

  constructor(connection: NatsConnection) {
    this.#connection = connection
  }

  /**
   * The message is done. Messages are done by the thousand, when a pack is stored: all of a turn are acknowledged with one
   * command, which takes half of what a publish of each does.
   */
  done(reply: string): void {
    if (this.#done.length === 0) queueMicrotask(() => this.#sendDone())
    this.#done.push(reply)
  }

  #sendDone(): void {
    let commands = ''
    for (const reply of this.#done) commands += `PUB ${reply} 0\r\n\r\n`
    this.#done = []
    // Commands that are buffered while NATS is away are sent afterwards, as with the library's own publish.
    if (commands !== '') protocolOf(this.#connection).sendCommand(Buffer.from(commands))
  }

  /** The message is redelivered, to any process, at once or after `delayMs`. */
  again(reply: string, delayMs = 0): void {
    const payload = delayMs === 0 ? progress.again : `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`
    this.#connection.publish(reply, payload)
  }

  /** The message stays ours for as long again as when it was delivered. */
  working(reply: string): void {
    this.#connection.publish(reply, progress.working)
  }

  /**
   * Waits until the server knows that this message is done, and with it all earlier ones of its consumer: it processes
   * acknowledgements in order. Until then, a server that ends may lose them and redeliver the messages. Returns false if
   * that was not confirmed: NATS is unreachable, or the consumer was deleted.
   */
  async confirm(reply: string): Promise<boolean> {
    this.#sendDone()
    try {
      await this.#connection.request(reply, undefined, { timeout: confirmTimeoutMs })
      return true
    } catch {
      return false
    }
  }
}

/** A message in its stream. */
export interface StoredMessage {
  readonly subject: string
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly storedAtMs: number
  readonly data: Uint8Array
  readonly headers: MsgHdrs
}

/** The message that `get` finds; undefined if there is none. */
export async function storedMessage(
  get: () => Promise<StoredMsg | null>,
  patience: Patience = {},
): Promise<StoredMessage | undefined> {
  const message = await retried(() => undefinedIf(isMessageMissing, get), patience)
  if (!message) return undefined
  return {
    subject: message.subject,
    sequence: message.seq,
    storedAtMs: message.time.getTime(),
    data: message.data,
    headers: message.header,
  }
}

function headersOf(values: Readonly<Record<string, string>>): MsgHdrs {
  const headers = createHeaders()
  for (const [name, value] of Object.entries(values)) headers.set(name, value)
  return headers
}

const isUnanswered = (error: unknown): boolean => /^no responders/.test(messageOf(error))

/** All answers to a request that arrive within the time; undefined if no process listens. */
export function gatherAnswers(
  connection: NatsConnection,
  subject: string,
  data: string,
  waitMs: number,
): Promise<Uint8Array[] | undefined> {
  return undefinedIf(isUnanswered, async () => {
    const answers: Uint8Array[] = []
    const replies = await connection.requestMany(subject, data, { strategy: 'timer', maxWait: waitMs })
    for await (const reply of replies) if (reply.data.length > 0) answers.push(reply.data)
    return answers
  })
}
