/**
 * Subscriptions that start in the past: with `start_from`, a new subscription also gets the events of recorded traffic.
 * Its row names a replay for each destination; they begin once the row is stored. A repeated request finds the row, and
 * begins those that are missing.
 */
import { now } from '../core/clock.js'
import { badRequest, shown } from '../core/errors.js'
import { wholeKinds } from '../event/check-source.js'
import type { Source } from '../resource/event-subscription.js'
import { pastTime } from './past-time.js'
import type { Replays } from './replays.js'
import type { CreationHooks } from './resource-routes.js'

interface Values {
  readonly start_from?: string | null
  readonly sources?: readonly Source[]
  readonly destination_ids?: readonly string[]
}

/** The members of a new subscription that its answer shows. */
interface NewSubscription {
  readonly id: string
  readonly start_from?: string
  readonly replay_ids?: readonly string[]
  readonly destinations: readonly { readonly id: string }[]
}

export const pastStarts = (replays: Replays): CreationHooks => ({
  async before(values: Values): Promise<void> {
    const { start_from, sources = [], destination_ids = [] } = values
    if (start_from === undefined || start_from === null) return
    const bounds = { nowMs: now(), retentionMs: replays.retentionMs }
    if (Date.parse(start_from) >= bounds.nowMs)
      throw badRequest(`"start_from" is ${shown(start_from)}, which is not in the past.`)
    pastTime('"start_from"', start_from, bounds)
    if (destination_ids.length === 0 || sources.every(({ type }) => wholeKinds.includes(type)))
      throw badRequest('"start_from" needs a destination, and a source of traffic events.')
    await replays.checkRoomFor(new Set(destination_ids).size)
  },

  async after(accountId: string, created: object): Promise<void> {
    const { id: subscriptionId, start_from, replay_ids = [], destinations } = created as NewSubscription
    if (start_from === undefined) return
    const fromMs = Date.parse(start_from)
    const destinationIds = [...new Set(destinations.map(({ id }) => id))]
    for (const [index, id] of replay_ids.entries()) {
      const destinationId = destinationIds[index]
      if (destinationId === undefined) continue
      await replays.startSubscription({ id, accountId, subscriptionId, destinationId, fromMs })
    }
  },
})
