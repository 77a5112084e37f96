/**
 * The connection to NATS, with the answers the rest of the program needs: publishing until stored, streams, pull
 * consumers, requests. Only this file and those beside it whose names begin alike know the NATS packages.
 */
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { within } from '../core/clock.js'
import { answerRequests, type Hearing, hear, type Reply } from './answers.js'
import { Bucket, type BucketOptions, ensureBucket, findBucket } from './bucket.js'
import { streamOf } from './bucket-stream.js'
import {
  type ConsumerOptions,
  type ConsumerPosition,
  Consumers,
  type Followed,
  type OpenedConsumer,
} from './consumers.js'
import {
  confirmAcks,
  gathered,
  headersOf,
  type KeptMessage,
  kept,
  type PublishAfterOptions,
  type PublishOptions,
  type PulledMessage,
} from './messages.js'
import { connectionOptions, type NatsOptions } from './options.js'
import { callTimeoutMs, isStreamMissing, isWrongRevision, type Patience, retried } from './retry.js'
import { removeMessages } from './server-2-9.js'
import { NatsStatus } from './status.js'
import { changeableConfig, newStreamIdentity, type StreamOptions, streamConfig } from './streams.js'

/** Closing waits this long for what is buffered; where NATS is away it is never sent. */
const drainTimeoutMs = 2_000

/** Connects, and waits for that as long as it takes. */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const connection = await connect(connectionOptions(options))
  const manager = await retried(() =>
    jetstreamManager(connection, { timeout: callTimeoutMs, checkAPI: false }),
  )
  return new Nats(connection, manager, options)
}

export class Nats {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #jetstream: JetStreamClient
  readonly #consumers: Consumers
  readonly #replicas: number
  readonly #occurrences: NatsOptions['occurrences']
  readonly #status: NatsStatus

  constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    { replicas, occurrences }: Pick<NatsOptions, 'replicas' | 'occurrences'>,
  ) {
    this.#connection = connection
    this.#manager = manager
    this.#jetstream = jetstream(connection, { timeout: callTimeoutMs })
    this.#consumers = new Consumers(manager, this.#jetstream)
    this.#replicas = replicas
    this.#occurrences = occurrences
    this.#status = new NatsStatus(connection, occurrences)
  }

  readonly #publishRetried = (): void => this.#occurrences?.natsCallRetried({ call: 'publish' })
  readonly #bucketRetried = (): void => this.#occurrences?.natsCallRetried({ call: 'bucket' })

  /** Calls back whenever the connection is back; the result ends that. */
  onReconnect(listener: () => void): () => void {
    return this.#status.onReconnect(listener)
  }

  get payloadBytesMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  get isConnected(): boolean {
    return this.#status.isConnected
  }

  /** One round trip to the server. */
  flush(): Promise<void> {
    return this.#connection.flush()
  }

  /** Stores `data`; resolves with its sequence in the stream and whether it was there already. */
  async publish(
    subject: string,
    data: Uint8Array | string,
    options: PublishOptions = {},
  ): Promise<{ sequence: number; duplicate: boolean }> {
    const headers = options.headers === undefined ? undefined : headersOf(options.headers)
    const ack = await retried(
      () =>
        this.#jetstream.publish(subject, data, {
          ...(options.msgId === undefined ? {} : { msgID: options.msgId }),
          ...(headers === undefined ? {} : { headers }),
          timeout: callTimeoutMs,
          retries: 0,
        }),
      { ...options, retrying: this.#publishRetried },
    )
    return { sequence: ack.seq, duplicate: ack.duplicate }
  }

  /**
   * Compare-and-set for a stream: stores only where the last message of the subject is the one named. Resolves with
   * the sequence, or undefined where it is another one, also where an earlier try was stored and its answer lost.
   */
  async publishAfter(
    subject: string,
    data: Uint8Array | string,
    { afterSequence, headers = {}, ...patience }: PublishAfterOptions,
  ): Promise<number | undefined> {
    const options = { headers: headersOf(headers), timeout: callTimeoutMs, retries: 0 }
    const expect = { lastSubjectSequence: afterSequence }
    try {
      const publish = () => this.#jetstream.publish(subject, data, { ...options, expect })
      return (await retried(publish, { ...patience, retrying: this.#publishRetried })).seq
    } catch (error) {
      if (isWrongRevision(error)) return undefined
      throw error
    }
  }

  /** Publishes without an acknowledgement: lost when nobody listens. */
  emit(subject: string, data: Uint8Array | string): void {
    this.#connection.publish(subject, data)
  }

  async request(subject: string, data: Uint8Array | string, timeoutMs: number): Promise<Uint8Array> {
    return (await this.#connection.request(subject, data, { timeout: timeoutMs })).data
  }

  /** Before a stop: the message was acknowledged last of its consumer's. */
  confirmAcks(last: Pick<PulledMessage, 'native'>): Promise<boolean> {
    return confirmAcks(this.#connection, last)
  }

  /** Answers requests; requests are shared among all that answer under the same `queue`. */
  answer(subject: string, queue: string | undefined, reply: Reply): { close(): Promise<void> } {
    return answerRequests(this.#connection, { subject, queue, reply }, this.#occurrences)
  }

  hear(subject: string, onMessage: (data: Uint8Array) => void, onRefused: (error: Error) => void): Hearing {
    return hear(this.#connection, subject, onMessage, onRefused)
  }

  /** Makes the stream, or brings the limits of an existing one up to the settings. Was it made? */
  ensureStream(options: StreamOptions): Promise<boolean> {
    const config = streamConfig(options, this.#replicas)
    return retried(async () => {
      let present = await this.streamInfo(options.name)
      if (present === undefined) {
        try {
          await this.#manager.streams.add({ ...config, description: newStreamIdentity() })
          return true
        } catch (error) {
          // Another process was first: under an identity of its own, so that this looks like another stream.
          present = await this.streamInfo(options.name)
          if (present === undefined) throw error
        }
      }
      await this.#manager.streams.update(options.name, changeableConfig(config, present))
      return false
    })
  }

  async streamInfo(name: string): Promise<StreamInfo | undefined> {
    try {
      return await this.#manager.streams.info(name)
    } catch (error) {
      if (isStreamMissing(error)) return undefined
      throw error
    }
  }

  /** Takes out all messages of a subject. Consumers of it lose what they have in hand, too. */
  purgeSubject(stream: string, subject: string): Promise<unknown> {
    return this.#manager.streams.purge(stream, { filter: subject })
  }

  /** How many messages each subject of the stream has. */
  async subjectCounts(stream: string, filter: string): Promise<Readonly<Record<string, number>>> {
    const info = await retried(() => this.#manager.streams.info(stream, { subjects_filter: filter }), {
      triesMax: 3,
    })
    return info.state.subjects ?? {}
  }

  /** Takes out what lies below a sequence, of a stream that is only followed: consumers lose what they have in hand. */
  purgeUpTo(stream: string, sequence: number): Promise<unknown> {
    return this.#manager.streams.purge(stream, { seq: sequence })
  }

  /** Takes out these messages; all others stay, and so does what consumers have of them in hand. */
  removeMessages(stream: string, sequences: Iterable<number>, patience: Patience = {}): Promise<void> {
    return removeMessages(this.#manager, stream, sequences, patience)
  }

  /** The first message of a subject at or after `sequence`, or undefined where there is none. */
  nextMessage(stream: string, subject: string, sequence = 1): Promise<KeptMessage | undefined> {
    return kept(() => this.#manager.direct.getMessage(stream, { seq: sequence, next_by_subj: subject }))
  }

  /** The newest message of a subject, as the stream's leader knows it, or undefined where there is none. */
  lastMessage(stream: string, subject: string): Promise<KeptMessage | undefined> {
    return kept(() => this.#manager.streams.getMessage(stream, { last_by_subj: subject }))
  }

  /**
   * A durable pull consumer with explicit acknowledgement, made where it is missing.
   *
   * After a power cut, or when a store was put back, a consumer can be ahead of its stream: it would never deliver
   * what is stored next under sequences it has seen. Such a consumer is made anew where the stream ends; that of a
   * work queue where it begins.
   */
  openConsumer(options: ConsumerOptions): Promise<OpenedConsumer> {
    return this.#consumers.open(options)
  }

  /** Where a consumer stands; undefined where there is none. */
  consumerInfo(stream: string, name: string): Promise<ConsumerPosition | undefined> {
    return this.#consumers.position(stream, name)
  }

  deleteConsumer(stream: string, name: string): Promise<void> {
    return this.#consumers.delete(stream, name)
  }

  /** Every message of a subject from `sequence` on, in order, as long as it is open. Nothing is acknowledged. */
  follow(
    stream: string,
    subject: string,
    sequence: number,
    onMessage: (message: { sequence: number; data: Uint8Array }) => void,
  ): Promise<Followed> {
    return this.#consumers.follow(stream, subject, sequence, onMessage)
  }

  /** One question, and every answer that comes within the time; undefined if nobody listens. */
  gather(subject: string, data: string, waitMs: number): Promise<Uint8Array[] | undefined> {
    return gathered(this.#connection, subject, data, waitMs)
  }

  /** A bucket that keeps the last value of each key, made where it is missing. */
  async openBucket(
    name: string,
    bytesMax: number,
    { ageMaxMs, ...patience }: BucketOptions = {},
  ): Promise<Bucket> {
    const limits = { bytesMax, replicas: this.#replicas, ageMaxMs }
    const kv = await retried(() => ensureBucket(this.#jetstream, this.#manager, name, limits))
    return new Bucket(kv, name, this, { ...patience, retrying: this.#bucketRetried })
  }

  /** A bucket that another process makes; undefined while it has not. */
  async findBucket(name: string): Promise<Bucket | undefined> {
    if ((await retried(() => this.streamInfo(streamOf(name)))) === undefined) return undefined
    const kv = await retried(() => findBucket(this.#jetstream, name))
    return new Bucket(kv, name, this, { retrying: this.#bucketRetried })
  }

  /** Sends what is buffered, lets callbacks end, closes. */
  async close(): Promise<void> {
    if (this.#connection.isClosed()) return
    try {
      await within(drainTimeoutMs, this.#connection.drain(), 'NATS is away.')
    } catch {
      await this.#connection.close()
    }
  }
}
