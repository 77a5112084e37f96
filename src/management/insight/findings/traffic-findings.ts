/** Findings from the decision log: rules that never blocked, expressions that always fail. */
import { isoSeconds } from '../../../ground/core/clock.js'
import { isEnforced } from '../../../judging/evaluate/policy-source.js'
import { labelOf } from '../../../judging/evaluate/traffic-policy.js'
import { isExpiredRule } from '../../../words/resource/ip-policy.js'
import { type Finding, findingDays } from '../../../words/shape/finding.js'
import { subjectInWords } from '../../../words/view/rule-subject.js'
import type { FailedPlace, FailureReader } from '../../store/logs/failure-reader.js'
import type { LogReader } from '../../store/logs/log-reader.js'
import type { Search } from './collected.js'
import { policiesOf } from './expression-findings.js'
import type { PolicyUsers } from './policy-users.js'

const hourMs = 60 * 60_000
const dayMs = 24 * hourMs
/** A log that reaches back less far says too little of rules. */
const loggedDaysMin = 7
/** With as many values, some may be missing. */
const reachedMax = 200_000
/** An expression that failed for fewer records may have a result for others. */
const failedRecordsMin = 100
const placesMax = 200

type Counting = Pick<LogReader, 'counts' | 'reached' | 'reachedByOwnTime' | 'mode'>

interface LoggedSpan {
  /** The first hour that has decisions begins then; the log may begin anywhere within it. */
  readonly firstMs: number
  /** From then on, the log has all decisions: never later than now. */
  readonly sinceMs: number
  readonly records: number
}

/** The time of which the log has all of the account's decisions; undefined if there are none. */
async function loggedSpan(
  log: Counting,
  { accountId, nowMs, time }: Search,
): Promise<LoggedSpan | undefined> {
  const sinceMs = nowMs - findingDays * dayMs
  const sums = {
    accountId,
    dimension: 'none',
    time,
    sources: time === 'own' ? (['record', 'history'] as const) : (['record'] as const),
    intervalMs: hourMs,
    valuesMax: 1,
  }
  const { counts } = await log.counts({ ...sums, sinceMs, untilMs: nowMs })
  const [first] = counts
  if (first === undefined) return undefined
  const records = counts.reduce((sum, { allow, block, deny }) => sum + allow + block + deny, 0)
  // If the first hour is the one asked for, the log may be older.
  const wholeMs = first.at <= sinceMs ? sinceMs : Math.min(first.at + hourMs, nowMs)
  return { firstMs: first.at, sinceMs: wholeMs, records }
}

/**
 * `tested`: rules that a policy test reaches. `covered`: those without which nothing would change, and because of which
 * rule.
 */
export async function neverMatched(
  search: Search,
  log: Counting,
  { logged }: PolicyUsers,
  tested: ReadonlySet<string>,
  covered: ReadonlyMap<string, string>,
): Promise<void> {
  const { state, accountId, nowMs, time, slices, found } = search
  const kind = 'rule_never_matched'
  if (log.mode === 'off') return found.unknown(kind, 'The decision log is off.')
  const span = await loggedSpan(log, search)
  if (span === undefined || nowMs - span.sinceMs < loggedDaysMin * dayMs) {
    const since =
      span === undefined ? 'has no decisions' : `begins in the hour from ${isoSeconds(span.firstMs)} on`
    return found.unknown(kind, `The decision log ${since}: ${loggedDaysMin} days are needed.`)
  }
  const byOwn = time === 'own' ? await log.reachedByOwnTime(accountId, span.sinceMs) : undefined
  const reached = byOwn ?? (await log.reached(accountId, span.sinceMs))
  // Loaded records are judged by the rules of when they are loaded.
  const judgedSinceMs = byOwn?.firstStoredMs ?? span.sinceMs
  if (reached.rule.size + reached.edge.size + reached.policy.size >= reachedMax)
    return found.unknown(kind, 'The decision log names too many rules and edges.')
  const isReached = (id: string): boolean => reached.rule.has(id) || tested.has(id)
  const needed = await coveringReached(search, covered, isReached)
  for (const policyId of logged)
    for (const rule of [...(state.rules(policyId)?.rules ?? [])]) {
      if (slices.isDue()) await slices.pause()
      // A rule that is younger than the log's beginning had less time.
      if (rule.action !== 'deny' || rule.created_at > judgedSinceMs) continue
      if (!isEnforced(rule) || isExpiredRule(rule, nowMs)) continue
      found.lookedAt(kind)
      if (isReached(rule.id) || needed.has(rule.id) || covered.has(rule.id)) continue
      const about = found.placeOfRule(state, rule)
      found.add(kind, () => ({
        severity: 'notice',
        about,
        sentence: `The rule that denies ${subjectInWords(state, rule)} has blocked nothing ${time === 'own' ? 'that began ' : ''}since ${isoSeconds(span.sinceMs)}, and no policy test reaches it.`,
        evidence: {
          since: isoSeconds(span.sinceMs),
          until: isoSeconds(nowMs),
          looked_at: span.records,
          matched: 0,
        },
        draft: { method: 'PATCH', uri: about.uri, body: { enforced: false } },
      }))
    }
}

