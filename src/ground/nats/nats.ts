/**
 * Start here: the connection to NATS, with the calls the rest of the program needs: publishing until stored, streams,
 * consumers, buckets, requests. Only this room knows the NATS packages. It never knows what the messages mean: names of
 * streams and subjects are in `wire`.
 */
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { within } from '../core/clock.js'
import { Bucket, BucketMaker, type BucketOptions, findBucket } from './bucket.js'
import { streamOf } from './bucket-stream.js'
import { ConfirmedPublisher } from './confirmed-publisher.js'
import { type NatsOptions, NatsStatus } from './connection.js'
import {
  type ConsumerOptions,
  type ConsumerPosition,
  Consumers,
  type FollowedStream,
  type OpenedConsumer,
} from './consumers.js'
import { DamagedEntries } from './damaged-entries.js'
import { UnopenedConsumers } from './failures.js'
import {
  Acknowledgements,
  dialNow,
  gatherReplies,
  type PublishAfterOptions,
  type PublishOptions,
  publishAfter,
  publishStored,
  type StoredMessage,
  storedMessage,
} from './messages.js'
import { NearServers } from './near-servers.js'
import { firstConnection, LostReason } from './reach.js'
import { answerRequests, type OnMessage, type Reply, type Subscription, subscribe } from './responder.js'
import { callTimeoutMs, isStreamMissing, type Patience, retried, undefinedIf, withRoom } from './retry.js'
import { removeMessages } from './server-2-9.js'
import { Storing } from './storing.js'
import { StreamCopies } from './stream-copies.js'
import type { StoredStream } from './stream-replay.js'
import { ageLimit, changeableConfig, newStreamIdentity, type StreamOptions, streamConfig } from './streams.js'

/** Closing waits this long for buffered messages to be sent. */
const drainTimeoutMs = 2_000

/** Connects; waits as long as it takes, unless a server must be up. Rejects if the login is refused. */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const connection = await firstConnection(options)
  const manager = await retried(() =>
    jetstreamManager(connection, { timeout: callTimeoutMs, checkAPI: false }),
  )
  return new Nats(connection, manager, options)
}

export class Nats {
  readonly #connection: NatsConnection
  /** Answers to messages that consumers delivered. */
  readonly acknowledgements: Acknowledgements
  readonly confirmed: ConfirmedPublisher
  readonly storing: Storing
  /** For backups; only users with all rights may make them. */
  readonly copies: StreamCopies
  readonly #manager: JetStreamManager
  readonly #jetstream: JetStreamClient
  readonly #near: NearServers
  readonly #consumers: Consumers
  /** Those that can't be opened now. */
  readonly unopened = new UnopenedConsumers()
  readonly #buckets: BucketMaker
  readonly #replicas: number
  readonly #occurrences: NatsOptions['occurrences']
  readonly #status: NatsStatus
  readonly #lost: LostReason
  /** Takes entries that can't be read. */
  readonly damaged: DamagedEntries

