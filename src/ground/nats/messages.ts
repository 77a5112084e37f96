/** Messages of JetStream, in Weir's own types. */
import type { JetStreamClient, StoredMsg } from '@nats-io/jetstream'
import { headers as createHeaders, type MsgHdrs, type NatsConnection, nanos } from '@nats-io/nats-core'
import type { ProtocolHandler } from '@nats-io/nats-core/internal'
import { messageOf } from '../core/errors.js'
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

/** A server with a busy disk may take seconds. */
const confirmTimeoutMs = 5_000

/**
 * Acknowledgements of a message that a consumer delivered, besides an empty one, which says that it is done; ADR-13 of NATS.
 */
const progress = {
  again: Buffer.from('-NAK'),
  working: Buffer.from('+WPI'),
}

/**
 * Tries the servers at once. The library waits for a time by the clock since its last try, which never comes if the clock was set
 * back meanwhile.
 */
export function dialNow(connection: NatsConnection): void {
  for (const server of protocolOf(connection).servers.getServers()) server.lastConnect = 0
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

/** All replies to a request that arrive within the time, empty ones included; undefined if no process listens. */
export function gatherReplies(
  connection: NatsConnection,
  subject: string,
  data: string,
  waitMs: number,
): Promise<Uint8Array[] | undefined> {
  return undefinedIf(isUnanswered, async () => {
    const replies: Uint8Array[] = []
    const arriving = await connection.requestMany(subject, data, { strategy: 'timer', maxWait: waitMs })
    for await (const reply of arriving) replies.push(reply.data)
    return replies
  })
}
