/**
 * A change: what one write does to an account, as it stands in the head record before anything else is written.
 * Whoever reads it can carry it out, any number of times, with the same result.
 */
import type { Row } from '../resource/define.js'
import type { KeptAnswer } from './answers.js'

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

/** A removal as it is kept: with the row as it was last, unless that is left to ClickHouse to tell. */
export interface KeptRemoval {
  readonly kind: string
  readonly id: string
  readonly row: Row | null
}

/** What a change does to one chunk of an IP policy's rules. Where rules go is decided once, when it is planned. */
export interface ChunkChange {
  readonly policyId: string
  readonly generation: string
  readonly chunk: number
  /** Ids of rules among the puts. */
  readonly put: readonly string[]
  readonly gone: readonly string[]
}

/** All rules of an IP policy give way to those of a generation that lies in the bucket before the change is made. */
export interface RulesReplacement {
  readonly policyId: string
  readonly from: string
  readonly to: string
  /** How many the new generation has. */
  readonly rules: number
  /** The bucket's, when all of both generations was in it. */
  readonly revision: number
}

/** Who makes a change. */
export interface Principal {
  readonly source: 'API' | 'CLI' | 'NATS'
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
  readonly removals: readonly KeptRemoval[]
  readonly chunks: readonly ChunkChange[]
  /** IP policies whose rules all go: too many to be named one by one. */
  readonly emptiedPolicies: readonly string[]
  readonly replacements: readonly RulesReplacement[]
  /** Rows per kind of the account when the change is done. */
  readonly counts: Readonly<Record<string, number>>
  /** The version of the last change, this one included, that leaves rows in ClickHouse. */
  readonly stored: number
  readonly audits: readonly AuditEvent[]
  /** Claims that are no longer held once the change is done. */
  readonly releases: readonly string[]
  /** What a request under an idempotency key is answered, told again when it comes again. */
  readonly answer?: KeptAnswer
  /** Instead of all that: the bucket is brought up to what ClickHouse holds of the account. */
  readonly isRepair?: true
}

/** A change that does nothing but move the account's version on. */
export const emptyChange: Omit<Change, 'id' | 'at' | 'counts' | 'stored'> = {
  principal: { source: 'API', credentialId: null },
  puts: [],
  removals: [],
  chunks: [],
  emptiedPolicies: [],
  replacements: [],
  audits: [],
  releases: [],
}

/** The head record of an account. */
export interface Head {
  readonly version: number
  /** Committed and not carried out to the end. */
  readonly change: Change | null
  /** Ids of the last changes: a writer whose answer was lost finds its own among them. */
  readonly recent: readonly string[]
}

export const changedBy = (principal: Principal): string =>
  principal.credentialId ?? principal.source.toLowerCase()

/** IP policies whose rules the change takes away or replaces as a whole. */
export const policiesOfRules = ({ emptiedPolicies, replacements }: Change): readonly string[] => [
  ...emptiedPolicies,
  ...replacements.map(({ policyId }) => policyId),
]
