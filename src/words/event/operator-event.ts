/**
 * Operator events: what an account must know about its own destinations and dead letters, although no one changed
 * anything. A kind is an entry here, with the type of its object, and its schema in `event-schemas.ts`. They are
 * announced by `wire/operator-events.ts`, and take the way of audit events from there. This file loads no schemas, so
 * that every role may announce.
 */
import type { DropReason } from '../../delivery/books/dropped.js'
import { isoMillis } from '../../ground/core/clock.js'
import { hash128 } from '../../ground/core/ids.js'
import type { OperatorAction } from './operator-actions.js'

/** The object of each kind. */
export interface OperatorObjects {
  'dead_letters_expiring.v0': {
    readonly count: number
    readonly counts: { readonly record: number; readonly event: number; readonly audit: number }
    /** RFC 3339. */
    readonly first_removed_at: string
    readonly last_removed_at: string
    readonly uri: string
  }
  'event_destination_state_changed.v0': {
    readonly event_destination: { readonly id: string; readonly uri: string }
    readonly description: string | null
    readonly old_state: DestinationState
    readonly new_state: DestinationState
    readonly cause: string | null
    readonly advice: string | null
    readonly actions: readonly OperatorAction[]
    /** RFC 3339. */
    readonly since: string
  }
  'events_expiring.v0': {
    readonly event_destination: { readonly id: string; readonly uri: string }
    readonly description: string | null
    /** Events that wait for it, those that are newer included. */
    readonly backlog: number
    /** RFC 3339. */
    readonly first_dropped_at: string
    readonly advice: string
    readonly actions: readonly OperatorAction[]
  }
  'events_dropped.v0': {
    readonly event_destination: { readonly id: string; readonly uri: string }
    readonly description: string | null
    readonly reason: DropReason
    readonly count: number
    readonly types: readonly { readonly type: string; readonly count: number; readonly total: number }[]
    /** RFC 3339. */
    readonly first_event_at: string
    readonly last_event_at: string
    readonly replay: { readonly from: string; readonly to: string } | null
    readonly advice: string
    readonly actions: readonly OperatorAction[]
  }
}

export const destinationStates = ['healthy', 'throttled', 'failing', 'paused'] as const

type DestinationState = (typeof destinationStates)[number]

export type OperatorKind = keyof OperatorObjects

export const operatorKinds: readonly string[] = [
  'dead_letters_expiring.v0',
  'event_destination_state_changed.v0',
  'events_expiring.v0',
  'events_dropped.v0',
] satisfies readonly OperatorKind[]

interface Occasion<Kind extends OperatorKind> {
  readonly kind: Kind
  readonly accountId: string
  /** Parts that identify the occurrence, the same however often it is announced: they make the event's id. */
  readonly identity: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly object: OperatorObjects[Kind]
}

/** The envelope as JSON. */
export function operatorEventJson<Kind extends OperatorKind>(occasion: Occasion<Kind>): string {
  const { kind, accountId, identity, at, object } = occasion
  return JSON.stringify({
    event_id: `ev_${hash128('operator', accountId, kind, ...identity)}`,
    event_type: kind,
    event_timestamp: isoMillis(at),
    account_id: accountId,
    object,
  })
}
