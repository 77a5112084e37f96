/**
 * Watches a bucket by a consumer that its server keeps in memory.
 *
 * The package for buckets has a watch, too, but the consumers of that are stored: a server that starts again first
 * recovers each one that was open, or had ended less than five minutes ago, which takes 10 ms with 10,000 keys.
 */
import {
  type ConsumerConfig,
  DeliverPolicy,
  type JetStreamClient,
  type JsMsg,
  type OrderedPushConsumerOptions,
} from '@nats-io/jetstream'
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
  const prefix = `$KV.${bucket}.`
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
  const watch = await (await jetstream.consumers.getPushConsumer(streamOf(bucket), consumer)).consume({
    callback,
  })
  void watch.closed().then((error) => isClosed || watcher.ended(error || undefined))
  return {
    close: () => {
      isClosed = true
      watch.stop()
    },
  }
}

const entryOf = (message: JsMsg, prefix: string): BucketEntry => ({
  key: message.subject.slice(prefix.length),
  revision: message.seq,
  value: message.headers?.has(operationHeader) ? undefined : message.data,
})