  constructor(connection: NatsConnection, manager: JetStreamManager, options: NatsOptions) {
    this.#connection = connection
    this.acknowledgements = new Acknowledgements(connection)
    this.confirmed = new ConfirmedPublisher(connection)
    this.storing = new Storing(connection, manager, options.replicas)
    this.copies = new StreamCopies(connection, manager)
    this.#manager = manager
    this.#jetstream = jetstream(connection, { timeout: callTimeoutMs })
    this.#near = new NearServers(connection, this.#jetstream, options, async (stream) => {
      const { cluster } = await manager.streams.info(stream)
      return cluster?.leader
    })
    this.#consumers = new Consumers(manager, this.#jetstream, this.#near)
    this.#replicas = options.replicas
    this.#buckets = new BucketMaker(this.#jetstream, manager, options.replicas)
    this.#occurrences = options.occurrences
    this.#status = new NatsStatus(connection, options)
    this.#lost = new LostReason(options, () => dialNow(connection))
    this.#status.onDisconnect(() => this.#lost.lost())
    this.#status.onReconnect(() => this.#lost.back())
    this.damaged = new DamagedEntries({ occurrences: options.occurrences, dir: options.damagedDir })
  }

  readonly #publishRetried = (): void => this.#occurrences?.natsCallRetried({ call: 'publish' })
  readonly #bucketRetried = (): void => this.#occurrences?.natsCallRetried({ call: 'bucket' })

  /** Calls back after each reconnect; the result unsubscribes. */
  onReconnect(listener: () => void): () => void {
    return this.#status.onReconnect(listener)
  }

  get payloadBytesMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  get isConnected(): boolean {
    return this.#status.isConnected
  }

  /** Why a lost connection does not come back, as the end of a sentence; undefined if that is not known. */
  get lostBecause(): string | undefined {
    return this.#lost.reason
  }

  /** One round trip to the server. */
  flush(): Promise<void> {
    return this.#connection.flush()
  }

  /** Stores `data`; resolves with its sequence and whether it was stored already. */
  publish(
    subject: string,
    data: Uint8Array | string,
    options: PublishOptions = {},
  ): Promise<{ sequence: number; duplicate: boolean }> {
    const { storedBy, ...others } = options
    const client = () =>
      storedBy === undefined ? this.#jetstream : this.#near.toLeaderOf(storedBy).jetstream
    const publish = (noted: Patience) => publishStored(client, subject, data, { ...others, ...noted })
    return this.storing.noted(subject, { ...options, retrying: this.#publishRetried }, publish)
  }

  /**
   * Compare-and-set for a stream: stores only if the subject's last message has this sequence. Resolves with the new
   * sequence, or undefined if another message is last: also if an earlier attempt was stored and its answer lost.
   */
  publishAfter(
    subject: string,
    data: Uint8Array | string,
    options: PublishAfterOptions,
  ): Promise<number | undefined> {
    const publish = (noted: Patience) =>
      publishAfter(this.#jetstream, subject, data, { ...options, ...noted })
    return this.storing.noted(subject, { ...options, retrying: this.#publishRetried }, publish)
  }

  /** Publishes without an acknowledgement: lost if no process listens. */
  emit(subject: string, data: Uint8Array | string): void {
    this.#connection.publish(subject, data)
  }

  async request(subject: string, data: Uint8Array | string, timeoutMs: number): Promise<Uint8Array> {
    return (await this.#connection.request(subject, data, { timeout: timeoutMs })).data
  }

  /** Answers requests; processes with the same `queue` share them. */
  answer(subject: string, queue: string | undefined, reply: Reply): { close(): Promise<void> } {
    return answerRequests(this.#connection, subject, queue, reply, this.#occurrences)
  }

  subscribe(subject: string, onMessage: OnMessage, onRefused: (error: Error) => void): Subscription {
    return subscribe(this.#connection, subject, onMessage, onRefused)
  }

  /** Creates the stream, or applies the settings to an existing one. Resolves with whether it was created. */
  ensureStream(options: StreamOptions): Promise<boolean> {
    const config = streamConfig(options, this.#replicas, this.#connection.info)
    return retried(async () => {
      let present = await this.streamInfo(options.name)
      if (present === undefined) {
        try {
          const add = () => this.#manager.streams.add({ ...config, description: newStreamIdentity() })
          await withRoom(options.name, options.bytesMax, add)
          return true
        } catch (error) {
          // Another process created it first; its identity differs, so NATS sees two different streams.
          present = await this.streamInfo(options.name)
          if (present === undefined) throw error
        }
      }
      await this.#manager.streams.update(options.name, changeableConfig(config, present))
      return false
    })
  }

  /** How old messages of a stream may get; 0: any age. */
  async limitAge(stream: string, ageMaxMs: number): Promise<void> {
    await retried(() => this.#manager.streams.update(stream, ageLimit(ageMaxMs)))
  }

  /** How many streams the account has, also those of other programs. */
  readonly streamCount = async (): Promise<number> => (await this.storing.account()).streams

  streamInfo(name: string): Promise<StreamInfo | undefined> {
    return undefinedIf(isStreamMissing, () => this.#manager.streams.info(name))
  }

  /** Removes all messages of a subject. The server may forget what its consumers have in flight. */
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

  /** Removes all messages below a sequence; only for streams without consumers that acknowledge. */
  async purgeUpTo(stream: string, sequence: number): Promise<void> {
    // There is none below 1: nats-server takes 0, and 2.9 also 1, for all messages.
    if (sequence > 1) await this.#manager.streams.purge(stream, { seq: sequence })
  }

  /** Removes these messages; all others stay, also those that consumers have in flight. */
  removeMessages(stream: string, sequences: Iterable<number>, patience: Patience = {}): Promise<void> {
    return removeMessages(this.#manager, stream, sequences, patience)
  }

  /** The first message of a subject at or after `sequence`; undefined if there is none. */
  nextMessage(stream: string, subject: string, sequence = 1): Promise<StoredMessage | undefined> {
    return storedMessage(() =>
      this.#manager.direct.getMessage(stream, { seq: sequence, next_by_subj: subject }),
    )
  }

  /** The message with this sequence, read from the stream's leader; undefined if it was removed or never stored. */
  messageAt(stream: string, sequence: number, patience?: Patience): Promise<StoredMessage | undefined> {
    return storedMessage(() => this.#manager.streams.getMessage(stream, { seq: sequence }), patience)
  }

  /** The messages of a stream, for `replay` and `replayBackward`: reading needs no consumer. */
  stored(stream: string, subjects: string): StoredStream {
    return {
      info: () => retried(() => this.streamInfo(stream)),
      at: (seq) => storedMessage(() => this.#manager.direct.getMessage(stream, { seq })),
      next: (from) => this.nextMessage(stream, subjects, from),
    }
  }

  /** The newest message of a subject, read from the stream's leader; undefined if there is none. */
  lastMessage(stream: string, subject: string): Promise<StoredMessage | undefined> {
    return storedMessage(() => this.#manager.streams.getMessage(stream, { last_by_subj: subject }))
  }

  /** A durable pull consumer, created if it is missing; recreated if it is ahead of its stream. */
  openConsumer(options: ConsumerOptions): Promise<OpenedConsumer> {
    const { stream, name } = options
    return this.unopened.noted(stream, name, (failed) => this.#consumers.open(options, failed))
  }

  consumerInfo(stream: string, name: string): Promise<ConsumerPosition | undefined> {
    return this.#consumers.position(stream, name)
  }

  /**
   * The server deletes it when no one has read it for so long, a current one only if all that it delivered is acknowledged.
   */
  expireConsumer(stream: string, name: string, unreadMs: number): Promise<void> {
    return this.#consumers.expire(stream, name, unreadMs)
  }

  deleteConsumer(stream: string, name: string): Promise<void> {
    return this.#consumers.delete(stream, name)
  }

  /** Each message of a subject from `sequence` on, in order, until closed. Nothing is acknowledged. */
  follow(
    stream: string,
    subject: string,
    sequence: number,
    onMessage: (message: { sequence: number; data: Uint8Array }) => void,
  ): Promise<FollowedStream> {
    return this.#consumers.follow(stream, subject, sequence, onMessage)
  }

  /** All answers to a request that arrive within the time; undefined if no process listens. */
  async gather(subject: string, data: string, waitMs: number): Promise<Uint8Array[] | undefined> {
    const replies = await gatherReplies(this.#connection, subject, data, waitMs)
    return replies?.filter(({ length }) => length > 0)
  }

  /** How many processes reply within the time, also those that have nothing to say. */
  async countReplies(subject: string, waitMs: number): Promise<number> {
    return (await gatherReplies(this.#connection, subject, '', waitMs))?.length ?? 0
  }

  /**
   * A bucket, which keeps the last value of each key; created if it is missing. The first call for it applies the limits.
   */
  async openBucket(name: string, bytesMax: number, options: BucketOptions = {}): Promise<Bucket> {
    const { ageMaxMs, isFilledByOwner, ...patience } = options
    const client = await retried(() => this.#buckets.ensure(name, { bytesMax, ageMaxMs, isFilledByOwner }))
    return new Bucket(client, name, this, { ...patience, retrying: this.#bucketRetried })
  }

  /** The buckets that `restoreBuckets` makes again if they are missing. */
  get restorableBuckets(): readonly string[] {
    return this.#buckets.restorable
  }

  restoreBuckets(): Promise<void> {
    const isMissing = async (name: string): Promise<boolean> =>
      (await this.streamInfo(streamOf(name))) === undefined
    return retried(() => this.#buckets.restore(isMissing))
  }

  /** A bucket that another process creates; undefined until then. */
  async findBucket(name: string): Promise<Bucket | undefined> {
    if ((await retried(() => this.streamInfo(streamOf(name)))) === undefined) return undefined
    const client = await retried(() => findBucket(this.#jetstream, name))
    return new Bucket(client, name, this, { retrying: this.#bucketRetried })
  }

  /** Sends buffered messages, lets callbacks finish, closes. */
  async close(): Promise<void> {
    this.#lost.end()
    if (this.#connection.isClosed()) return
    await this.#near.close()
    try {
      await within(drainTimeoutMs, this.#connection.drain(), 'NATS is unreachable.')
    } catch {
      await this.#connection.close()
    }
  }
}
