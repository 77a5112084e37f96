/** What had no result while records were evaluated: counted at once, and told per policy, but not once per record. */
import { every, type Timer } from '../core/clock.js'
import { getOrMake } from '../core/maps.js'
import type { Occurrences } from '../core/occurrences.js'
import type { CountVector } from './counts.js'

const tellEveryMs = 60_000
const policiesToldMax = 1_000

interface Report {
  readonly edge_id: string
  readonly policy: string
  count: number
}

export class FailureReports {
  readonly #occurrences: Occurrences
  /** Failures that were not told yet, per policy; those told within the last minute wait here. */
  readonly #reports = new Map<string, Report>()
  readonly #timer: Timer

  constructor(occurrences: Occurrences) {
    this.#occurrences = occurrences
    this.#timer = every(tellEveryMs, () => this.#tellAll())
  }

  add({ policyFailures, filterFailures, warnings }: CountVector): void {
    for (const { edge_id, policy, count } of policyFailures) this.#addPolicy(edge_id, policy, count)
    for (const { subscription_id, kind, count } of filterFailures)
      this.#occurrences.filterFailed({ subscription_id, kind }, count)
    for (const { restriction_id, count } of warnings)
      this.#occurrences.restrictionWarned({ restriction_id }, count)
  }

  /** The first failure of a policy is told at once, what follows within the minute together. */
  #addPolicy(edge_id: string, policy: string, count: number): void {
    this.#occurrences.policyExpressionFailed({ edge_id, policy }, count)
    const key = `${edge_id} ${policy}`
    const isKnown = this.#reports.has(key)
    if (!isKnown && this.#reports.size >= policiesToldMax) return
    const report = getOrMake(this.#reports, key, () => ({ edge_id, policy, count: 0 }))
    report.count += count
    if (!isKnown) this.#tell(report)
  }

  #tell(report: Report): void {
    this.#occurrences.policyFailing({ ...report })
    report.count = 0
  }

  #tellAll(): void {
    for (const [key, report] of this.#reports) {
      if (report.count === 0) this.#reports.delete(key)
      else this.#tell(report)
    }
  }

  close(): void {
    this.#timer.stop()
    this.#tellAll()
  }
}
