/**
 * Messages of a durable consumer, asked for in batches.
 *
 * A stop loses no message and leaves none to be redelivered: no further batch is requested, and messages already
 * requested are taken until the batch is complete or nothing arrives for a short time. A message sent to a process that
 * no longer listens would be redelivered only after the ack wait.
 *
 * On a busy machine a short time says little: batch after batch also waits until the server has answered a question, and
 * what it sent before has arrived. Single batches, of which a process may have thousands open, ask nothing.
 */
import type { ConsumeCallback } from '@nats-io/jetstream'
import { every, sleep, type Timer } from '../core/clock.js'
import type { Consumer, ConsumerMessages } from './consumers.js'
import { cutMessages } from './message-cutter.js'
import { type PulledMessage, pulled } from './pulled-message.js'

/** After a stop, a batch ends when nothing arrives for this long. */
const silenceMs = 60
/** One that does not answer is not waited for: a stop has to end. */
const answerMs = 2_000

/**
 * How long the server keeps a request. That of one message waits for traffic, as does each of an idle deployment. A
 * longer one costs nothing: the server ends it when the consumer is deleted, and a reconnect makes a new one.
 */
const expiresMs = 30_000
/** A request that came to nothing, unnoticed by the server, is given up when two heartbeats are missing. */
const idle_heartbeat = 5_000
/** A batch of several was asked for because there was a backlog: room is kept for all of it until it ends. */
const batchExpiresMs = 4_000

const lookAgainMs = 100

const requestFor = (max_messages: number) => ({
  max_messages,
  // A heartbeat may take no longer than half of its request, or the server refuses it; that is also its default.
  ...(max_messages === 1 ? { expires: expiresMs, idle_heartbeat } : { expires: batchExpiresMs }),
})

/** One batch of at most `messagesMax`; ends when it is complete, when it expires, or at a stop. */
export async function* pullBatch(
  consumer: Consumer,
  messagesMax: number,
  signal: AbortSignal,
): AsyncGenerator<PulledMessage> {
  const messages = await consumer.fetch(requestFor(messagesMax))
  const end = endAtStop(messages, signal)
  try {
    for await (const message of messages) yield pulled(message)
  } finally {
    end()
  }
}

interface PullAllOptions {
  /**
   * From then on, no message is waited for, although traffic goes on. One that was given back at once would otherwise come
   * again, and again, for as long as its batch has room.
   */
  readonly endNow?: AbortSignal
  /**
   * When no message waits any more, those of this time gather before they are asked for: a message that comes alone costs
   * server and process several times as much as one of many. 0, the default: each comes at once.
   */
  readonly gatherMs?: () => number
}

/**
 * Batch after batch until the signal; the next one is requested while the last one is processed. While `messagesMax` is
 * 0, nothing is requested. Messages that are here are given together: one at a time, each would wait for promises that take
 * longer than its way from the socket.
 */
export async function* pullAll(
  consumer: Consumer,
  messagesMax: () => number,
  signal: AbortSignal,
  { endNow, gatherMs = () => 0 }: PullAllOptions = {},
): AsyncGenerator<readonly PulledMessage[]> {
  const ask = async (waiting: number) => {
    const max = messagesMax()
    // A request stays open until it is complete: those that have gathered are asked for by their number.
    const wanted = gatherMs() === 0 ? max : Math.min(max, Math.max(1, waiting))
    const request =
      wanted === max ? { max_messages: max, expires: expiresMs, idle_heartbeat } : requestFor(wanted)
    const received = new Received()
    return { wanted, received, messages: await fetchInto(received, consumer, request) }
  }
  let next: Awaited<ReturnType<typeof ask>> | undefined
  try {
    while (next !== undefined || !signal.aborted) {
      if (next === undefined && messagesMax() === 0) {
        await sleep(lookAgainMs, signal)
        continue
      }
      const { wanted, received, messages } = next ?? (await ask(0))
      next = undefined
      let taken = 0
      const end = endAtStop(messages, signal, { endNow, consumer })
      try {
        for (let here = await received.take(); here !== undefined; here = await received.take()) {
          taken += here.length
          const waiting = here.at(-1)!.pending - (wanted - taken)
          const isDue = next === undefined && messages.getReceived() >= wanted
          const isWorthIt = gatherMs() === 0 || waiting > 0
          if (isDue && isWorthIt && !signal.aborted && messagesMax() > 0) next = await ask(waiting)
          yield here
        }
      } finally {
        end()
      }
      if (next === undefined && gatherMs() > 0) await sleep(gatherMs(), signal)
    }
  } finally {
    next?.messages.stop()
  }
}

/** Messages of a request that came and were not taken yet. */
class Received {
  #here: PulledMessage[] = []
  #isEnded = false
  #error: Error | undefined
  /** Calls who waits for more. */
  #changed = (): void => {}

  add(message: PulledMessage): void {
    this.#here.push(message)
    if (this.#here.length === 1) this.#changed()
  }

  /** No more come. `error`: the request failed. */
  end(error: Error | undefined): void {
    this.#isEnded = true
    this.#error = error
    this.#changed()
  }

  /** All messages that are here, at least one; undefined at the end. Throws if the request failed. */
  async take(): Promise<readonly PulledMessage[] | undefined> {
    while (this.#here.length === 0 && !this.#isEnded)
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    const here = this.#here
    this.#here = []
    if (here.length > 0) return here
    if (this.#error !== undefined) throw this.#error
    return undefined
  }
}

/** The library takes a callback here as it does for `consume`, but its types do not say so. */
type Asked = ReturnType<typeof requestFor> & ConsumeCallback

async function fetchInto(received: Received, consumer: Consumer, request: Asked): Promise<ConsumerMessages> {
  const asked: Asked = { ...request, callback: (message) => received.add(pulled(message)) }
  const messages = await consumer.fetch(asked)
  cutMessages(messages, (message) => received.add(message))
  void messages.closed().then((error) => received.end(error ?? undefined))
  return messages
}

interface BatchEnd {
  readonly endNow?: AbortSignal | undefined
  /** Asked, at a silence, whether the server still has something to say. */
  readonly consumer?: Consumer
}

/** From the signal on, the batch ends at the first silence. The result ends it at once, as does `endNow`. */
function endAtStop(
  messages: ConsumerMessages,
  signal: AbortSignal,
  { endNow, consumer }: BatchEnd = {},
): () => void {
  let watch: Timer | undefined
  const stop = (): void => messages.stop()
  const stopAtSilence = (): void => {
    let received = messages.getReceived()
    watch = every(silenceMs, async () => {
      if (messages.getReceived() === received && consumer !== undefined) await answered(consumer)
      if (messages.getReceived() === received) messages.stop()
      received = messages.getReceived()
    })
  }
  if (signal.aborted) stopAtSilence()
  else signal.addEventListener('abort', stopAtSilence, { once: true })
  if (endNow?.aborted) stop()
  else endNow?.addEventListener('abort', stop, { once: true })
  return () => {
    signal.removeEventListener('abort', stopAtSilence)
    endNow?.removeEventListener('abort', stop)
    watch?.stop()
    messages.stop()
  }
}

/** An answer comes behind what was sent before it; none comes from a server that is gone, or that stops. */
async function answered(consumer: Consumer): Promise<void> {
  const waited = new AbortController()
  await Promise.race([consumer.info().catch(() => {}), sleep(answerMs, waited.signal)])
  waited.abort()
}
