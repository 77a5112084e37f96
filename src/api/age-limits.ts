/**
 * Lifts the age limits of the streams while a destination with `on_expiry: block` needs messages that would be removed,
 * and puts them back. Each API does it: all read the same state, so they agree.
 *
 * - Records are kept while such a destination is behind.
 * - Packs are kept also before that, once the oldest one has half the age at which it would be removed.
 */
import { every, monotonicMs, now, type Timer } from '../core/clock.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { hasAgeLimit } from '../nats/streams.js'
import type { BehindEntries } from '../wire/behind-entries.js'
import { deliveriesStream, recordsStream } from '../wire/names.js'
import { oldestPack } from './oldest-pack.js'

const lookEveryMs = 5_000
/** Without such a destination, the limits are looked at this often: an API that ended may have left one lifted. */
const lookEveryMaxMs = 60_000
const oldPackShare = 1 / 2

interface AgeLimitsOptions {
  readonly nats: Pick<Nats, 'streamInfo' | 'limitAge' | 'consumerInfo' | 'nextMessage'>
  readonly entries: Pick<BehindEntries, 'isComplete' | 'of'>
  /** Destinations that may lose nothing; undefined while that is not known. */
  readonly keeping: () => readonly string[] | undefined
  readonly retentionMs: number
  readonly occurrences: Occurrences
}

export class AgeLimits {
  readonly #options: AgeLimitsOptions
  readonly #timer: Timer
  /** When both limits were found or put in place, while no destination needed them lifted. */
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
    const { entries, keeping } = this.#options
    const ids = keeping()
    if (ids === undefined || !entries.isComplete) return
    if (ids.length === 0 && monotonicMs() - this.#unneededMs < lookEveryMaxMs) return
    const isBehind = ids.some((id) => entries.of(id) !== undefined)
    await this.#apply(recordsStream, isBehind)
    await this.#apply(deliveriesStream, isBehind || (await this.#isAnyOld(ids)))
    this.#unneededMs = ids.length === 0 ? monotonicMs() : Number.NEGATIVE_INFINITY
  }

  async #isAnyOld(destinations: readonly string[]): Promise<boolean> {
    const { nats, retentionMs } = this.#options
    for (const id of destinations) {
      const oldest = await oldestPack(nats, id)
      if (oldest !== undefined && oldest.storedAtMs < now() - retentionMs * oldPackShare) return true
    }
    return false
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
