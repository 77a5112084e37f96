/**
 * Findings about things that no one uses: IP policies, keys, credentials, bouncers and subscriptions; edges that let
 * everyone in, lists that get old, and certificates that clients refuse.
 */
import { isoSeconds } from '../../../ground/core/clock.js'
import { apiKey, isExpired } from '../../../words/resource/api-key.js'
import { bouncer } from '../../../words/resource/bouncers/bouncer.js'
import { eventSubscription, type Source } from '../../../words/resource/event-subscription.js'
import type { FeedStatus } from '../../../words/resource/fields/ip-list-source.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { refusedBy } from '../../../words/resource/ssh-certificate-fields.js'
import { sshHostCertificate } from '../../../words/resource/ssh-host-certificate.js'
import { tunnelCredential } from '../../../words/resource/tunnel-credential.js'
import type { SourceCounts } from '../../../words/shape/subscription-counts.js'
import { policyKind, ruleKind } from '../../../words/view/keys.js'
import { listKind } from '../../../words/view/list-chunks.js'
import { rowsOf } from '../../exchange/rows.js'
import type { Search } from './collected.js'
import { policiesOf } from './expression-findings.js'
import type { PolicyUsers } from './policy-users.js'

const dayMs = 24 * 60 * 60_000
/** A key is unused if it was made, or used last, so long ago. */
const keyUnusedDays = 30
/** A source that has seen fewer records may only have had no luck. */
const silentRecordsMin = 100
/** Each is looked up among all counts of the books. */
const subscriptionsMax = 1_000

export async function unusedPolicies(search: Search, { referred }: PolicyUsers): Promise<void> {
  const { state, accountId, slices, found } = search
  for (const row of [...rowsOf(state, accountId, policyKind)]) {
    if (slices.isDue()) await slices.pause()
    found.lookedAt('ip_policy_unused')
    if (referred.has(row.id)) continue
    const rules = state.ids(row.id, ruleKind).size
    found.add('ip_policy_unused', () => ({
      severity: 'notice',
      about: found.placeOf(policyKind, row),
      sentence: `No edge, route, IP restriction or bouncer refers to this IP policy: its rules, ${rules}, decide nothing.`,
      evidence: { uses: 0 },
    }))
  }
}

/** Edges at which nothing is asked: no IP policy, no traffic policy that denies, and no restriction of the account. */
export async function openEdges(search: Search): Promise<void> {
  const { state, accountId, slices, found } = search
  const restrictions = [...rowsOf(state, accountId, 'ip_restriction')]
  if (restrictions.some(({ type, enforced }) => type === 'endpoints' && enforced === true)) {
    for (const kind of ['tcp_edge', 'https_edge'])
      found.lookedAt('edge_open', state.ids(accountId, kind).size)
    return
  }
  for (const kind of ['tcp_edge', 'https_edge']) {
    for (const row of [...rowsOf(state, accountId, kind)]) {
      if (slices.isDue()) await slices.pause()
      found.lookedAt('edge_open')
      const routes = kind === 'https_edge' ? [...rowsOf(state, row.id, 'https_edge_route')] : []
      if ([row, ...routes].some(isGuarded)) continue
      found.add('edge_open', () => ({
        severity: 'notice',
        about: found.placeOf(kind, row),
        sentence: 'Everyone is let in: the edge has no IP policy and no inbound traffic policy that denies.',
      }))
    }
  }
}

function isGuarded(row: Row): boolean {
  const module = row['ip_restriction'] as { readonly enabled: boolean } | null | undefined
  if (module?.enabled) return true
  const inbound = policiesOf(row)?.inbound ?? []
  // One that is not enforced is being tried, so someone cares.
  return inbound.some(({ actions }) => actions.some(({ type }) => type === 'deny'))
}

