/**
 * When the packs of a destination are too old. JetStream removes none for its age, so that none is lost without being
 * counted. A pack that is older than the retention is dropped by a deliverer:
 *
 * - unless its destination accepts events: then it is delivered, however old it is;
 * - unless its destination may lose nothing;
 * - not within the time of the warning after a start. While no deliverer ran, no one could be warned in time.
 */
import { monotonicMs, now } from '../core/clock.js'
import { warningMs } from '../core/warning-time.js'
import type { Nats } from '../nats/nats.js'
import type { DestinationConfig } from './destination.js'
import { oldestPack } from './oldest-pack.js'

const lookEveryMs = { min: 1_000, max: 60_000 }

export class Expiry {
  readonly #nats: Pick<Nats, 'consumerInfo' | 'nextMessage'>
  readonly #retentionMs: number
  /** Nothing is dropped before this time. */
  readonly #beginsMs: number
  #lookMs = 0

  constructor(nats: Pick<Nats, 'consumerInfo' | 'nextMessage'>, retentionMs: number) {
    this.#nats = nats
    this.#retentionMs = retentionMs
    this.#beginsMs = now() + warningMs(retentionMs)
  }

  /** Packs that were stored before this time are too old. */
  beforeMs({ keepsEvents }: Pick<DestinationConfig, 'keepsEvents'>): number {
    const nowMs = now()
    return keepsEvents || nowMs < this.#beginsMs ? Number.NEGATIVE_INFINITY : nowMs - this.#retentionMs
  }

  /** Is there a pack in the stream that is too old? Mostly answered without a look. */
  async isDue({ id, keepsEvents }: Pick<DestinationConfig, 'id' | 'keepsEvents'>): Promise<boolean> {
    if (keepsEvents || monotonicMs() < this.#lookMs) return false
    const oldest = await oldestPack(this.#nats, id)
    const expiresMs = Math.max(this.#beginsMs, (oldest?.storedAtMs ?? Infinity) + this.#retentionMs)
    const inMs = expiresMs - now()
    this.#lookMs = monotonicMs() + Math.min(lookEveryMs.max, Math.max(lookEveryMs.min, inMs))
    return inMs <= 0
  }

  /** One was dropped: the next one may be due, too. */
  dropped(): void {
    this.#lookMs = 0
  }
}
