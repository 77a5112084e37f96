/**
 * A change: everything one write does to an account, as it is stored in the head before anything else is written.
 * Any process that reads it can carry it out, any number of times, with the same result.
 */
import { now } from '../../../ground/core/clock.js'
import { newId } from '../../../ground/core/ids.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import { policyKind } from '../../../words/view/keys.js'
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

/** The author of a change. */
export interface Principal {
  /** `EXPIRY`: Weir itself deletes what has expired. `FEED`: it took the entries of a list from the list's source. */
  readonly source: 'API' | 'CLI' | 'NATS' | 'EXPIRY' | 'FEED'
  /** The API key, if one was used. */
  readonly credentialId: string | null
  /** The address of the request; undefined if the change did not come over HTTP. */
  readonly clientAddress?: string | undefined
  /** The id of the request, as in its answer and in the log. */
  readonly operationId?: string | undefined
  /** The write was made although policy tests may fail after it. */
  readonly skipsTests?: boolean | undefined
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
  /** IP policies of which the change puts and removes many single rules: their audit events would not fit the head. */
  readonly editedPolicies?: readonly string[]
  /** Rows per kind of the account after the change. */
  readonly counts: Readonly<Record<string, number>>
  /** Version of the last change, this one included, that writes rows to ClickHouse. */
  readonly stored: number
  readonly audits: readonly AuditEvent[]
  /** Revision of the configuration that the change was planned with; all it writes there comes later. */
  readonly baseRevision?: number
  /** Claims to delete after the change. */
  readonly releases: readonly string[]
  /** The answer for repeats of the request, if it has an idempotency key. */
  readonly answer?: StoredAnswer
  /** The change is a repair instead: it updates the account's part of the bucket from ClickHouse. */
  readonly isRepair?: true
}

/** A change, and the version of its account that it makes. */
interface VersionedChange {
  readonly version: number
  readonly change: Change
}

/** Changes that were committed together, the last one as this version. */
export const versioned = (version: number, changes: readonly Change[]): VersionedChange[] =>
  changes.map((change, index) => ({ version: version - changes.length + 1 + index, change }))

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
  /** Changes that were committed together with it: those of the versions just before, in their order. */
  readonly earlier?: readonly Change[]
  /** Ids of the last changes: a writer that lost the answer to its commit looks for its own here. */
  readonly recent: readonly string[]
}

export const changedBy = (principal: Principal): string =>
  principal.credentialId ?? principal.source.toLowerCase()

/** The effect of a write on a resource. */
export type WriteVerb = 'create' | 'update' | 'delete'

/** The resource that a change is about. Others may go with it, such as the routes of a deleted edge. */
interface ChangeSubject {
  readonly kind: string
  readonly id: string
  readonly verb: WriteVerb
}

const isSeen = ({ kind }: { readonly kind: string }): boolean => !resourceOf(kind).isInternal

/** Undefined if the change touches no resource that anyone sees. */
export function subjectOf({ puts, removals, replacements }: Change): ChangeSubject | undefined {
  const put = puts.find(isSeen)
  if (put !== undefined) return { kind: put.kind, id: put.row.id, verb: put.isNew ? 'create' : 'update' }
  // A resource is removed after those below it.
  const removal = removals.findLast(isSeen)
  if (removal !== undefined) return { kind: removal.kind, id: removal.id, verb: 'delete' }
  const [replacement] = replacements
  return replacement && { kind: policyKind, id: replacement.policyId, verb: 'update' }
}

/** IP policies whose rules the change removes, replaces or edits many at once. */
export const policiesOfRules = ({
  emptiedPolicies,
  replacements,
  editedPolicies = [],
}: Change): readonly string[] => [
  ...emptiedPolicies,
  ...editedPolicies,
  ...replacements.map(({ policyId }) => policyId),
]

/** The resources that the change removes together with the one above them: their ids by kind. */
export function removedBelow({ removals }: Change): ReadonlyMap<string, readonly string[]> {
  const kinds = new Set(removals.map(({ kind }) => kind))
  const ids = new Map<string, string[]>()
  for (const { kind, id } of removals) {
    const { parent } = resourceOf(kind)
    if (parent !== undefined && kinds.has(parent.kind)) getOrMake(ids, kind, () => []).push(id)
  }
  return ids
}

/** Does the change touch resources whose audit events it does not hold? */
export const hasBulk = (change: Change): boolean =>
  policiesOfRules(change).length + removedBelow(change).size > 0
