/** Key-value buckets: the last value of each key, compare-and-set by revision, and watching. */
import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream'
import { type KV, type KvEntry, Kvm, type KvOptions } from '@nats-io/kv'
import { nanos } from '@nats-io/nats-core'
import { eachOf } from '../core/concurrency.js'
import { unavailable } from '../core/errors.js'
import { keysAtOnceMax } from '../core/limits.js'
import { streamOf } from './bucket-stream.js'
import {
  type BucketEntry,
  type BucketWatcher,
  type Closable,
  keyPrefix,
  type ListedEntry,
  listBucket,
  watchBucket,
} from './bucket-watch.js'
import type { DamagedEntries } from './damaged-entries.js'
import type { UnopenedConsumers } from './failures.js'
import {
  callTimeoutMs,
  isStorageFull,
  isStreamMissing,
  isWrongRevision,
  type Patience,
  retried,
  undefinedIf,
  withRoom,
} from './retry.js'
import { newStreamIdentity, roomOf, streamIdentity } from './streams.js'

export type { BucketEntry, BucketWatcher, Closable }

/** A bucket as the packages know it. */
interface BucketClient {
  readonly kv: KV
  readonly jetstream: JetStreamClient
}

/** The calls a bucket needs of its connection. */
interface BucketHost {
  streamInfo(name: string): Promise<StreamInfo | undefined>
  subjectCounts(stream: string, filter: string): Promise<Readonly<Record<string, number>>>
  purgeSubject(stream: string, subject: string): Promise<unknown>
  removeMessages(stream: string, sequences: Iterable<number>, patience?: Patience): Promise<void>
  onReconnect(listener: () => void): () => void
  readonly damaged: Pick<DamagedEntries, 'report' | 'found'>
  readonly unopened: Pick<UnopenedConsumers, 'noted'>
}

/** The position of a bucket's stream. Another `identity` means that it was recreated. */
export interface BucketPosition {
  readonly identity: string
  readonly lastRevision: number
}

interface BucketLimits {
  readonly bytesMax: number
  /** Entries expire at this age, and the oldest ones earlier if the bucket is full; without it, never. */
  readonly ageMaxMs?: number | undefined
}

/** How long the calls of a bucket are retried, and how long it keeps entries. */
export type BucketOptions = Patience &
  Pick<BucketLimits, 'ageMaxMs'> & {
    /** `restore` leaves it to its owner, which fills it before anyone uses it. */
    readonly isFilledByOwner?: true | undefined
  }

/**
 * Reads go to the leader: a replica's answer can be stale, and a read decides whether a compare-and-set whose answer
 * was lost has been stored.
 */
const bucketOptions: Partial<KvOptions> = {
  history: 1,
  storage: StorageType.File,
  timeout: callTimeoutMs,
  allow_direct: false,
}

/**
 * Creates buckets. The first look at an existing one applies the limits of this process, so that a changed setting counts
 * from its next start on. Later looks leave it as it is: processes with different settings would otherwise change it back
 * and forth.
 */
export class BucketMaker {
  readonly #jetstream: JetStreamClient
  readonly #manager: JetStreamManager
  readonly #replicas: number
  /**
   * By name: the limits of each bucket that this process opened. Such a bucket has them, or those of a process that started
   * later.
   */
  readonly #opened = new Map<string, BucketLimits>()
  /** The names of those of them that `restore` makes again. */
  readonly #restorable = new Set<string>()

  constructor(jetstream: JetStreamClient, manager: JetStreamManager, replicas: number) {
    this.#jetstream = jetstream
    this.#manager = manager
    this.#replicas = replicas
  }