/** Rules that would decide in place of one that was reached, and that is found to be superfluous because of them. */
async function coveringReached(
  { slices }: Search,
  covered: ReadonlyMap<string, string>,
  isReached: (ruleId: string) => boolean,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const [id, first] of covered) {
    if (slices.isDue()) await slices.pause()
    if (!isReached(id)) continue
    for (let by: string | undefined = first; by !== undefined && !found.has(by); by = covered.get(by))
      found.add(by)
  }
  return found
}

interface Failing {
  readonly failures: Pick<FailureReader, 'places' | 'mode'>
  readonly log: Counting
}

/** Policies whose expressions failed for every record of the last day that reached them. */
export async function failingPolicies(search: Search, { failures, log }: Failing): Promise<void> {
  const { accountId, nowMs, found } = search
  const kind = 'expression_fails'
  if (failures.mode === 'off' || log.mode === 'off') return found.unknown(kind, 'The decision log is off.')
  // Whole minutes, as both tables have them.
  const sinceMs = Math.floor((nowMs - dayMs) / 60_000) * 60_000
  const { places, placesLeftOut } = await failures.places({ accountId, sinceMs, limit: placesMax })
  const candidates = places.filter(({ edgeId, count }) => edgeId !== '' && count >= failedRecordsMin)
  found.lookedAt(kind, candidates.length)
  if (placesLeftOut > 0)
    found.unknown(kind, `Only the ${placesMax} places that fail most often are looked at.`)
  if (candidates.length === 0) return
  const decided = await decidedAt(log, accountId, [...new Set(candidates.map(({ edgeId }) => edgeId))], {
    sinceMs,
    untilMs: nowMs,
  })
  for (const place of candidates) {
    const records = decided.get(place.edgeId)
    if (records === undefined || place.count < records) continue
    const about = placeOf(search, place)
    if (about === undefined) continue
    found.add(kind, () => ({
      severity: 'attention',
      about,
      sentence: `The expressions of this traffic policy had no result for all ${place.count} records and questions of the last 24 hours: it never applied. ${place.message}`,
      evidence: {
        since: isoSeconds(sinceMs),
        until: isoSeconds(nowMs),
        looked_at: place.count,
        matched: 0,
        expression: place.expression,
      },
    }))
  }
}

/** How many records and questions of each edge were let through to its traffic policies. */
async function decidedAt(
  log: Counting,
  accountId: string,
  edgeIds: readonly string[],
  range: { readonly sinceMs: number; readonly untilMs: number },
): Promise<ReadonlyMap<string, number>> {
  const decided = new Map<string, number>()
  for (const source of ['record', 'asked'] as const) {
    const { counts } = await log.counts({
      ...range,
      accountId,
      dimension: 'edge',
      sources: [source],
      intervalMs: dayMs,
      valuesMax: edgeIds.length,
      selection: { values: { edge_id: edgeIds } },
    })
    for (const { value, allow, deny } of counts) decided.set(value, (decided.get(value) ?? 0) + allow + deny)
  }
  return decided
}

/** Undefined if the policy was removed, or its expression changed, since it failed. */
function placeOf({ state, found, accountId }: Search, failed: FailedPlace): Finding['about'] | undefined {
  const ownerId = failed.routeId || failed.edgeId
  const kinds = failed.routeId === '' ? ['tcp_edge', 'https_edge'] : ['https_edge_route']
  for (const kind of kinds) {
    const row = state.rows.get(kind)?.get(ownerId)
    if (row?.account_id !== accountId) continue
    const module = policiesOf(row)
    for (const direction of ['inbound', 'outbound'] as const)
      for (const [index, policy] of (module?.[direction] ?? []).entries()) {
        const label = labelOf(policy, direction, index)
        const isIt = [label, `${label} (${direction}[${index}])`].includes(failed.policy)
        if (isIt && policy.expressions.includes(failed.expression))
          return found.placeOf(kind, row, `policies.${direction}[${index}]`)
      }
  }
  return undefined
}