export async function silentSubscriptions(
  search: Search,
  countsOf: (subscriptionId: string) => readonly SourceCounts[],
): Promise<void> {
  const { state, accountId, slices, found } = search
  const rows = [...rowsOf(state, accountId, eventSubscription.kind)]
  if (rows.length > subscriptionsMax)
    found.unknown('subscription_silent', `Only the ${subscriptionsMax} newest subscriptions are looked at.`)
  for (const row of rows.slice(0, subscriptionsMax)) {
    if (slices.isDue()) await slices.pause()
    const counts = countsOf(row.id)
    for (const { type } of row['sources'] as readonly Source[]) {
      found.lookedAt('subscription_silent')
      const ofSource = counts.filter((each) => each.type === type)
      const lookedAt = Math.max(0, ...ofSource.map((each) => each.looked_at))
      if (lookedAt < silentRecordsMin || ofSource.some(({ produced }) => produced > 0)) continue
      found.add('subscription_silent', () => ({
        severity: 'attention',
        about: found.placeOf(eventSubscription.kind, row, `sources[type=${type}]`),
        sentence: `The source ${type} has made no event of the ${lookedAt} records that it was asked about since the books began.`,
        evidence: { looked_at: lookedAt, matched: 0 },
      }))
    }
  }
}

/** When a key, credential or bouncer was used last, in milliseconds since the epoch. */
export type LastUse = (id: string) => { readonly at: number } | undefined

export async function unusedKeys(search: Search, lastUse: LastUse): Promise<void> {
  const { state, accountId, nowMs, slices, found } = search
  for (const { kind } of [apiKey, tunnelCredential, bouncer]) {
    for (const row of [...rowsOf(state, accountId, kind)]) {
      if (slices.isDue()) await slices.pause()
      if (isExpired(row, nowMs)) continue
      found.lookedAt('key_unused')
      const usedMs = lastUse(row.id)?.at
      const sinceMs = usedMs ?? row.created_at
      const days = Math.floor((nowMs - sinceMs) / dayMs)
      if (days < keyUnusedDays) continue
      found.add('key_unused', () => ({
        severity: 'notice',
        about: found.placeOf(kind, row),
        sentence:
          usedMs === undefined
            ? `No use is known since it was made ${days} days ago, at ${isoSeconds(sinceMs)}.`
            : `It was used last ${days} days ago, at ${isoSeconds(sinceMs)}.`,
        evidence: { since: isoSeconds(sinceMs), until: isoSeconds(nowMs), matched: 0 },
      }))
    }
  }
}

/** How the fetches of a list went; null if it has no source. */
export type ListStatus = (list: Row, nowMs: number) => FeedStatus | null

export async function staleLists(search: Search, statusOf: ListStatus): Promise<void> {
  const { state, accountId, nowMs, slices, found } = search
  for (const row of [...rowsOf(state, accountId, listKind)]) {
    if (slices.isDue()) await slices.pause()
    const status = statusOf(row, nowMs)
    if (status === null) continue
    found.lookedAt('list_stale')
    if (status.state !== 'stale') continue
    const { fetched_at, error } = status
    const last = fetched_at === null ? 'It was never fetched' : `It was last fetched at ${fetched_at}`
    const why = error === null ? '.' : `: ${error.message}`
    found.add('list_stale', () => ({
      severity: 'attention',
      about: found.placeOf(listKind, row),
      sentence: `${last} without a fault, and its entries are as old as that${why}`,
      evidence: { since: fetched_at, until: isoSeconds(nowMs) },
    }))
  }
}

export async function refusedCertificates(search: Search): Promise<void> {
  const { state, accountId, nowMs, slices, found } = search
  for (const row of [...rowsOf(state, accountId, sshHostCertificate.kind)]) {
    if (slices.isDue()) await slices.pause()
    if (Date.parse(String(row['valid_until'])) <= nowMs) continue
    found.lookedAt('certificate_refused')
    const refusal = refusedBy(String(row['certificate']))
    if (refusal === null) continue
    found.add('certificate_refused', () => ({
      severity: 'notice',
      about: found.placeOf(sshHostCertificate.kind, row),
      sentence: `Some SSH clients refuse this host certificate: ${refusal} A certificate that names its hosts suits all.`,
    }))
  }
}
