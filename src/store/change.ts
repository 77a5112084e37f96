/**
 * A change: everything one write does to an account, as it is stored in the head before anything else is written.
 * Any process that reads it can carry it out, any number of times, with the same result.
 */
import { now } from '../core/clock.js'
import { newId } from '../core/ids.js'
import type { Row } from '../resource/define.js'
import type { StoredAnswer } from './answers.js'

export interface Put {
  readonly kind: string
  readonly row: Row
  /** Did the resource not exist before? */
  readonly isNew: boolean
}

export interface Removal {
  readonly kind: string
  /** The last row. */
  readonly row: Row
}

/** A removal as the head stores it. `row` is null if the last row must be read from ClickHouse to save space. */
interface RecordedRemoval {
  readonly kind: string
  readonly id: string
  readonly row: Row | null
}

/** The edit of one chunk of an IP policy's rules. The chunk of a rule is chosen once, when the change is planned. */
export interface ChunkChange {
  readonly policyId: string
  readonly generation: string
  readonly chunk: number
  /** Ids of rules that are among the change's puts. */
  readonly put: readonly string[]
  readonly gone: readonly string[]
}

/** Replaces all rules of an IP policy by a generation that was written to the bucket before the change is made. */
export interface RulesReplacement {
  readonly policyId: string
  readonly from: string
  readonly to: string
  /** Number of rules in the new generation. */
  readonly rules: number
  /** A revision of the bucket at which both generations were in it completely. */
  readonly revision: number
}

/** Who makes a change. */
export interface Principal {
  readonly source: 'API' | 'CLI' | 'NATS'
  /** The API key, if one was used. */
  readonly credentialId: string | null
}

/** An audit event, rendered when the change was planned. */
export interface AuditEvent {
  readonly eventId: string
  /** Partition key for delivery, which keeps the events of a resource in order. */
  readonly resourceId: string
  /** The envelope as JSON. */
  readonly json: string
}

export interface Change {
  /** Distinguishes a retried commit from another writer's. */
  readonly id: string
  /** Milliseconds since the epoch: `changed_at` and the audit events' timestamp. */
  readonly at: number
  readonly principal: Principal
  readonly puts: readonly Put[]
  readonly removals: readonly RecordedRemoval[]
  readonly chunks: readonly ChunkChange[]
  /** IP policies whose rules are all removed; there can be too many to name each. */
  readonly emptiedPolicies: readonly string[]
  readonly replacements: readonly RulesReplacement[]
  /** Rows per kind of the account after the change. */
  readonly counts: Readonly<Record<string, number>>
  /** Version of the last change, this one included, that writes rows to ClickHouse. */
  readonly stored: number
  readonly audits: readonly AuditEvent[]
  /** Claims to delete after the change. */
  readonly releases: readonly string[]
  /** The answer for repeats of the request, if it has an idempotency key. */
  readonly answer?: StoredAnswer
  /** The change is a repair instead: it updates the account's part of the bucket from ClickHouse. */
  readonly isRepair?: true
}

/** A change that only raises the account's version. */
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

export const newChange = (parts: Pick<Change, 'counts' | 'stored'> & Partial<Change>): Change => ({
  ...emptyChange,
  id: newId('chg_'),
  at: now(),
  ...parts,
})

/** The head record of an account. */
export interface Head {
  readonly version: number
  /** Committed, but not completely carried out. */
  readonly change: Change | null
  /** Ids of the last changes: a writer that lost the answer to its commit looks for its own here. */
  readonly recent: readonly string[]
}

export const changedBy = (principal: Principal): string =>
  principal.credentialId ?? principal.source.toLowerCase()

/** IP policies whose rules the change removes or replaces all at once. */
export const policiesOfRules = ({ emptiedPolicies, replacements }: Change): readonly string[] => [
  ...emptiedPolicies,
  ...replacements.map(({ policyId }) => policyId),
]
