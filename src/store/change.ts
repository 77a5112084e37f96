/**
 * A change: what one write does to an account, as it stands in the head record before anything else is written.
 * Whoever reads it can carry it out, any number of times, with the same result.
 */
import type { Row } from '../resource/define.js'

export interface Put {
  readonly kind: string
  readonly row: Row
  /** Not there before. */
  readonly isNew: boolean
}

export interface Removal {
  readonly kind: string
  /** As it was last. */
  readonly row: Row
}

/** Who makes a change. */
export interface Principal {
  readonly source: 'API' | 'CLI'
  /** The API key, where one was used. */
  readonly credentialId: string | null
}

/** An audit event, rendered when the change was planned. */
export interface AuditEvent {
  readonly eventId: string
  /** Partition key of the delivery: events of a resource stay in order. */
  readonly resourceId: string
  /** The envelope as JSON. */
  readonly json: string
}

export interface Change {
  /** Tells a retried commit from somebody else's. */
  readonly id: string
  /** Milliseconds since the epoch: `changed_at` and the audit events' timestamp. */
  readonly at: number
  readonly principal: Principal
  readonly puts: readonly Put[]
  readonly removals: readonly Removal[]
  /** IP policies whose rules all go: too many to be named one by one. */
  readonly emptiedPolicies: readonly string[]
  /** Rows per kind of the account when the change is done. */
  readonly counts: Readonly<Record<string, number>>
  readonly audits: readonly AuditEvent[]
  /** Claims that are no longer held once the change is done. */
  readonly releases: readonly string[]
}

/** The head record of an account. */
export interface Head {
  readonly version: number
  /** Committed and not carried out to the end. */
  readonly change: Change | null
}

export const changedBy = (principal: Principal): string =>
  principal.credentialId ?? principal.source.toLowerCase()
