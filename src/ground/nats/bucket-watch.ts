/**
 * Watches and lists a bucket by consumers that its server keeps in memory, and that are deleted when they are done.
 *
 * The package for buckets has a watch and a listing, too, but the consumers of those are stored, and none is deleted: a
 * server that starts again first recovers each one that was open, or had ended less than five minutes ago, which takes
 * 10 ms with 10,000 keys.
 */
import {
  type ConsumerConfig,
  DeliverPolicy,
  type JetStreamClient,
  type JsMsg,
  type OrderedPushConsumerOptions,
  type PushConsumer,
} from '@nats-io/jetstream'
import { every, monotonicMs } from '../core/clock.js'
import { streamOf } from './bucket-stream.js'

export interface BucketEntry {
  readonly key: string
  readonly revision: number
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined
}

export interface BucketWatcher {
  /**
   * Each key's last value once, then changes in the order of their revisions. `pending`: how many entries followed it
   * when it was sent. If a key changes again before it was delivered, only the newest value is delivered.
   */
  entry(entry: BucketEntry, pending: number): void
  /** All entries that existed at the start have been delivered. */
  current(): void
  /** The watch ended without being closed; `error` if one ended it. */
  ended(error: unknown): void
}

export interface Closable {
  close(): void
}

/** The client passes on what its type lacks. */
type InMemory = Partial<OrderedPushConsumerOptions> & Pick<ConsumerConfig, 'mem_storage'>

/** Names what happened to a key; a message without it has a value. */
const operationHeader = 'KV-Operation'

/** `isCurrent`: there is nothing to be delivered at first. `from`: only revisions from there on; 0 for all. */
export async function watchBucket(
  jetstream: JetStreamClient,
  bucket: string,
  { watcher, isCurrent, from }: { watcher: BucketWatcher; isCurrent: boolean; from: number },
): Promise<Closable> {
  const prefix = keyPrefix(bucket)
  const consumer: InMemory = {
    filter_subjects: `${prefix}>`,
    mem_storage: true,
    ...(from === 0 ? { deliver_policy: DeliverPolicy.LastPerSubject } : { opt_start_seq: from }),
  }
  let isClosed = false
  let wasCurrent = isCurrent
  const callback = (message: JsMsg): void => {
    if (isClosed) return
    const { pending } = message.info
    watcher.entry(entryOf(message, prefix), pending)
    if (wasCurrent || pending !== 0) return
    wasCurrent = true
    watcher.current()
  }
  const opened = await jetstream.consumers.getPushConsumer(streamOf(bucket), consumer)
  const watch = await opened.consume({ callback })
  void watch.closed().then((error) => isClosed || watcher.ended(error || undefined))
  return {
    close: () => {
      if (isClosed) return
      isClosed = true
      watch.stop()
      void discard(opened)
    },
  }
}

/** A server that is away deletes the consumer itself, once nobody has listened to it for minutes. */
const discard = (consumer: PushConsumer): Promise<unknown> => consumer.delete().catch(() => {})

/** The last entry of a key. */
export interface ListedEntry {
  readonly revision: number
  readonly isDeleted: boolean
}

interface Listing {
  readonly entries: Map<string, ListedEntry>
  /** False if keys may be missing: they changed before their entry was delivered, and have a later one. */
  readonly isWhole: boolean
}

/** A listing that hears nothing for so long asks whether anything is left: the last entries may have been removed. */
const silenceMs = 1_000

/** The keys that match a filter, each once, with its last entry. `lastRevision`: of the bucket, when it is called. */
export async function listBucket(
  jetstream: JetStreamClient,
  bucket: string,
  filter: string,
  lastRevision: () => Promise<number>,
): Promise<Listing> {
  const prefix = keyPrefix(bucket)
  const options: InMemory = {
    filter_subjects: `${prefix}${filter}`,
    mem_storage: true,
    headers_only: true,
    deliver_policy: DeliverPolicy.LastPerSubject,
  }
  const consumer = await jetstream.consumers.getPushConsumer(streamOf(bucket), options)
  const entries = new Map<string, ListedEntry>()
  try {
    if ((await consumer.info(true)).num_pending === 0) return { entries, isWhole: true }
    const take = (message: JsMsg): void => {
      const { key, revision, value } = entryOf(message, prefix)
      entries.set(key, { revision, isDeleted: value === undefined })
    }
    // If others write all the time, the consumer always has more to deliver.
    const isWhole = await readUpTo(consumer, await lastRevision(), take)
    return { entries, isWhole }
  } finally {
    await discard(consumer)
  }
}

/** Takes what the consumer delivers up to a sequence. True if it had nothing more to deliver. */
async function readUpTo(
  consumer: PushConsumer,
  sequence: number,
  take: (message: JsMsg) => void,
): Promise<boolean> {
  let heardMs = monotonicMs()
  let end: (isWhole: boolean) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const ended = new Promise<boolean>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  const callback = (message: JsMsg): void => {
    heardMs = monotonicMs()
    take(message)
    if (message.info.pending === 0) end(true)
    else if (message.seq >= sequence) end(false)
  }
  const messages = await consumer.consume({ callback })
  const cut = new Error('A listing ended before its last key.')
  void messages.closed().then((error) => fail(error || cut))
  const silence = every(silenceMs, async () => {
    if (monotonicMs() - heardMs < silenceMs) return
    await consumer.info().then(({ num_pending }) => num_pending === 0 && end(true), fail)
  })
  try {
    return await ended
  } finally {
    silence.stop()
    messages.stop()
  }
}

/** The beginning of the subjects of a bucket's keys. */
export const keyPrefix = (bucket: string): string => `$KV.${bucket}.`

const entryOf = (message: JsMsg, prefix: string): BucketEntry => ({
  key: message.subject.slice(prefix.length),
  revision: message.seq,
  value: message.headers?.has(operationHeader) ? undefined : message.data,
})
