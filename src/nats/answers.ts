/** Requests over NATS, and how they are answered whatever happens; messages without an answer. */
import type { Msg, NatsConnection } from '@nats-io/nats-core'
import { internalErrorJson } from '../core/errors.js'
import { newId } from '../core/ids.js'
import type { NatsOptions } from './options.js'

export type Reply = (data: Uint8Array) => Uint8Array | string | Promise<Uint8Array | string>

export interface Answering {
  readonly subject: string
  /** Requests are shared among all processes that answer under the same one. */
  readonly queue: string | undefined
  readonly reply: Reply
}

/**
 * Answers requests until it is closed. A `reply` that throws is reported, and answered with ERR_INTERNAL. Without a
 * queue every process answers, so that the asker does not depend on this one: a failure is reported only.
 */
export function answerRequests(
  connection: NatsConnection,
  { subject, queue, reply }: Answering,
  occurrences: NatsOptions['occurrences'],
): { close(): Promise<void> } {
  const respond = async (message: Msg): Promise<void> => {
    if (isCommand(message.reply)) return
    try {
      const answer = await reply(message.data)
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
      // Without a connection there is no way to answer; whoever asked has a time limit.
      if (error === null) respond(message).catch(() => {})
    },
  })
  return { close: () => subscription.drain() }
}

/**
 * A reply subject that belongs to JetStream or to Weir: the answer would be a call or a message of ours there, made
 * with our permissions for a client that lacks them.
 */
const isCommand = (subject = ''): boolean => /^(\$|weir\.)/.test(subject)

export interface Hearing {
  /** Did the server's permissions refuse the subscription? */
  readonly isRefused: boolean
  close(): void
}

/** Calls back for every message of a subject, until it is closed or the server's permissions refuse the subscription. */
export function hear(
  connection: NatsConnection,
  subject: string,
  onMessage: (data: Uint8Array) => void,
  onRefused: (error: Error) => void,
): Hearing {
  let isRefused = false
  const subscription = connection.subscribe(subject, {
    callback: (error, { data }) => {
      if (error === null) return onMessage(data)
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
