/** Plans: the changes a write wants, made against the state they will be applied to. */
import { WeirError } from '../../../ground/core/errors.js'
import { newId } from '../../../ground/core/ids.js'
import { resourceBytesMax } from '../../../ground/core/limits.js'
import type { PlannedWrite } from '../../../judging/evaluate/planned-configuration.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { resourceOf } from '../../../words/resource/registry.js'
import { ruleKind } from '../../../words/view/keys.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { Change, Principal, Put, Removal } from './change.js'
import { placeRules } from './rule-chunks.js'

/** The changes that a plan wants; there may be none. */
export interface Draft<T> {
  readonly puts: readonly Put[]
  readonly removals: readonly Removal[]
  readonly emptiedPolicies?: readonly string[]
  /** Policies with rules among the puts and removals whose audit events are not among `audits`. */
  readonly editedPolicies?: readonly string[]
  readonly audits: Change['audits']
  readonly claims?: readonly Claim[]
  readonly releases?: readonly string[]
  /** Rejects to refuse the write that the draft has become a part of. */
  readonly check?: (write: CheckedWrite) => Promise<void>
  readonly result: T
}

/** A write before it is committed, and the state that it was planned with. */
export interface CheckedWrite extends PlannedWrite {
  readonly state: ViewState
}

export interface Claim {
  readonly claim: string
  /** The resource that holds it. */
  readonly id: string
  /** Makes the error for a claim that another resource holds. */
  readonly taken: () => Error
  /** Makes the error for names that overlap with those of another account. */
  readonly overlaps: () => Error
  /** If another resource holds it: will the plan claim another name when it runs again? */
  readonly drawAgain?: () => boolean
}

/** A plan gets the present state and the version of its change; it may run several times. */
export type Plan<T> = (state: ViewState, version: number, at: number) => Draft<T>

/** A draft that changes nothing. */
export const unchanged = <T>(result: T): Draft<T> => ({ puts: [], removals: [], audits: [], result })

/** Does the draft change nothing? */
export const isEmpty = <T>({ puts, removals }: Draft<T>): boolean => puts.length + removals.length === 0

/** The complete new rules of an IP policy. */
export interface RulesDraft<T> {
  /** Unchanged rules are the state's own objects; the others have the change's version. */
  readonly rules: readonly Row[]
  /** If false, nothing is written. */
  readonly isChange: boolean
  readonly result: T
}

/** A plan that replaces all rules. Asynchronous because there may be very many; it uses the state at its start. */
export type RulesPlan<T> = (state: ViewState, version: number) => Promise<RulesDraft<T>>

/** The change that carries out a draft made against this state. */
export function changeOf<T>(
  accountId: string,
  version: number,
  at: number,
  principal: Principal,
  draft: Draft<T>,
  state: ViewState,
): Change {
  const { puts, removals } = draft
  for (const put of puts) checkSize(put)
  return {
    id: newId('chg_'),
    at,
    principal,
    puts,
    removals: removals.map(({ kind, row }) => ({ kind, id: row.id, row })),
    chunks: placeRules(state, puts, removals),
    emptiedPolicies: draft.emptiedPolicies ?? [],
    replacements: [],
    ...(draft.editedPolicies && { editedPolicies: draft.editedPolicies }),
    counts: countsAfter(state, accountId, draft),
    stored: isEmpty(draft) ? (state.accounts.get(accountId)?.stored ?? 0) : version,
    audits: draft.audits,
    baseRevision: state.revision,
    releases: draft.releases ?? [],
  }
}

/** Refuses a row that would not fit the bucket, before it is committed. */
function checkSize({ kind, row }: Put): void {
  const bytes = Buffer.byteLength(JSON.stringify(row))
  if (bytes <= resourceBytesMax) return
  throw new WeirError(
    'ERR_INVALID_REQUEST',
    `The ${resourceOf(kind).title} has ${bytes} bytes as JSON: at most ${resourceBytesMax} are allowed.`,
  )
}

/** A release names the resource and the claim that it no longer holds. */
export const releaseOf = (id: string, claim: string): string => `${id} ${claim}`
export const splitRelease = (release: string): [string, string] => {
  const cut = release.indexOf(' ')
  return [release.slice(0, cut), release.slice(cut + 1)]
}

/** Does the resource hold the claim in this state? */
export function holds(state: ViewState, claim: string, id: string): boolean {
  for (const [kind, rows] of state.rows) {
    const row = rows.get(id)
    if (row !== undefined) return claimsOf(kind, row).includes(claim)
  }
  return false
}

export const claimsOf = (kind: string, row: Put['row']): readonly string[] =>
  resourceOf(kind).claims?.(row as never) ?? []

export function countsAfter<T>(state: ViewState, accountId: string, draft: Draft<T>): Record<string, number> {
  const counts = state.countsOf(accountId)
  const add = (kind: string, by: number): void => {
    counts[kind] = (counts[kind] ?? 0) + by
  }
  for (const { kind, isNew } of draft.puts) if (isNew) add(kind, 1)
  for (const { kind } of draft.removals) add(kind, -1)
  for (const policyId of draft.emptiedPolicies ?? []) add(ruleKind, -countRules(state, policyId))
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

/** The account's counts with `more` rows of a kind added; may be negative. */
export const countsWith = (
  state: ViewState,
  accountId: string,
  kind: string,
  more: number,
): Record<string, number> => {
  const { [kind]: count = 0, ...others } = state.countsOf(accountId)
  return count + more > 0 ? { ...others, [kind]: count + more } : others
}

export function countRules(state: ViewState, policyId: string): number {
  let count = 0
  for (const { rules } of state.chunks(policyId).values()) count += rules.length
  return count
}
