/**
 * What had no result, or would have blocked had it been enforced, while records were evaluated: counted at once, and
 * told per policy and per restriction, but not once per record.
 */
import { every, type Timer } from '../core/clock.js'
import { getOrMake } from '../core/maps.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Verdict } from '../evaluate/evaluate.js'
import type { CountVector } from './counts.js'

const tellEveryMs = 60_000
const subjectsToldMax = 1_000

type Noted = Pick<CountVector, 'policyFailures' | 'filterFailures' | 'warnings'>

/** What of one decision is worth noting. */
export const notedOf = ({ failures, warnings }: Verdict): Noted => ({
  policyFailures: failures.map(({ policy }) => ({ edge_id: policy.edgeId, policy: policy.label, count: 1 })),
  filterFailures: [],
  warnings: warnings.map(({ restrictionId }) => ({ restriction_id: restrictionId, count: 1 })),
})

interface Report {
  readonly tell: (count: number) => void
  count: number
}

export class FailureReports {
  readonly #occurrences: Occurrences
  readonly #askedBy: 'record' | 'decision'
  /** What was not told yet, per subject; those told within the last minute wait here. */
  readonly #reports = new Map<string, Report>()
  readonly #timer: Timer

  /** `askedBy`: whether records or requests for decisions are evaluated here. */
  constructor(occurrences: Occurrences, askedBy: 'record' | 'decision') {
    this.#occurrences = occurrences
    this.#askedBy = askedBy
    this.#timer = every(tellEveryMs, () => this.#tellAll())
  }

  add({ policyFailures, filterFailures, warnings }: Noted): void {
    const occurrences = this.#occurrences
    for (const { edge_id, policy, count } of policyFailures) {
      occurrences.policyExpressionFailed({ asked_by: this.#askedBy, edge_id, policy }, count)
      this.#note(`${edge_id} ${policy}`, count, (told) =>
        occurrences.policyFailing({ edge_id, policy, count: told }),
      )
    }
    for (const { subscription_id, kind, count } of filterFailures) {
      occurrences.filterFailed({ subscription_id, kind }, count)
    }
    for (const { restriction_id, count } of warnings) {
      occurrences.restrictionWarned({ asked_by: this.#askedBy, restriction_id }, count)
      this.#note(restriction_id, count, (told) =>
        occurrences.restrictionWarning({ restriction_id, count: told }),
      )
    }
  }

  /** The first time is told at once, what follows within the minute together. */
  #note(subject: string, count: number, tell: Report['tell']): void {
    const isKnown = this.#reports.has(subject)
    if (!isKnown && this.#reports.size >= subjectsToldMax) return
    const report = getOrMake(this.#reports, subject, () => ({ tell, count: 0 }))
    report.count += count
    if (!isKnown) this.#tell(report)
  }

  #tell(report: Report): void {
    report.tell(report.count)
    report.count = 0
  }

  #tellAll(): void {
    for (const [subject, report] of this.#reports) {
      if (report.count === 0) this.#reports.delete(subject)
      else this.#tell(report)
    }
  }

  close(): void {
    this.#timer.stop()
    for (const report of this.#reports.values()) if (report.count > 0) this.#tell(report)
  }
}
