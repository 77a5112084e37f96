/** Messages of JetStream, in Weir's own types. */
import type { JsMsg, StoredMsg } from '@nats-io/jetstream'
import { headers as createHeaders, type MsgHdrs, type NatsConnection } from '@nats-io/nats-core'
import { messageOf } from '../core/errors.js'
import { isMessageMissing, type Patience, retried, undefinedIf } from './retry.js'

export interface PublishOptions extends Patience {
  /** A second publish with the same id within the stream's duplicate window is acknowledged and not stored. */
  readonly msgId?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface PublishAfterOptions extends Patience {
  readonly headers?: Readonly<Record<string, string>>
  /** The sequence of the subject's last message; 0 if there is none. */
  readonly afterSequence: number
}

/** A message that a pull consumer delivered. */
export interface PulledMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly sequence: number
  /** 1 for a first delivery. */
  readonly deliveries: number
  readonly storedAtMs: number
  readonly headers: MsgHdrs | undefined
  readonly native: JsMsg
}

export const pulled = (message: JsMsg): PulledMessage => ({
  subject: message.subject,
  data: message.data,
  sequence: message.seq,
  deliveries: message.info.deliveryCount,
  storedAtMs:
    message.timestampNanos === undefined
      ? Date.parse(message.time.toISOString())
      : Number(message.timestampNanos / 1_000_000n),
  headers: message.headers,
  native: message,
})

/** A server with a busy disk may take seconds. */
const confirmTimeoutMs = 5_000

/**
 * Waits until the server has processed the acknowledgement of this message, and with it all earlier ones of its
 * consumer: it processes them in order. Until then, a server that ends may lose them and redeliver the messages.
 * Returns false if that was not confirmed: NATS is unreachable, or the consumer was deleted.
 */
export async function confirmAcks(
  connection: NatsConnection,
  { native }: Pick<PulledMessage, 'native'>,
): Promise<boolean> {
  try {
    const { reply } = native as JsMsg & { readonly reply: string }
    await connection.request(reply, '+ACK', { timeout: confirmTimeoutMs })
    return true
  } catch {
    return false
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
): Promise<StoredMessage | undefined> {
  const message = await retried(() => undefinedIf(isMessageMissing, get))
  if (!message) return undefined
  return {
    subject: message.subject,
    sequence: message.seq,
    storedAtMs: message.time.getTime(),
    data: message.data,
    headers: message.header,
  }
}

export function headersOf(values: Readonly<Record<string, string>>): MsgHdrs {
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
