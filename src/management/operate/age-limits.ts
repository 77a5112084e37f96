/**
 * Lifts the age limit of the streams of records while a destination with `on_expiry: block` is behind, and puts it back.
 * Each API does it: all read the same state, so they agree.
 */

import { type BehindEntries, partitionOf } from '../../delivery/wire/behind.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { every, monotonicMs, type Timer } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { hasAgeLimit } from '../../ground/nats/streams.js'

const lookEveryMs = 5_000
/** Without such a destination, the limit is looked at this often: an API that ended may have left it lifted. */
const lookEveryMaxMs = 60_000

interface AgeLimitsOptions {
  readonly nats: Pick<Nats, 'streamInfo' | 'limitAge'>
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly entries: Pick<BehindEntries, 'isComplete' | 'ofDestination'>
  /** Destinations that may lose nothing; undefined while that is not known. */
  readonly keeping: () => readonly string[] | undefined
  readonly retentionMs: number
  readonly occurrences: Occurrences
}

export class AgeLimits {
  readonly #options: AgeLimitsOptions
  readonly #timer: Timer
  /** The time at which the limit was found or set while no destination needed it lifted. */
  #unneededMs = Number.NEGATIVE_INFINITY

  constructor(options: AgeLimitsOptions) {
    this.#options = options
    this.#timer = every(lookEveryMs, () =>
      this.look().catch(() => {
        // The health of NATS is reported elsewhere; the next look tries again.
      }),
    )
  }

  async look(): Promise<void> {
    const { partitions, entries, keeping } = this.#options
    const ids = keeping()
    if (ids === undefined || !entries.isComplete) return
    if (ids.length === 0 && monotonicMs() - this.#unneededMs < lookEveryMaxMs) return
    // The streams of a partition can be deleted while it has an entry: nothing waits there any more.
    const isBehind = ids.some((id) =>
      entries.ofDestination(id).some((entry) => partitions.all.includes(partitionOf(entry))),
    )
    for (const { recordsStream } of partitions.all) await this.#apply(recordsStream, isBehind)
    this.#unneededMs = ids.length === 0 ? monotonicMs() : Number.NEGATIVE_INFINITY
  }

  async #apply(stream: string, isLifted: boolean): Promise<void> {
    const { nats, retentionMs, occurrences } = this.#options
    const info = await nats.streamInfo(stream)
    if (info === undefined || hasAgeLimit(info) !== isLifted) return
    await nats.limitAge(stream, isLifted ? 0 : retentionMs)
    if (isLifted) occurrences.ageLimitLifted({ stream })
    else occurrences.ageLimitRestored({ stream })
  }

  close(): void {
    this.#timer.stop()
  }
}
