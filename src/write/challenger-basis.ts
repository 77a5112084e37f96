/** What a challenger was drafted from, and what of it has changed since. */

import { notFound, shown } from '../core/errors.js'
import { kindOfEdge } from '../evaluate/drafted-rows.js'
import { rowsOf } from '../http/present.js'
import type { ChallengerBasis } from '../resource/challenger.js'
import type { ChallengerDraft } from '../resource/challenger-draft.js'
import type { DeclaredRow } from '../resource/registry.js'
import { policyKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'

/** The resources that a draft changes, as they are. `sent`: it has no ids of what is new. */
export function basisOf(
  state: ViewState,
  accountId: string,
  draft: ChallengerDraft,
  sent: ChallengerDraft,
): ChallengerBasis[] {
  for (const [index, { id }] of sent.ip_restrictions.entries()) {
    if (id === undefined || state.rows.get('ip_restriction')?.get(id)?.account_id === accountId) continue
    const place = `draft.ip_restrictions[${index}].id`
    throw notFound(`"${place}" names ${shown(id)}, which does not exist.`)
  }
  const named = [
    ...[...draft.edges, ...draft.routes].map(({ id }) => ({ kind: kindOfEdge(id) as string, id })),
    ...draft.ip_policies.map(({ id }) => ({ kind: policyKind, id })),
    ...draft.ip_restrictions.map(({ id }) => ({ kind: 'ip_restriction', id })),
  ]
  return named.flatMap(({ kind, id }) => basisOfOne(state, accountId, kind, id) ?? [])
}

function basisOfOne(
  state: ViewState,
  accountId: string,
  kind: string,
  id: string,
): ChallengerBasis | undefined {
  const row = state.rows.get(kind)?.get(id)
  if (row?.account_id !== accountId) return undefined
  if (kind !== policyKind) return { kind, id, version: row.version }
  // A rule that is added or changed has the newest version of all, and a removed one is missing: both numbers tell.
  let [version, rules] = [row.version, 0]
  for (const rule of state.rules(id)?.rules ?? []) {
    version = Math.max(version, rule.version)
    rules += 1
  }
  return { kind, id, version, rules }
}

interface OutdatedBasis {
  readonly kind: string
  readonly id: string
  /** What became of it, for a sentence. */
  readonly why: string
}

/** What has changed, or was deleted or made, since the draft. */
export function outdatedIn(state: ViewState, row: DeclaredRow<'challenger'>): OutdatedBasis[] {
  const { account_id, based_on, draft } = row
  const outdated: OutdatedBasis[] = []
  for (const { kind, id, version, rules } of based_on) {
    const present = basisOfOne(state, account_id, kind, id)
    if (present === undefined) outdated.push({ kind, id, why: 'was deleted' })
    else if (present.version !== version || present.rules !== rules)
      outdated.push({ kind, id, why: `has changed (version ${version} then, ${present.version} now)` })
  }
  const isNew = draft.ip_restrictions.some(({ id }) => !based_on.some((basis) => basis.id === id))
  if (isNew)
    for (const { id, type } of rowsOf(state, account_id, 'ip_restriction'))
      if (type === 'endpoints') outdated.push({ kind: 'ip_restriction', id, why: 'was made' })
  return outdated
}
