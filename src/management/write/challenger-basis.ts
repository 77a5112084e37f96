/** The resources that a challenger was drafted from, and those of them that have changed since. */

import { now } from '../../ground/core/clock.js'
import { notFound, shown } from '../../ground/core/errors.js'
import type { ChallengerBasis } from '../../words/resource/challenger.js'
import type { ChallengerDraft } from '../../words/resource/challenger-draft.js'
import { kindOfEdge } from '../../words/resource/challenger-draft.js'
import { httpsEdgeRoute } from '../../words/resource/https-edge.js'
import { isExpiredRule } from '../../words/resource/ip-policy.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { policyKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'

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
  const nowMs = now()
  return named.flatMap(({ kind, id }) => basisOfOne(state, accountId, kind, id, nowMs) ?? [])
}

function basisOfOne(
  state: ViewState,
  accountId: string,
  kind: string,
  id: string,
  nowMs: number,
): ChallengerBasis | undefined {
  const row = state.rows.get(kind)?.get(id)
  if (row?.account_id !== accountId) return undefined
  const { version } = row
  if (kind === httpsEdgeRoute.kind) return { kind, id, edge_id: String(row['edge_id']), version }
  if (kind !== policyKind) return { kind, id, version }
  return { kind, id, ...basisOfRules(version, state.rules(id)?.rules ?? [], nowMs) }
}

/** Times at which rules expire, of which a basis knows how many do. */
const expiringTimesMax = 100

/**
 * A rule that is added or changed has the newest version of all, and a removed one is missing: both numbers show a change.
 */
function basisOfRules(policyVersion: number, all: Iterable<Row>, nowMs: number) {
  let [version, rules] = [policyVersion, 0]
  const ends = new Map<string, number>()
  for (const rule of all) {
    if (isExpiredRule(rule, nowMs)) continue
    version = Math.max(version, rule.version)
    rules += 1
    const end = rule['expires_at']
    if (typeof end === 'string') ends.set(end, (ends.get(end) ?? 0) + 1)
  }
  const expiring = [...ends]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, expiringTimesMax)
    .map(([at, rules]) => ({ at, rules }))
  return { version, rules, ...(expiring.length > 0 && { expiring }) }
}

/** How many rules are left when those have expired whose time has come. */
const rulesLeft = ({ rules = 0, expiring = [] }: ChallengerBasis, nowMs: number): number =>
  expiring.reduce((left, { at, rules }) => (Date.parse(at) <= nowMs ? left - rules : left), rules)

/** The newest rule may have expired, so an older version is no change. */
const hasChanged = (then: ChallengerBasis, present: ChallengerBasis, nowMs: number): boolean =>
  then.kind === policyKind
    ? present.version > then.version || present.rules !== rulesLeft(then, nowMs)
    : present.version !== then.version

interface OutdatedBasis {
  readonly kind: string
  readonly id: string
  /** The predicate of a sentence about it, such as `was deleted`. */
  readonly why: string
}

/** The resources that have changed, or were deleted or made, since the draft. */
export function outdatedIn(state: ViewState, row: DeclaredRow<'challenger'>): OutdatedBasis[] {
  const { account_id, based_on, draft } = row
  const nowMs = now()
  const outdated: OutdatedBasis[] = []
  for (const basis of based_on) {
    const { kind, id, version } = basis
    const present = basisOfOne(state, account_id, kind, id, nowMs)
    if (present === undefined) outdated.push({ kind, id, why: 'was deleted' })
    else if (hasChanged(basis, present, nowMs))
      outdated.push({ kind, id, why: `has changed (version ${version} then, ${present.version} now)` })
  }
  for (const { id, change, remove } of draft.ip_policies) {
    const missing = expiredAmong(state, id, [...change.map((rule) => rule.id), ...remove], nowMs)
    const isKnown = outdated.some((each) => each.id === id)
    if (missing !== undefined && !isKnown)
      outdated.push({ kind: policyKind, id, why: `has lost the rule ${missing}, which has expired,` })
  }
  const isNew = draft.ip_restrictions.some(({ id }) => !based_on.some((basis) => basis.id === id))
  if (isNew)
    for (const { id, type } of rowsOf(state, account_id, 'ip_restriction'))
      if (type === 'endpoints') outdated.push({ kind: 'ip_restriction', id, why: 'was made' })
  return outdated
}

/** The first of these rules of a policy that has expired, or is no longer there. */
function expiredAmong(
  state: ViewState,
  policyId: string,
  ruleIds: readonly string[],
  nowMs: number,
): string | undefined {
  if (ruleIds.length === 0) return undefined
  const lasting = new Set<string>()
  for (const rule of state.rules(policyId)?.rules ?? []) if (!isExpiredRule(rule, nowMs)) lasting.add(rule.id)
  return ruleIds.find((id) => !lasting.has(id))
}
