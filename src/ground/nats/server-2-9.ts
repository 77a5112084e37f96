/**
 * The workaround for nats-server before 2.9.15; Debian 12 ships 2.9.10. On later versions it is right, too. Once Weir
 * requires one, the file goes, and `removeMessages` becomes a purge.
 *
 * Not here, because later versions need them too: `streamIdentity` and `quorumProblem` in `streams.ts`. What a version
 * lacks is in `server-versions.ts`.
 */
import type { JetStreamManager } from '@nats-io/jetstream'
import { eachOf } from '../core/concurrency.js'
import { isMessageMissing, type Patience, retried, undefinedIf } from './retry.js'

/** Messages of a stream removed concurrently. */
const removalsAtOnceMax = 64

/**
 * Removes single messages from a stream; missing ones are skipped.
 *
 * A purge would remove all of them at once, but the server then forgets which messages consumers hold unacknowledged:
 * they are never redelivered if their holder dies (fixed in 2.9.15, nats-server #3892). A consumer of more subjects
 * than the purge names also skips messages; before this becomes a purge, see that test/ground/nats/server-2-9.test.ts passes
 * with it. Until then, only streams that are read without acknowledgements are purged.
 */
export function removeMessages(
  manager: JetStreamManager,
  stream: string,
  sequences: Iterable<number>,
  patience: Patience = {},
): Promise<void> {
  const remove = (sequence: number) =>
    undefinedIf(isMessageMissing, () => manager.streams.deleteMessage(stream, sequence, false))
  return eachOf(sequences, removalsAtOnceMax, (sequence) => retried(() => remove(sequence), patience))
}
