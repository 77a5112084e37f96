/**
 * Publishes messages by fast ingest, as an ingress node may: the server acknowledges many messages with one answer. The
 * client library has no call for it. The reply subject of a message says everything (ADR-50 of NATS, nats-server 2.14 and
 * later):
 *
 *     <prefix> . <messages per answer> . fail . <number of the message> . <operation> . $FI
 */
import { headers, type NatsConnection } from '@nats-io/nats-core'

const operation = { start: 0, append: 1, commit: 2 }
/** The most messages per answer; the server may answer more often. */
const messagesPerAnswer = 100
/** Answers that may be outstanding before the publisher waits. */
const answersAwaitedMax = 2

interface IngestedMessage {
  readonly subject: string
  readonly data: Uint8Array | string
  readonly msgId?: string
}

/** An answer of the server: how far it is, how the batch ended, or what is wrong. */
interface Answer {
  readonly type?: 'ack' | 'gap' | 'err'
  readonly seq: number
  readonly msgs?: number
  readonly batch?: string
  readonly count?: number
  readonly error?: { readonly description: string }
}

/** Publishes all messages as one batch; the number of messages that the server stored or recognised as repeated. */
export async function ingest(nats: NatsConnection, messages: Iterable<IngestedMessage>): Promise<number> {
  const prefix = `_INBOX.${crypto.randomUUID().replaceAll('-', '')}`
  let [answered, answerEvery, failure] = [0, messagesPerAnswer, '']
  let committed: number | undefined
  let heard = (): void => {}
  const answers = nats.subscribe(`${prefix}.>`, {
    callback: (_, message) => {
      const { type, seq, msgs, batch, count, error } = message.json<Answer>()
      if (type === 'ack') [answered, answerEvery] = [Math.max(answered, seq), msgs ?? answerEvery]
      else if (type === undefined && batch !== undefined) committed = count
      else failure = error?.description ?? `A message is missing before number ${seq}.`
      heard()
    },
  })
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      if (failure !== '') throw new Error(failure)
      await new Promise<void>((resolve) => {
        heard = resolve
      })
    }
  }
  const send = ({ subject, data, msgId }: IngestedMessage, number: number, isLast: boolean): void => {
    const { start, append, commit } = operation
    const does = isLast ? commit : number === 1 ? start : append
    const named = headers()
    if (msgId !== undefined) named.set('Nats-Msg-Id', msgId)
    const reply = `${prefix}.${messagesPerAnswer}.fail.${number}.${does}.$FI`
    nats.publish(subject, data, { reply, ...(msgId !== undefined && { headers: named }) })
  }
  try {
    let [number, waiting] = [0, undefined as IngestedMessage | undefined]
    for (const message of messages) {
      if (waiting !== undefined) send(waiting, ++number, false)
      waiting = message
      await until(() => number - answered < answersAwaitedMax * answerEvery)
    }
    if (waiting === undefined) return 0
    send(waiting, ++number, true)
    await until(() => committed !== undefined)
    return committed!
  } finally {
    answers.unsubscribe()
  }
}
