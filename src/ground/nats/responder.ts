/** Answering requests over NATS, and listening to messages that want no answer. */
import type { Msg, NatsConnection } from '@nats-io/nats-core'
import { internalErrorJson } from '../core/errors.js'
import { newId } from '../core/ids.js'
import type { NatsOptions } from './connection.js'

/** `headerOf` is empty for a header that the request does not have. */
export type Reply = (
  data: Uint8Array,
  headerOf: (name: string) => string,
) => Uint8Array | string | Promise<Uint8Array | string>

/**
 * Answers requests until it is closed; processes with the same `queue` share them. If `reply` throws, the error is
 * reported and the answer is ERR_INTERNAL. Without a queue every process answers and the client does not depend on this
 * one, so an error is only reported.
 */
export function answerRequests(
  connection: NatsConnection,
  subject: string,
  queue: string | undefined,
  reply: Reply,
  occurrences: NatsOptions['occurrences'],
): { close(): Promise<void> } {
  const respond = async (message: Msg): Promise<void> => {
    if (isCommand(message.reply)) return
    try {
      const answer = await reply(message.data, (name) => message.headers?.get(name) ?? '')
      if (message.reply) message.respond(answer)
    } catch (error) {
      if (connection.isClosed()) return
      const operation_id = newId('op_')
      occurrences?.natsRequestFailed({ operation_id, path: subject, err: error })
      if (message.reply && queue !== undefined) message.respond(internalErrorJson(operation_id))
    }
  }
  const subscription = connection.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => {
      // Without a connection no answer is possible; the client has a timeout.
      if (error === null) respond(message).catch(() => {})
    },
  })
  return { close: () => subscription.drain() }
}

/**
 * Does the reply subject belong to JetStream or Weir? An answer would then be a call or a message with our permissions,
 * made for a client that lacks them.
 */
const isCommand = (subject = ''): boolean => /^(\$|weir\.)/.test(subject)

export interface Subscription {
  /** The server's permissions do not allow the subscription. */
  readonly isRefused: boolean
  close(): void
}

/** Calls back for each message of a subject, until it is closed or the server's permissions refuse the subscription. */
/** Takes a message; `headerOf` is empty for a header that it does not have. */
export type OnMessage = (data: Uint8Array, headerOf: (name: string) => string) => void

export function subscribe(
  connection: NatsConnection,
  subject: string,
  onMessage: OnMessage,
  onRefused: (error: Error) => void,
): Subscription {
  let isRefused = false
  const subscription = connection.subscribe(subject, {
    callback: (error, { data, headers }) => {
      if (error === null) return onMessage(data, (name) => headers?.get(name) ?? '')
      isRefused = true
      onRefused(error)
    },
  })
  return {
    get isRefused() {
      return isRefused
    },
    close: () => subscription.unsubscribe(),
  }
}
