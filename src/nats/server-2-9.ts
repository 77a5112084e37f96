/**
 * Takes single messages out of a stream.
 *
 * Removing many at once is what a purge is for, but nats-server 2.9 then loses messages that stay in the stream: what a
 * consumer holds unacknowledged is forgotten, and never delivered again where its holder dies; and a consumer of more
 * subjects than the purge names skips what it has not been told of yet. So a purge is only for what is read by nobody
 * but those who acknowledge nothing.
 */
import type { JetStreamManager } from '@nats-io/jetstream'
import { eachOf } from '../core/concurrency.js'
import { removalsAtOnceMax } from '../core/limits.js'
import { isMessageMissing, type Patience, retried } from './retry.js'

/** Those that are not there are left out. */
export function removeMessages(
  manager: JetStreamManager,
  stream: string,
  sequences: Iterable<number>,
  patience: Patience = {},
): Promise<void> {
  const remove = async (sequence: number): Promise<void> => {
    try {
      await manager.streams.deleteMessage(stream, sequence, false)
    } catch (error) {
      if (!isMessageMissing(error)) throw error
    }
  }
  return eachOf(sequences, removalsAtOnceMax, (sequence) => retried(() => remove(sequence), patience))
}
