/**
 * The one file that knows the NATS packages: connecting, publishing until stored, streams, pull consumers and
 * key-value buckets, with the answers the rest of the program needs.
 *
 * A publish is retried under its message id until it is acknowledged: a leader change of a cluster answers
 * "no responders" or "JetStream not enabled" for seconds, and only the stream itself knows whether the first try
 * was stored (`Nats-Msg-Id` drops the second).
 */
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type KV, type KvEntry, Kvm } from '@nats-io/kv'
import { headers as createHeaders, type Msg, type MsgHdrs, nanos } from '@nats-io/nats-core'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { sleep } from './clock.js'
import { messageOf } from './errors.js'

export type { JsMsg, KvEntry, MsgHdrs, StreamInfo }

export interface NatsOptions {
  /** Addresses, credentials included (`nats://user:pass@host:4222`). */
  readonly servers: readonly string[]
  /** Shown in the server's connection list. */
  readonly name: string
  readonly replicas: number
  /** Prefix of reply inboxes, where the server's permissions confine a user to one of its own. */
  readonly inboxPrefix?: string
}

export interface PublishOptions {
  /** A second publish with the same id within the stream's duplicate window is acknowledged and not stored. */
  readonly msgId?: string
  readonly headers?: Record<string, string>
  /** Ends the retrying; the publish then rejects. */
  readonly signal?: AbortSignal
  /** Gives up after this many tries; without it a publish is retried until stored or aborted. */
  readonly triesMax?: number
}

/** A call that got no answer in this time is repeated: a healthy server answers in milliseconds. */
const callTimeoutMs = 1_000
const retryDelayMs = 100
const retryDelayMaxMs = 2_000

/** JetStream's error codes, from the server's errors.json. */
const wrongLastSequence = new Set([10071, 10164])
const streamNotFound = 10059
const consumerNotFound = 10014
const noMessageFound = 10037
const storageFull = new Set([10023, 10047, 10077])

const apiCode = (error: unknown): number | undefined =>
  error instanceof JetStreamApiError ? error.code : undefined

/** Did a compare-and-set lose, because somebody else wrote first? */
export const isWrongRevision = (error: unknown): boolean => wrongLastSequence.has(apiCode(error) ?? 0)

/** Is the stream at its bound? Nothing is lost: the publish was refused. */
export const isStorageFull = (error: unknown): boolean =>
  storageFull.has(apiCode(error) ?? 0) ||
  /maximum (bytes|messages) exceeded|insufficient storage/.test(messageOf(error))

/** Faults of the moment: a server that is away, elects a leader or answers late. */
function isTransient(error: unknown): boolean {
  if (isStorageFull(error)) return true
  const code = apiCode(error)
  if (code !== undefined) return code === 10008 || code === 10039 || code === 10076
  const name = error instanceof Error ? error.name : ''
  return /Timeout|NoResponders|JetStreamNotEnabled|RequestError|ConnectionClosed|ClosedConnection|Disconnect/.test(
    `${name} ${messageOf(error)}`,
  )
}

/** Parses servers as contract settings write them. */
export async function openNats(options: NatsOptions): Promise<Nats> {
  const urls = options.servers.map((server) => new URL(server.includes('://') ? server : `nats://${server}`))
  const [first] = urls
  const connection = await connect({
    servers: urls.map((url) => url.host),
    name: options.name,
    ...(first?.username
      ? { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }
      : {}),
    ...(first?.protocol === 'tls:' ? { tls: {} } : {}),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 10_000,
    maxPingOut: 2,
    waitOnFirstConnect: true,
  })
  const manager = await retried(() =>
    jetstreamManager(connection, { timeout: callTimeoutMs, checkAPI: false }),
  )
  return new Nats(connection, manager, options.replicas)
}

/** Runs `call` until it succeeds or fails for good. */
export async function retried<T>(
  call: () => Promise<T>,
  { signal, triesMax }: { signal?: AbortSignal | undefined; triesMax?: number | undefined } = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted || !isTransient(error) || attempt === triesMax) throw error
      await sleep(Math.min(retryDelayMaxMs, retryDelayMs * 2 ** Math.min(attempt - 1, 8)), signal)
    }
  }
}

