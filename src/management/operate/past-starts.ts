/**
 * Subscriptions that start in the past: with `start_from`, a new subscription also gets the events of recorded traffic.
 * Its row names a replay for each destination. They begin once the row is stored; should the process die in between,
 * every API finds the row within a minute, and begins those that are missing.
 */
import { every, now, type Timer } from '../../ground/core/clock.js'
import { badRequest, shown } from '../../ground/core/errors.js'
import { wholeKinds } from '../../words/event/check-source.js'
import type { Source } from '../../words/resource/event-subscription.js'
import { pastTime } from '../exchange/query-values.js'
import type { Replays } from './replays.js'

/** As a client sends it. */
interface Values {
  readonly start_from?: string | null
  readonly sources?: readonly Source[]
  readonly destination_ids?: readonly string[]
}

interface Subscription {
  readonly id: string
  readonly account_id: string
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** Missing in rows of earlier versions. */
  readonly start_from?: string | null
  readonly replay_ids?: readonly string[] | null
  readonly destination_ids: readonly string[]
}

/** The members of a new subscription that its answer shows. */
interface NewSubscription {
  readonly id: string
  readonly start_from?: string
  readonly replay_ids?: readonly string[]
  readonly destinations: readonly { readonly id: string }[]
}

const sweepMs = 60_000
/** Rows that are older have their replays, or had none when there was still something to replay. */
const sweptAgeMaxMs = 3_600_000

export class PastStarts {
  readonly #replays: Replays
  readonly #subscriptions: () => Iterable<Subscription>
  readonly #timer: Timer

  constructor(replays: Replays, subscriptions: () => Iterable<Subscription>) {
    this.#replays = replays
    this.#subscriptions = subscriptions
    // NATS reports its failures itself; the next sweep tries again.
    this.#timer = every(sweepMs, () => this.sweep().catch(() => {}))
  }

  async before({ start_from, sources = [], destination_ids = [] }: Values): Promise<void> {
    if (start_from === undefined || start_from === null) return
    const bounds = { nowMs: now(), retentionMs: this.#replays.retentionMs }
    if (Date.parse(start_from) >= bounds.nowMs)
      throw badRequest(`"start_from" is ${shown(start_from)}, which is not in the past.`)
    pastTime('"start_from"', start_from, bounds)
    if (destination_ids.length === 0 || sources.every(({ type }) => wholeKinds.includes(type)))
      throw badRequest('"start_from" needs a destination, and a source of traffic events.')
    await this.#replays.checkRoomFor(new Set(destination_ids).size)
  }

  async after(account_id: string, created: object): Promise<void> {
    const { destinations, ...subscription } = created as NewSubscription
    await this.#begin({ ...subscription, account_id, destination_ids: destinations.map(({ id }) => id) })
  }

  /** Begins replays that a dead process did not begin. */
  async sweep(): Promise<void> {
    const sinceMs = now() - sweptAgeMaxMs
    for (const subscription of this.#subscriptions())
      if (subscription.created_at >= sinceMs) await this.#begin(subscription)
  }

  /** Replays that were begun before stay as they are. */
  async #begin(subscription: Omit<Subscription, 'created_at'>): Promise<void> {
    const {
      id: subscriptionId,
      account_id: accountId,
      start_from,
      replay_ids,
      destination_ids,
    } = subscription
    if (!start_from) return
    const destinations = [...new Set(destination_ids)]
    const fromMs = Date.parse(start_from)
    for (const [index, id] of (replay_ids ?? []).entries()) {
      const destinationId = destinations[index]
      // Later changes of the subscription may have removed some.
      if (destinationId !== undefined)
        await this.#replays.startSubscription({ id, accountId, subscriptionId, destinationId, fromMs })
    }
  }

  close(): void {
    this.#timer.stop()
  }
}
