/**
 * Reports of expressions without a result, of restrictions that would have blocked if enforced, of decisions that have
 * a shadow, and of records that no edge serves. Each is counted at once, and logged per policy, per restriction or per
 * minute rather than per record.
 */
import { after, type Timer } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { TopCounts } from '../../ground/core/top-counts.js'
import type { Judgement } from '../evaluate/judgement.js'
import { type CountVector, lastFailure } from './counts.js'

const reportEveryMs = 60_000
const subjectsMax = 1_000

type FailureCounts = Pick<CountVector, 'policyFailures' | 'filterFailures' | 'warnings' | 'shadows'>

/** The counts for metrics and the log, which do not need the last failure of a record. */
type ReportedCounts = Pick<CountVector, 'warnings' | 'shadows'> & {
  readonly policyFailures: readonly Omit<CountVector['policyFailures'][number], 'last'>[]
  readonly filterFailures: readonly Omit<CountVector['filterFailures'][number], 'last'>[]
}

/** The failures, the warnings and the shadow of one decision. */
export const failureCountsOf = ({ record, endpoint, verdict, shadow }: Judgement): FailureCounts => ({
  policyFailures: verdict.failures.map(({ policy, expression, msg }) => ({
    edge_id: policy.ownerId,
    policy: policy.distinctLabel,
    count: 1,
    last: lastFailure(record, endpoint, expression, msg),
  })),
  filterFailures: [],
  warnings: verdict.warnings.map(({ restrictionId }) => ({ restriction_id: restrictionId, count: 1 })),
  shadows: shadow === null ? [] : [{ decision: verdict.decision, shadow: shadow.decision, count: 1 }],
})

/** A report made within the last minute, and how often its cause has occurred since. */
interface RecentReport {
  readonly log: (count: number) => void
  readonly minute: Timer
  count: number
}

export class FailureReports {
  readonly #occurrences: Occurrences
  readonly #askedBy: 'record' | 'decision'
  /** By subject: a policy of an edge, or a restriction. */
  readonly #recent = new Map<string, RecentReport>()

  /** `askedBy`: whether records or requests for decisions are evaluated here. */
  constructor(occurrences: Occurrences, askedBy: 'record' | 'decision') {
    this.#occurrences = occurrences
    this.#askedBy = askedBy
  }

  add({ policyFailures, filterFailures, warnings, shadows }: ReportedCounts): void {
    const occurrences = this.#occurrences
    for (const { decision, shadow, count } of shadows)
      occurrences.shadowDecided({ asked_by: this.#askedBy, decision, shadow }, count)
    for (const { edge_id, policy, count } of policyFailures) {
      occurrences.policyExpressionFailed({ asked_by: this.#askedBy, edge_id, policy }, count)
      this.#note(`${edge_id} ${policy}`, count, (total) =>
        occurrences.policyFailing({ edge_id, policy, count: total }),
      )
    }
    for (const { subscription_id, kind, count } of filterFailures) {
      occurrences.filterFailed({ subscription_id, kind }, count)
    }
    for (const { restriction_id, count } of warnings) {
      occurrences.restrictionWarned({ asked_by: this.#askedBy, restriction_id }, count)
      this.#note(restriction_id, count, (total) =>
        occurrences.restrictionWarning({ restriction_id, count: total }),
      )
    }
  }

  /** The first occurrence is logged at once, those within the following minute together at its end. */
  #note(subject: string, count: number, log: RecentReport['log']): void {
    const recent = this.#recent.get(subject)
    if (recent !== undefined) recent.count += count
    else if (this.#recent.size < subjectsMax) this.#report(subject, count, log)
  }

  #report(subject: string, count: number, log: RecentReport['log']): void {
    log(count)
    const minute = after(reportEveryMs, () => this.#endMinute(subject))
    this.#recent.set(subject, { log, minute, count: 0 })
  }

  #endMinute(subject: string): void {
    const { log, count } = this.#recent.get(subject)!
    this.#recent.delete(subject)
    if (count > 0) this.#report(subject, count, log)
  }

  close(): void {
    for (const { log, minute, count } of this.#recent.values()) {
      minute.stop()
      if (count > 0) log(count)
    }
    this.#recent.clear()
  }
}

/** Endpoints that are counted, and those that are listed. */
const unservedEndpointsMax = 100
const unservedEndpointsListed = 5

/** Reports records that no edge serves: the first at once, those within the following minute together at its end. */
export class UnservedReports {
  readonly #occurrences: Occurrences
  #records = 0
  #unowned = 0
  #endpoints = new TopCounts(unservedEndpointsMax)
  #minute: Timer | undefined

  constructor(occurrences: Occurrences) {
    this.#occurrences = occurrences
  }

  add({ unserved, unowned }: Pick<CountVector, 'unserved' | 'unowned'>): void {
    this.#unowned += unowned
    for (const { endpoint, count } of unserved) {
      this.#records += count
      this.#endpoints.add(endpoint, count)
    }
    if (this.#minute === undefined) this.#report()
  }

  #report(): void {
    this.#minute = undefined
    if (this.#records === 0) return
    const most_frequent = this.#endpoints
      .top(unservedEndpointsListed)
      .map(({ text, count }) => ({ endpoint: text, records: count }))
    this.#occurrences.recordsUnserved({ records: this.#records, of_no_account: this.#unowned, most_frequent })
    this.#records = 0
    this.#unowned = 0
    this.#endpoints = new TopCounts(unservedEndpointsMax)
    this.#minute = after(reportEveryMs, () => this.#report())
  }

  close(): void {
    this.#minute?.stop()
    this.#report()
    this.#minute?.stop()
  }
}
