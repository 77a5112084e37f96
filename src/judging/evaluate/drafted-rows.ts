/**
 * The rows that the draft of a challenger would store in place of present ones. The evaluation of its records and its
 * promotion are made from the same rows.
 */
import {
  type ChallengerDraft,
  type DraftedRestriction,
  type DraftedRules,
  kindOfEdge,
} from '../../words/resource/challenger-draft.js'
import { completed } from '../../words/resource/fields/fields.js'
import { isExpiredRule } from '../../words/resource/ip-policy.js'
import { ipRestriction } from '../../words/resource/ip-restriction.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { PlannedWrite } from './planned-configuration.js'

/** A challenger as far as its rows depend on it. */
export type DraftOwner = Pick<DeclaredRow<'challenger'>, 'account_id' | 'created_at' | 'draft' | 'based_on'>

/** The present rows of the account. */
export interface PresentRows {
  get(kind: string, id: string): Row | undefined
  /** The rules of an IP policy. */
  rules(ipPolicyId: string): Iterable<Row>
}

/** Rows that were deleted since the draft was made stay deleted; new rules that have expired by `nowMs` are left out. */
export function draftedRows(owner: DraftOwner, present: PresentRows, nowMs: number): PlannedWrite {
  const { draft } = owner
  const puts: PlannedWrite['puts'][number][] = []
  const removals: PlannedWrite['removals'][number][] = []
  for (const entry of [...draft.edges, ...draft.routes]) {
    const row = draftedEndpoint(entry, present)
    if (row !== undefined) puts.push({ kind: kindOfEdge(row.id), row })
  }
  for (const entry of draft.ip_policies) {
    if (present.get('ip_policy', entry.id) === undefined) continue
    const { put, removed } = draftedRules(owner, entry, present, nowMs)
    for (const row of put) puts.push({ kind: 'ip_policy_rule', row })
    for (const row of removed) removals.push({ kind: 'ip_policy_rule', row })
  }
  for (const entry of draft.ip_restrictions) {
    const row = restrictionRow(owner, entry, present)
    if (row !== undefined) puts.push({ kind: 'ip_restriction', row })
  }
  return { puts, removals }
}

/** The row of an edge or a route with its drafted modules; undefined if it was deleted. */
export function draftedEndpoint(
  { id, ...modules }: ChallengerDraft['edges'][number],
  present: PresentRows,
): Row | undefined {
  const row = present.get(kindOfEdge(id), id)
  return row && { ...row, ...modules }
}

const addedRule = (
  { account_id, created_at }: DraftOwner,
  ip_policy_id: string,
  rule: DraftedRules['add'][number],
): Row => ({ ...rule, account_id, created_at, ip_policy_id, version: 0 })

function draftedRules(
  owner: DraftOwner,
  { id, add, change, remove }: DraftedRules,
  present: PresentRows,
  nowMs: number,
) {
  const isNamed = change.length + remove.length > 0
  const byId = new Map(isNamed ? [...present.rules(id)].map((rule) => [rule.id, rule]) : [])
  const changed = change.flatMap(({ id, ...values }) => {
    const rule = byId.get(id)
    return rule === undefined ? [] : [{ ...rule, ...values }]
  })
  const added = add.filter((rule) => !isExpiredRule(rule, nowMs)).map((rule) => addedRule(owner, id, rule))
  return { put: [...changed, ...added], removed: remove.flatMap((id) => byId.get(id) ?? []) }
}

/** All rules of a policy as they would be. */
export function* rulesWithDraft(
  owner: DraftOwner,
  { id, add, change, remove }: DraftedRules,
  present: Iterable<Row>,
): Generator<Row> {
  const changes = new Map(change.map((values) => [values.id, values]))
  const removed = new Set(remove)
  for (const rule of present) {
    if (removed.has(rule.id)) continue
    const values = changes.get(rule.id)
    yield values === undefined ? rule : { ...rule, ...values }
  }
  for (const rule of add) yield addedRule(owner, id, rule)
}

/** A restriction that the draft is not based on is a new one. Only those of endpoints decide about records. */
export function restrictionRow(
  { account_id, created_at, based_on }: DraftOwner,
  { id, ...values }: DraftedRestriction,
  present: PresentRows,
): Row | undefined {
  const row = present.get('ip_restriction', id)
  if (row !== undefined) return row['type'] === 'endpoints' ? { ...row, ...values } : undefined
  if (based_on.some((basis) => basis.id === id)) return undefined
  const whole = completed(ipRestriction.fields, { type: 'endpoints', ...values })
  return { ...whole, id, account_id, created_at, version: 0 }
}