  get restorable(): readonly string[] {
    return [...this.#restorable]
  }

  /** Makes buckets again that this process opened and NATS has lost, but for those that their owners fill. */
  async restore(isMissing: (name: string) => Promise<boolean>): Promise<void> {
    for (const name of this.#restorable)
      if (await isMissing(name)) await this.ensure(name, this.#opened.get(name)!)
  }

  /** Throws a `StartFault` if NATS has no room for a new bucket. */
  async ensure(
    name: string,
    limits: BucketLimits & Pick<BucketOptions, 'isFilledByOwner'>,
  ): Promise<BucketClient> {
    const { bytesMax, ageMaxMs = 0, isFilledByOwner } = limits
    const options = { ...bucketOptions, replicas: this.#replicas, max_bytes: bytesMax, ttl: ageMaxMs }
    const create = { ...options, description: newStreamIdentity() }
    const make = () => new Kvm(this.#jetstream).create(name, create)
    // If another process created it first, with another identity, the second attempt finds that one.
    const kv = await withRoom(streamOf(name), bytesMax, () => make().catch(make))
    if (!this.#opened.has(name)) await this.#limit(streamOf(name), limits)
    this.#opened.set(name, { bytesMax, ageMaxMs })
    if (!isFilledByOwner) this.#restorable.add(name)
    return { kv, jetstream: this.#jetstream }
  }

  async #limit(stream: string, { bytesMax, ageMaxMs = 0 }: BucketLimits): Promise<void> {
    const info = await this.#manager.streams.info(stream)
    const limits = {
      num_replicas: this.#replicas,
      max_bytes: roomOf(bytesMax, info),
      max_age: nanos(ageMaxMs),
      discard: ageMaxMs === 0 ? DiscardPolicy.New : DiscardPolicy.Old,
    }
    const isOtherwise = Object.entries(limits).some(
      ([limit, value]) => info.config[limit as keyof typeof limits] !== value,
    )
    // If the server has no room for a larger bucket, the bucket keeps its size: a role's setting may exceed the API's.
    if (isOtherwise) await undefinedIf(isStorageFull, () => this.#manager.streams.update(stream, limits))
  }
}

export const findBucket = async (jetstream: JetStreamClient, name: string): Promise<BucketClient> => ({
  kv: await new Kvm(jetstream).open(name, { ...bucketOptions }),
  jetstream,
})

const entryOf = (entry: KvEntry): BucketEntry => ({
  key: entry.key,
  revision: entry.revision,
  value: entry.operation === 'PUT' ? entry.value : undefined,
})

/** A key-value bucket; revisions are the sequences of its stream. */
export class Bucket {
  readonly #kv: KV
  readonly #jetstream: JetStreamClient
  readonly #host: BucketHost
  readonly #patience: Patience
  readonly name: string

  /** `patience` limits how long calls are retried; without it they wait for NATS as long as it takes. */
  constructor({ kv, jetstream }: BucketClient, name: string, host: BucketHost, patience: Patience = {}) {
    this.#kv = kv
    this.#jetstream = jetstream
    this.name = name
    this.#host = host
    this.#patience = patience
  }

  /** A deleted bucket is recreated by an API; until then it counts as unavailable, like NATS itself. */
  async #call<T>(call: () => Promise<T>, patience: Patience = this.#patience): Promise<T> {
    try {
      return await retried(call, { retrying: this.#patience.retrying, ...patience })
    } catch (error) {
      if (isStreamMissing(error))
        throw unavailable('A bucket in NATS is missing; the API recreates it.', error)
      throw error
    }
  }

  /** The decoded value of an entry; undefined for a deletion, and, reported, for a value that `decode` throws at. */
  decoded<T>(entry: BucketEntry | undefined, decode: (value: Uint8Array) => T): T | undefined {
    if (entry?.value === undefined) return undefined
    try {
      return decode(entry.value)
    } catch (error) {
      this.reportDamaged(entry, error)
      return undefined
    }
  }

  /** How often this process came upon damaged entries of the bucket. */
  get damagedFound(): number {
    return this.#host.damaged.found(streamOf(this.name))
  }

  reportDamaged({ key, revision, value = new Uint8Array() }: BucketEntry, error: unknown): void {
    this.#host.damaged.report({ stream: streamOf(this.name), sequence: revision, key }, value, error)
  }

  /** The key's last entry, read from the bucket's leader. */
  async get(key: string, patience: Patience = this.#patience): Promise<BucketEntry | undefined> {
    const entry = await this.#call(() => this.#kv.get(key), patience)
    return entry === null ? undefined : entryOf(entry)
  }

  /** The keys that match, `*` standing for one part and `>` for the rest; deleted ones are left out. */
  async keys(filter: string): Promise<string[]> {
    return [...(await this.#list(filter))].flatMap(([key, { isDeleted }]) => (isDeleted ? [] : [key]))
  }

  /** The last entry of each key that matches; keys that exist all the time are among them, also if they change. */
  async #list(filter: string): Promise<ReadonlyMap<string, ListedEntry>> {
    const lastRevision = async () => (await this.position()).lastRevision
    const list = () => listBucket(this.#jetstream, this.name, filter, lastRevision)
    const { entries, isWhole } = await this.#call(list)
    if (isWhole) return entries
    const prefix = keyPrefix(this.name)
    const subjects = await this.#call(() =>
      this.#host.subjectCounts(streamOf(this.name), `${prefix}${filter}`),
    )
    const missing = Object.keys(subjects).map((subject) => subject.slice(prefix.length))
    await eachOf(missing, keysAtOnceMax, async (key) => {
      const entry = entries.has(key) ? undefined : await this.get(key)
      if (entry !== undefined)
        entries.set(key, { revision: entry.revision, isDeleted: entry.value === undefined })
    })
    return entries
  }

  /** Unconditional. Resolves with the new revision. */
  put(key: string, value: Uint8Array | string, patience: Patience = this.#patience): Promise<number> {
    return this.#call(() => this.#kv.put(key, value), patience)
  }

  /**
   * Compare-and-set: stores only if the key's last revision is `revision` (0: never written). Resolves with the new
   * revision, or undefined if another process wrote first. An attempt whose answer was lost may have been stored and then
   * looks like another process's: the caller reads the key to find out. `failed`: called with the error of each attempt.
   */
  replace(
    key: string,
    value: Uint8Array | string,
    revision: number,
    failed?: Patience['failed'],
  ): Promise<number | undefined> {
    const put = () => this.#kv.put(key, value, { previousSeq: revision })
    return this.#call(() => undefinedIf(isWrongRevision, put), { ...this.#patience, failed })
  }

  /** Deletes the key if its last revision is `revision`; false if another process wrote first. */
  remove(key: string, revision: number): Promise<boolean> {
    if (revision === 0) throw new Error(`The key ${key} can't be removed: it was never written.`)
    const remove = () => this.#kv.delete(key, { previousSeq: revision }).then(() => true)
    return this.#call(async () => (await undefinedIf(isWrongRevision, remove)) ?? false)
  }

  /** Removes a key, or all keys that a filter matches, without a tombstone: watchers do not notice. */
  async forget(key: string): Promise<void> {
    const revisions = [...(await this.#list(key)).values()].map(({ revision }) => revision)
    await this.#call(() => this.#host.removeMessages(streamOf(this.name), revisions, this.#patience))
  }

  /** Removes every key without a tombstone: only for a bucket that is filled again from another source. */
  async empty(): Promise<void> {
    await this.#host.purgeSubject(streamOf(this.name), `${keyPrefix(this.name)}>`)
  }

  /** Identity and position of the bucket's stream; an `identity` of '' if there is none. */
  async position(): Promise<BucketPosition> {
    const { identity, lastRevision } = await this.#look()
    return { identity, lastRevision }
  }

  async #look(): Promise<BucketPosition & { readonly keys: number }> {
    const info = await retried(() => this.#host.streamInfo(streamOf(this.name)), this.#patience)
    if (info === undefined) return { identity: '', lastRevision: 0, keys: 0 }
    return { identity: streamIdentity(info), lastRevision: info.state.last_seq, keys: info.state.messages }
  }

  /** Calls back after each reconnect; the result unsubscribes. */
  onReconnect(listener: () => void): () => void {
    return this.#host.onReconnect(listener)
  }

  /** Existing entries and every change until closed; `from`: only revisions from there on. */
  async watch(watcher: BucketWatcher, from = 0): Promise<Closable> {
    const { keys, lastRevision } = await this.#look()
    const isCurrent = keys === 0 || lastRevision < from
    const start = () => watchBucket(this.#jetstream, this.name, { watcher, isCurrent, from })
    const watch = await this.#host.unopened.noted(streamOf(this.name), 'one of a watcher', (failed) =>
      retried(start, { ...this.#patience, failed }),
    )
    if (isCurrent) watcher.current()
    return watch
  }
}
