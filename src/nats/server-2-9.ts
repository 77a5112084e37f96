/**
 * Workarounds for nats-server before 2.9.15, all in this file; Debian 12 ships 2.9.10. Once Weir requires a later
 * version, the file goes: `removeMessages` becomes a purge, `VersionReports` has nothing to report.
 *
 * Not here, because later versions need them too: `streamIdentity` and `quorumProblem` in `streams.ts`.
 */
import type { JetStreamManager } from '@nats-io/jetstream'
import { eachOf } from '../core/concurrency.js'
import { removalsAtOnceMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import { isMessageMissing, type Patience, retried, undefinedIf } from './retry.js'

/**
 * Removes single messages from a stream; missing ones are skipped.
 *
 * A purge would remove all of them at once, but the server then forgets which messages consumers hold unacknowledged:
 * they are never redelivered if their holder dies (fixed in 2.9.15, nats-server #3892). A consumer of more subjects
 * than the purge names also skips messages; before this becomes a purge, see that test/nats/server-2-9.test.ts passes
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

const wildcardReplyFixedIn = [2, 9, 15] as const

/**
 * Can a client crash this version with a wildcard in the reply subject of a message? Permissions do not restrict reply
 * subjects, so any client can (fixed in 2.9.15, nats-server #3862). False for a version that can't be read.
 */
export function crashesOnWildcardReply(version: unknown): boolean {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-)?/.exec(String(version))
  if (match === null) return false
  const parts = match.slice(1, 4).map(Number)
  const different = wildcardReplyFixedIn.findIndex((part, index) => part !== parts[index])
  // A preview of the fixed version may lack the fix.
  return different === -1 ? match[4] !== undefined : parts[different]! < wildcardReplyFixedIn[different]!
}

export type VersionOccurrences = Pick<Occurrences, 'natsServerOutdated' | 'natsServersOutdated'>

/** Reports an outdated version once, however often the server comes back; the gauge follows the server in use. */
export class VersionReports {
  readonly #occurrences: VersionOccurrences | undefined
  #reported: unknown

  constructor(occurrences: VersionOccurrences | undefined) {
    this.#occurrences = occurrences
  }

  note(version: unknown): void {
    const isOutdated = crashesOnWildcardReply(version)
    this.#occurrences?.natsServersOutdated({}, isOutdated ? 1 : 0)
    if (!isOutdated || this.#reported === version) return
    this.#reported = version
    this.#occurrences?.natsServerOutdated({ version })
  }
}