export interface StreamOptions {
  readonly name: string
  readonly subjects: readonly string[]
  readonly retention: 'limits' | 'workqueue'
  readonly bytesMax: number
  readonly ageMaxMs: number
  readonly messageBytesMax?: number
  /** Equal message ids within this time are stored once. */
  readonly duplicateWindowMs: number
  readonly discard: 'new' | 'old'
}

/** A message as it lies in its stream. */
export interface KeptMessage {
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly storedAtMs: number
  readonly data: Uint8Array
  readonly headers: MsgHdrs
}

export interface Followed {
  close(): Promise<void>
}

export interface ConsumerOptions {
  readonly stream: string
  readonly name: string
  readonly filter?: string
  readonly ackWaitMs: number
  readonly ackPendingMax: number
}

export class Nats {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #jetstream: JetStreamClient
  readonly #replicas: number
  readonly #reconnected = new Set<() => void>()

  constructor(connection: NatsConnection, manager: JetStreamManager, replicas: number) {
    this.#connection = connection
    this.#manager = manager
    this.#jetstream = jetstream(connection, { timeout: callTimeoutMs })
    this.#replicas = replicas
    void this.#followStatus()
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'reconnect') for (const listener of this.#reconnected) listener()
    }
  }

  onReconnect(listener: () => void): void {
    this.#reconnected.add(listener)
  }

  get payloadBytesMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  get isConnected(): boolean {
    return !this.#connection.isClosed() && this.#connection.info !== undefined
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
      options,
    )
    return { sequence: ack.seq, duplicate: ack.duplicate }
  }

  /** Publishes without an acknowledgement: lost when nobody listens. */
  emit(subject: string, data: Uint8Array | string): void {
    this.#connection.publish(subject, data)
  }

  async request(subject: string, data: Uint8Array | string, timeoutMs: number): Promise<Uint8Array> {
    return (await this.#connection.request(subject, data, { timeout: timeoutMs })).data
  }

  /** Answers requests; requests are shared among all that answer under the same `queue`. */
  answer(
    subject: string,
    queue: string | undefined,
    reply: (data: Uint8Array) => Uint8Array | string | Promise<Uint8Array | string>,
  ): { close(): Promise<void> } {
    const respond = async (message: Msg): Promise<void> => {
      const answer = await reply(message.data)
      if (message.reply) message.respond(answer)
    }
    const subscription = this.#connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error === null) void respond(message)
      },
    })
    return { close: () => subscription.drain() }
  }

  /** Makes the stream, or brings the limits of an existing one up to the settings. */
  async ensureStream(options: StreamOptions): Promise<StreamInfo> {
    const config = this.#streamConfig(options)
    return retried(async () => {
      const known = await this.streamInfo(options.name)
      if (known === undefined) return this.#manager.streams.add(config)
      const { max_bytes, max_age, max_msg_size, num_replicas, subjects } = config
      return this.#manager.streams.update(options.name, {
        subjects,
        max_bytes,
        max_age,
        num_replicas,
        duplicate_window: config.duplicate_window,
        ...(max_msg_size === undefined ? {} : { max_msg_size }),
      })
    })
  }

  #streamConfig(
    options: StreamOptions,
  ): Partial<StreamConfig> &
    Pick<StreamConfig, 'name' | 'subjects' | 'max_bytes' | 'max_age' | 'num_replicas' | 'duplicate_window'> {
    return {
      name: options.name,
      subjects: [...options.subjects],
      retention: options.retention === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: options.discard === 'new' ? DiscardPolicy.New : DiscardPolicy.Old,
      max_bytes: options.bytesMax,
      max_age: nanos(options.ageMaxMs),
      duplicate_window: nanos(Math.min(options.duplicateWindowMs, options.ageMaxMs)),
      num_replicas: this.#replicas,
      allow_direct: true,
      ...(options.messageBytesMax === undefined ? {} : { max_msg_size: options.messageBytesMax }),
    }
  }

  async streamInfo(name: string): Promise<StreamInfo | undefined> {
    try {
      return await this.#manager.streams.info(name)
    } catch (error) {
      if (apiCode(error) === streamNotFound || /stream not found/.test(messageOf(error))) return undefined
      throw error
    }
  }

  purgeSubject(stream: string, subject: string): Promise<unknown> {
    return this.#manager.streams.purge(stream, { filter: subject })
  }

  purgeUpTo(stream: string, sequence: number): Promise<unknown> {
    return this.#manager.streams.purge(stream, { seq: sequence })
  }

  async deleteMessage(stream: string, sequence: number): Promise<void> {
    await this.#manager.streams.deleteMessage(stream, sequence)
  }

  /** The first message of a subject at or after `sequence`, or undefined where there is none. */
  nextMessage(stream: string, subject: string, sequence = 1): Promise<KeptMessage | undefined> {
    return kept(() => this.#manager.direct.getMessage(stream, { seq: sequence, next_by_subj: subject }))
  }

  /** The newest message of a subject, as the stream's leader knows it, or undefined where there is none. */
  lastMessage(stream: string, subject: string): Promise<KeptMessage | undefined> {
    return kept(() => this.#manager.streams.getMessage(stream, { last_by_subj: subject }))
  }

  /** A durable pull consumer with explicit acknowledgement, made where it is missing. */
  async ensureConsumer(options: ConsumerOptions): Promise<Consumer> {
    const config = {
      durable_name: options.name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(options.ackWaitMs),
      max_ack_pending: options.ackPendingMax,
      max_deliver: -1,
      ...(options.filter === undefined ? {} : { filter_subject: options.filter }),
    }
    await retried(() => this.#manager.consumers.add(options.stream, config))
    return retried(() => this.#jetstream.consumers.get(options.stream, options.name))
  }

  /** Every message of a subject from `sequence` on, in order, as long as it is open. Nothing is acknowledged. */
  async follow(
    stream: string,
    subject: string,
    sequence: number,
    onMessage: (message: { sequence: number; data: Uint8Array }) => void,
  ): Promise<Followed> {
    const consumer = await retried(() =>
      this.#jetstream.consumers.get(stream, {
        filter_subjects: subject,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: sequence,
      }),
    )
    const messages = await consumer.consume({
      callback: (message) => onMessage({ sequence: message.seq, data: message.data }),
    })
    return {
      close: async () => {
        await messages.close()
      },
    }
  }

  /** One question, and every answer that comes within the time. */
  async gather(subject: string, data: string, waitMs: number): Promise<Uint8Array[]> {
    const answers: Uint8Array[] = []
    const replies = await this.#connection.requestMany(subject, data, { strategy: 'timer', maxWait: waitMs })
    for await (const reply of replies) if (reply.data.length > 0) answers.push(reply.data)
    return answers
  }

  async consumerInfo(
    stream: string,
    name: string,
  ): Promise<{ pending: number; ackPending: number } | undefined> {
    try {
      const info = await this.#manager.consumers.info(stream, name)
      return { pending: info.num_pending, ackPending: info.num_ack_pending }
    } catch (error) {
      if (apiCode(error) === consumerNotFound || apiCode(error) === streamNotFound) return undefined
      throw error
    }
  }

  async deleteConsumer(stream: string, name: string): Promise<void> {
    try {
      await this.#manager.consumers.delete(stream, name)
    } catch (error) {
      if (apiCode(error) !== consumerNotFound && apiCode(error) !== streamNotFound) throw error
    }
  }

  async consumerNames(stream: string): Promise<string[]> {
    const names: string[] = []
    for await (const info of this.#manager.consumers.list(stream)) names.push(info.name)
    return names
  }

  /** A bucket that keeps the last value of each key. */
  async openBucket(name: string, bytesMax: number): Promise<Bucket> {
    const kvm = new Kvm(this.#jetstream)
    const kv = await retried(() =>
      kvm.create(name, {
        history: 1,
        storage: StorageType.File,
        replicas: this.#replicas,
        max_bytes: bytesMax,
        timeout: callTimeoutMs,
        allow_direct: true,
      }),
    )
    return new Bucket(kv, name, this)
  }

  /** A bucket that another process makes; undefined while it has not. */
  async findBucket(name: string): Promise<Bucket | undefined> {
    if ((await retried(() => this.streamInfo(`KV_${name}`))) === undefined) return undefined
    const kvm = new Kvm(this.#jetstream)
    return new Bucket(
      await retried(() => kvm.open(name, { timeout: callTimeoutMs, allow_direct: true })),
      name,
      this,
    )
  }

  /** Sends what is buffered, lets callbacks end, closes. */
  async close(): Promise<void> {
    if (!this.#connection.isClosed()) await this.#connection.drain()
  }
}

async function kept(get: () => Promise<StoredMsg | null>): Promise<KeptMessage | undefined> {
  const message = await retried(async () => {
    try {
      return await get()
    } catch (error) {
      if (apiCode(error) === noMessageFound || /no message found/.test(messageOf(error))) return null
      throw error
    }
  })
  if (message === null) return undefined
  return {
    sequence: message.seq,
    storedAtMs: message.time.getTime(),
    data: message.data,
    headers: message.header,
  }
}

function headersOf(values: Record<string, string>): MsgHdrs {
  const headers = createHeaders()
  for (const [name, value] of Object.entries(values)) headers.set(name, value)
  return headers
}

export interface BucketEntry {
  readonly key: string
  readonly revision: number
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined
}

const entryOf = (entry: KvEntry): BucketEntry => ({
  key: entry.key,
  revision: entry.revision,
  value: entry.operation === 'PUT' ? entry.value : undefined,
})

/** A key-value bucket; revisions are the sequences of its stream. */
export class Bucket {
  readonly #kv: KV
  readonly #nats: Nats
  readonly name: string

  constructor(kv: KV, name: string, nats: Nats) {
    this.#kv = kv
    this.name = name
    this.#nats = nats
  }

  async get(key: string): Promise<BucketEntry | undefined> {
    const entry = await retried(() => this.#kv.get(key))
    return entry === null ? undefined : entryOf(entry)
  }

  /** Unconditional. Resolves with the new revision. */
  put(key: string, value: Uint8Array | string, options: { triesMax?: number } = {}): Promise<number> {
    return retried(() => this.#kv.put(key, value), options)
  }

  /**
   * Compare-and-set: stores only where the key's last revision is `revision` (0: never written).
   * Resolves with the new revision, or undefined where somebody else wrote first. A try whose answer was lost
   * may have been stored: the caller looks at what is there.
   */
  async replace(key: string, value: Uint8Array | string, revision: number): Promise<number | undefined> {
    try {
      return await this.#kv.put(key, value, { previousSeq: revision })
    } catch (error) {
      if (isWrongRevision(error)) return undefined
      throw error
    }
  }

  /** Deletes where the key's last revision is `revision`; false where somebody else wrote first. */
  async remove(key: string, revision: number): Promise<boolean> {
    try {
      await this.#kv.delete(key, { previousSeq: revision })
      return true
    } catch (error) {
      if (isWrongRevision(error)) return false
      throw error
    }
  }

  /** Takes one key out, without a trace. */
  async forget(key: string): Promise<void> {
    await this.#nats.purgeSubject(`KV_${this.name}`, `$KV.${this.name}.${key}`)
  }

  /** Takes every key out, without a trace: only for what is filled again from somewhere else. */
  async empty(): Promise<void> {
    await this.#nats.purgeSubject(`KV_${this.name}`, `$KV.${this.name}.>`)
  }

  /** Identity and position of the bucket's stream: changed identity means it was made anew. */
  async position(): Promise<{ createdAt: string; lastRevision: number }> {
    const info = await this.#nats.streamInfo(`KV_${this.name}`)
    if (info === undefined) return { createdAt: 'none', lastRevision: 0 }
    return { createdAt: String(info.created), lastRevision: info.state.last_seq }
  }

  /**
   * The current entries, then every change, until closed. `onEntry` sees each key's last value once, then changes
   * in the order of their revisions; `onCurrent` is called when the first pass is complete.
   */
  async watch(onEntry: (entry: BucketEntry) => void, onCurrent: () => void): Promise<{ close(): void }> {
    const { lastRevision } = await this.position()
    let current = false
    const arrived = (revision: number): void => {
      if (current || revision < lastRevision) return
      current = true
      onCurrent()
    }
    const watch = await retried(() => this.#kv.watch())
    if (lastRevision === 0) arrived(0)
    void (async () => {
      for await (const entry of watch) {
        onEntry(entryOf(entry))
        arrived(entry.revision)
      }
    })()
    return { close: () => watch.stop() }
  }
}

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

export type { Consumer, ConsumerMessages }
