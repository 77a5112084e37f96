/** Which destinations receive which audit kinds, per account; rebuilt when subscriptions change. */

import type { SourceTally } from '../books/ledger.js'
import { getOrMake } from '../core/maps.js'
import type { View } from '../view/view.js'
import type { Buffers } from './packs.js'

interface AuditRoute {
  readonly subscriptionId: string
  readonly destinationId: string
}

/** An audit event to be routed. */
export interface RoutedAudit {
  readonly accountId: string
  readonly kind: string
  /** The resource's id: its events stay in order. */
  readonly partitionKey: string
  readonly timestampMs: number
  /** The envelope. */
  readonly json: string
}

export class AuditRoutes {
  readonly #view: View
  #byKind: Map<string, AuditRoute[]> | undefined

  constructor(view: View) {
    this.#view = view
    view.onChange((kind) => {
      if (kind === 'event_subscription' || kind === '*') this.#byKind = undefined
    })
  }

  #find(accountId: string, kind: string): readonly AuditRoute[] {
    this.#byKind ??= this.#build()
    return this.#byKind.get(keyOf(accountId, kind)) ?? []
  }

  /** Puts an event into the packs of its destinations, and adds it to the tallies of their sources. */
  route(event: RoutedAudit, buffers: Buffers, tallies: Map<string, SourceTally>): void {
    const { accountId, kind, partitionKey, timestampMs, json } = event
    for (const { subscriptionId, destinationId } of this.#find(accountId, kind)) {
      buffers.packOf(destinationId).append(partitionKey, timestampMs, json)
      const key = `${subscriptionId} ${kind} ${destinationId}`
      tallies.set(key, [subscriptionId, kind, destinationId, (tallies.get(key)?.[3] ?? 0) + 1, 0])
    }
  }

  #build(): Map<string, AuditRoute[]> {
    const byKind = new Map<string, AuditRoute[]>()
    for (const row of this.#view.state.rowsOf('event_subscription')) {
      const { id, account_id, sources, destination_ids } = row
      for (const { type } of sources) {
        const routes = getOrMake(byKind, keyOf(account_id, type), () => [])
        for (const destinationId of new Set(destination_ids))
          routes.push({ subscriptionId: id, destinationId })
      }
    }
    return byKind
  }
}

const keyOf = (accountId: string, kind: string): string => `${accountId} ${kind}`
