/**
 * Looks through the configuration of an account for what can hardly be meant. Each search is a file; all of them
 * work in slices and have bounds, so an answer costs seconds at most, and nobody else waits for it.
 */

import type { GeoLookup } from '../../../delivery/record/geo.js'
import { isoSeconds, now, yieldTurn } from '../../../ground/core/clock.js'
import { messageOf, WeirError } from '../../../ground/core/errors.js'
import { Slices } from '../../../ground/core/slices.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import type { PolicySet } from '../../../judging/evaluate/policy-set.js'
import type { AnyTrafficEvent } from '../../../words/event/define.js'
import type { Links } from '../../../words/resource/kind/define.js'
import type { FindingKind, Findings } from '../../../words/shape/finding.js'
import type { SourceCounts } from '../../../words/shape/subscription-counts.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { FailureReader } from '../../store/logs/failure-reader.js'
import type { LogReader } from '../../store/logs/log-reader.js'
import type { RowTime } from '../../store/logs/row-times.js'
import { testedParts } from '../../write/policy-test-coverage.js'
import { Collected, type Search } from './collected.js'
import { expressionFindings } from './expression-findings.js'
import { overlappingNames } from './name-findings.js'
import { policyUsers } from './policy-users.js'
import { ruleFindings } from './rule-findings.js'
import { failingPolicies, neverMatched } from './traffic-findings.js'
import {
  type LastUse,
  type ListStatus,
  openEdges,
  refusedCertificates,
  silentSubscriptions,
  staleLists,
  unusedKeys,
  unusedPolicies,
} from './use-findings.js'

export interface FindingsParts {
  readonly log: Pick<LogReader, 'counts' | 'reached' | 'reachedByOwnTime' | 'mode'>
  readonly failures: Pick<FailureReader, 'places' | 'mode'>
  readonly geo: GeoLookup
  readonly eventKinds: readonly AnyTrafficEvent[]
  readonly links: Links
  readonly sourceCounts: (subscriptionId: string) => readonly SourceCounts[]
  readonly lastUse: LastUse
  readonly listStatus: ListStatus
  /** The domain of addresses that Weir assigns. */
  readonly tcpDomain: string
  readonly policySet: (state: ViewState, accountId: string) => Promise<PolicySet>
  readonly occurrences: Pick<Occurrences, 'findingsUnread'>
}

/** `nowMs`: the time at which rules and keys are judged. `time`: by which traffic is. */
export async function findingsOf(
  parts: FindingsParts,
  state: ViewState,
  accountId: string,
  nowMs = now(),
  time: RowTime = 'stored',
): Promise<Findings> {
  const found = new Collected(parts.links)
  const slices = new Slices({ letOthers: yieldTurn })
  const search: Search = { state, accountId, nowMs, time, slices, found }
  const users = await policyUsers(search)
  const policySet = await parts.policySet(state, accountId)
  const covered = await ruleFindings(search, users.groups, policySet)
  await unusedPolicies(search, users)
  await expressionFindings(search, parts.eventKinds)
  await openEdges(search)
  await silentSubscriptions(search, parts.sourceCounts)
  await unusedKeys(search, parts.lastUse)
  await staleLists(search, parts.listStatus)
  await refusedCertificates(search)
  await overlappingNames(search, parts.tcpDomain)
  await whileLogAnswers(parts, found, 'rule_never_matched', async () => {
    const { coverage } = await testedParts(state, accountId, policySet, parts.geo, slices)
    await neverMatched(search, parts.log, users, coverage.parts, covered)
  })
  await whileLogAnswers(parts, found, 'expression_fails', () => failingPolicies(search, parts))
  return found.answer(isoSeconds(nowMs))
}

/** The rest is answered without the log; why it failed is said where operators look. */
async function whileLogAnswers(
  { occurrences }: Pick<FindingsParts, 'occurrences'>,
  found: Collected,
  kind: FindingKind,
  look: () => Promise<void>,
): Promise<void> {
  try {
    await look()
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    occurrences.findingsUnread({ kind, reason: messageOf(error.cause ?? error) })
    found.unknown(kind, error.message)
  }
}
