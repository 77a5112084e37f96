/**
 * Messages of a durable consumer, asked for in batches.
 *
 * A stop loses nothing and leaves nothing to be delivered again: no further batch is asked for, and what was asked
 * for is taken in until it has come, or until nothing came for a moment. A message that the server sent to somebody
 * who no longer listens would come again only after the acknowledgement wait.
 */
import { every } from '../core/clock.js'
import type { Consumer, ConsumerMessages } from './consumers.js'
import { type PulledMessage, pulled } from './messages.js'

/** A stop waits for this long a silence. */
const silenceMs = 60

/** The server keeps a request this long, and says every half of it that it is still there. */
const expiresMs = 4_000

/** One batch of at most `messagesMax`; ends when it is complete, after some seconds, or at a stop. */
export async function* pullBatch(
  consumer: Consumer,
  messagesMax: number,
  signal: AbortSignal,
): AsyncGenerator<PulledMessage> {
  yield* take(await consumer.fetch({ max_messages: messagesMax, expires: expiresMs }), signal)
}

/** Batch after batch until the signal; the next one is asked for while the last one is worked on. */
export async function* pullAll(
  consumer: Consumer,
  messagesMax: () => number,
  signal: AbortSignal,
): AsyncGenerator<PulledMessage> {
  const ask = async () => {
    const wanted = messagesMax()
    return { wanted, messages: await consumer.fetch({ max_messages: wanted, expires: expiresMs }) }
  }
  let next: Awaited<ReturnType<typeof ask>> | undefined
  try {
    while (next !== undefined || !signal.aborted) {
      const { wanted, messages } = next ?? (await ask())
      next = undefined
      for await (const message of take(messages, signal)) {
        if (next === undefined && !signal.aborted && messages.getReceived() >= wanted) next = await ask()
        yield message
      }
    }
  } finally {
    next?.messages.stop()
  }
}

async function* take(messages: ConsumerMessages, signal: AbortSignal): AsyncGenerator<PulledMessage> {
  let received = 0
  const watch = every(silenceMs, () => {
    if (!signal.aborted) return
    if (messages.getReceived() === received) messages.stop()
    received = messages.getReceived()
  })
  try {
    for await (const message of messages) yield pulled(message)
  } finally {
    watch.stop()
    messages.stop()
  }
}
