/**
 * The rows that the draft of a challenger would store in place of present ones. The evaluation of its records and its
 * promotion are made from the same rows.
 */
import type { DraftedRestriction, DraftedRules } from '../resource/challenger-draft.js'
import type { Row } from '../resource/define.js'
import { completed } from '../resource/fields/fields.js'
import { ipRestriction } from '../resource/ip-restriction.js'
import type { DeclaredRow } from '../resource/registry.js'
import type { PlannedWrite } from './planned-configuration.js'

/** A challenger as far as its rows depend on it. */
export type DraftOwner = Pick<DeclaredRow<'challenger'>, 'account_id' | 'created_at' | 'draft' | 'based_on'>

/** The present rows of the account. */
export interface PresentRows {
  get(kind: string, id: string): Row | undefined
  /** The rules of an IP policy. */
  rules(ipPolicyId: string): Iterable<Row>
}

/** The kind of an edge or a route, from its id. */
export const kindOfEdge = (id: string): 'tcp_edge' | 'https_edge' | 'https_edge_route' =>
  id.startsWith('edgtcp_') ? 'tcp_edge' : id.startsWith('edghts_') ? 'https_edge' : 'https_edge_route'

/** What has been deleted since the draft was made stays deleted. */
export function draftedRows(owner: DraftOwner, present: PresentRows): PlannedWrite {
  const { draft } = owner
  const puts: PlannedWrite['puts'][number][] = []
  const removals: PlannedWrite['removals'][number][] = []
  for (const { id, ...modules } of [...draft.edges, ...draft.routes]) {
    const kind = kindOfEdge(id)
    const row = present.get(kind, id)
    if (row !== undefined) puts.push({ kind, row: { ...row, ...modules } })
  }
  for (const entry of draft.ip_policies) {
    if (present.get('ip_policy', entry.id) === undefined) continue
    const { put, removed } = draftedRules(owner, entry, present)
    for (const row of put) puts.push({ kind: 'ip_policy_rule', row })
    for (const row of removed) removals.push({ kind: 'ip_policy_rule', row })
  }
  for (const entry of draft.ip_restrictions) {
    const row = restrictionRow(owner, entry, present)
    if (row !== undefined) puts.push({ kind: 'ip_restriction', row })
  }
  return { puts, removals }
}

function draftedRules(
  { account_id, created_at }: DraftOwner,
  { id: ip_policy_id, add, change, remove }: DraftedRules,
  present: PresentRows,
) {
  const isNamed = change.length + remove.length > 0
  const byId = new Map(isNamed ? [...present.rules(ip_policy_id)].map((rule) => [rule.id, rule]) : [])
  const changed = change.flatMap(({ id, ...values }) => {
    const rule = byId.get(id)
    return rule === undefined ? [] : [{ ...rule, ...values }]
  })
  const added = add.map((rule): Row => ({ ...rule, account_id, created_at, ip_policy_id, version: 0 }))
  return { put: [...changed, ...added], removed: remove.flatMap((id) => byId.get(id) ?? []) }
}

/** A restriction that the draft is not based on is a new one. */
function restrictionRow(
  { account_id, created_at, based_on }: DraftOwner,
  { id, ...values }: DraftedRestriction,
  present: PresentRows,
): Row | undefined {
  const row = present.get('ip_restriction', id)
  if (row !== undefined) return { ...row, ...values }
  if (based_on.some((basis) => basis.id === id)) return undefined
  const whole = completed(ipRestriction.fields, { type: 'endpoints', ...values })
  return { ...whole, id, account_id, created_at, version: 0 }
}
