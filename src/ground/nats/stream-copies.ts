/**
 * Whole streams as bytes, out of a server and into one: its own snapshots, which keep sequences, times and headers
 * (https://docs.nats.io/reference/reference-protocols/nats_api_reference, `$JS.API.STREAM.SNAPSHOT` and `.RESTORE`). Without
 * consumers: one that was copied later than its stream can be ahead of it, so positions are read before.
 */
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  type JetStreamManager,
  type StreamConfig,
  type StreamState,
} from '@nats-io/jetstream'
import { createInbox, type Msg, type NatsConnection } from '@nats-io/nats-core'
import { jsonOf } from '../core/bytes.js'
import { within } from '../core/clock.js'
import { isConsumerMissing, isStreamMissing, retried, undefinedIf } from './retry.js'

/** What is needed to make a stream again, besides its bytes. */
export interface CopiedStream {
  readonly config: StreamConfig
  readonly state: StreamState
}

/** A durable consumer, and the first message that it may not have acknowledged. */
export interface CopiedConsumer {
  readonly config: ConsumerConfig
  readonly firstSequence: number
}

interface Snapshot extends CopiedStream {
  readonly chunks: AsyncGenerator<Uint8Array>
}

interface Answer {
  readonly error?: { readonly description?: string }
  readonly config?: StreamConfig
  readonly state?: StreamState
  readonly deliver_subject?: string
}

/** The server waits for acknowledgements of chunks; so long without one means that it, or this process, hangs. */
const chunkWithinMs = 60_000
const answerWithinMs = 30_000
/** Less than the server's limit for a message, whatever it is. */
const chunkBytes = 128 * 1024

export class StreamCopies {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager

  constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection
    this.#manager = manager
  }

  /** Undefined if there is no such stream. The chunks must be read to the end. */
  async snapshot(stream: string): Promise<Snapshot | undefined> {
    if ((await undefinedIf(isStreamMissing, () => this.#manager.streams.info(stream))) === undefined)
      return undefined
    const inbox = createInbox()
    const messages = this.#connection.subscribe(inbox)
    const asked = { deliver_subject: inbox, no_consumers: true, jsck: false, chunk_size: chunkBytes }
    const { config, state } = await this.#ask(`$JS.API.STREAM.SNAPSHOT.${stream}`, JSON.stringify(asked))
    if (config === undefined || state === undefined) throw new Error(`NATS gave no copy of ${stream}.`)
    return { config, state, chunks: chunksOf(stream, messages) }
  }

  /** The consumer as it is now; undefined if there is none. */
  async consumer(stream: string, name: string): Promise<CopiedConsumer | undefined> {
    const info = await undefinedIf(isConsumerMissing, () =>
      undefinedIf(isStreamMissing, () => retried(() => this.#manager.consumers.info(stream, name))),
    )
    if (info === undefined) return undefined
    return { config: info.config, firstSequence: info.ack_floor.stream_seq + 1 }
  }

  /** Makes a stream from its bytes. `replicas`: of the new one. Throws if there is one of this name. */
  async restore(
    { config, state }: CopiedStream,
    replicas: number,
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const made = { config: { ...config, num_replicas: replicas }, state }
    const { deliver_subject: target } = await this.#ask(
      `$JS.API.STREAM.RESTORE.${config.name}`,
      JSON.stringify(made),
    )
    if (target === undefined) throw new Error(`NATS does not take a copy of ${config.name}.`)
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += chunkBytes)
        await this.#ask(target, chunk.subarray(at, at + chunkBytes))
    await this.#ask(target, new Uint8Array())
  }

  async makeConsumer(stream: string, { config, firstSequence }: CopiedConsumer): Promise<void> {
    const {
      durable_name,
      ack_wait,
      max_ack_pending,
      max_deliver,
      filter_subject,
      inactive_threshold,
      description,
    } = config
    await this.#manager.consumers.add(stream, {
      ...definedOf({
        durable_name,
        ack_wait,
        max_ack_pending,
        max_deliver,
        filter_subject,
        inactive_threshold,
        description,
      }),
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: firstSequence,
    })
  }

  /** Names of streams of the account that begin so; it may have others. */
  async named(begins: RegExp): Promise<string[]> {
    const found: string[] = []
    for await (const name of this.#manager.streams.names()) if (begins.test(name)) found.push(name)
    return found
  }

  async #ask(subject: string, data: string | Uint8Array): Promise<Answer> {
    const answer = await this.#connection.request(subject, data, { timeout: answerWithinMs })
    if (answer.data.length === 0) return {}
    const said = jsonOf<Answer>(answer.data)
    if (said.error !== undefined) throw new Error(said.error.description ?? 'NATS refused it.')
    return said
  }
}

const definedOf = (config: Readonly<Record<string, unknown>>): Partial<ConsumerConfig> =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))

async function* chunksOf(
  stream: string,
  messages: AsyncIterable<Msg> & { unsubscribe(): void },
): AsyncGenerator<Uint8Array> {
  const next = messages[Symbol.asyncIterator]()
  try {
    for (;;) {
      const late = `NATS sent no more of ${stream} for ${chunkWithinMs / 1000} s.`
      const { done, value } = await within(chunkWithinMs, next.next(), late)
      if (done) throw new Error(`NATS ended the copy of ${stream} before its end.`)
      if (value.data.length === 0) {
        // The last message is empty; a fault stands in its head.
        if (value.headers !== undefined && value.headers.code >= 400)
          throw new Error(`NATS gave up the copy of ${stream}: ${value.headers.description}.`)
        return
      }
      yield value.data
      // The server sends more when what it sent is acknowledged.
      value.respond()
    }
  } finally {
    messages.unsubscribe()
  }
}
