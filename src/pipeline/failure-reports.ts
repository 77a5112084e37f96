/**
 * What had no result, or would have blocked had it been enforced, while records were evaluated: counted at once, and
 * told per policy and per restriction, but not once per record.
 */
import { after, type Timer } from '../core/clock.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Verdict } from '../evaluate/evaluate.js'
import type { CountVector } from './counts.js'

const tellEveryMs = 60_000
const subjectsToldMax = 1_000

type Noted = Pick<CountVector, 'policyFailures' | 'filterFailures' | 'warnings'>

/** What of one decision is worth noting. */
export const notedOf = ({ failures, warnings }: Pick<Verdict, 'failures' | 'warnings'>): Noted => ({
  policyFailures: failures.map(({ policy }) => ({ edge_id: policy.edgeId, policy: policy.label, count: 1 })),
  filterFailures: [],
  warnings: warnings.map(({ restrictionId }) => ({ restriction_id: restrictionId, count: 1 })),
})

/** What was told within the last minute, and how often it has happened since. */
interface Told {
  readonly tell: (count: number) => void
  readonly minute: Timer
  count: number
}

export class FailureReports {
  readonly #occurrences: Occurrences
  readonly #askedBy: 'record' | 'decision'
  /** By subject: a policy of an edge, or a restriction. */
  readonly #told = new Map<string, Told>()

  /** `askedBy`: whether records or requests for decisions are evaluated here. */
  constructor(occurrences: Occurrences, askedBy: 'record' | 'decision') {
    this.#occurrences = occurrences
    this.#askedBy = askedBy
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

  /** The first time is told at once, what follows within a minute together at its end. */
  #note(subject: string, count: number, tell: Told['tell']): void {
    const told = this.#told.get(subject)
    if (told !== undefined) told.count += count
    else if (this.#told.size < subjectsToldMax) this.#tell(subject, count, tell)
  }

  #tell(subject: string, count: number, tell: Told['tell']): void {
    tell(count)
    const minute = after(tellEveryMs, () => this.#endMinute(subject))
    this.#told.set(subject, { tell, minute, count: 0 })
  }

  #endMinute(subject: string): void {
    const { tell, count } = this.#told.get(subject)!
    this.#told.delete(subject)
    if (count > 0) this.#tell(subject, count, tell)
  }

  close(): void {
    for (const { tell, minute, count } of this.#told.values()) {
      minute.stop()
      if (count > 0) tell(count)
    }
    this.#told.clear()
  }
}
