/** A record, the decision about it and where it belongs, as events and their filters read them. */

import type { Geo } from '../../delivery/record/geo-entry.js'
import type { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TargetReadings } from '../../delivery/record/request-target.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { Choice } from '../../delivery/record/value-choices.js'
import type { Address } from '../../ground/core/address/ip.js'
import { shown } from '../../ground/core/errors.js'
import type {
  ChallengerDecision,
  DecidedBy,
  Decision,
  ShadowDecision,
  ShownDecision,
} from '../../words/event/define.js'
import type { Challenger } from './challenger.js'
import { findDecidedBy } from './decided-by.js'
import type { Endpoint } from './edges.js'
import type { EvaluationTrace, Verdict } from './evaluate.js'
import { valueChoices } from './readings.js'
import { type Judging, shadowOf } from './shadow.js'

export class Judgement implements ShownDecision {
  readonly record: TrafficRecord
  readonly verdict: Verdict
  /** Where the record is as its path is shown; where it was decided is `endpoint`. */
  readonly #shownAt: Endpoint
  readonly #context: PolicyContext
  readonly #policySet: Judging
  #decidedBy: DecidedBy | undefined
  #shadow: ShadowDecision | null | undefined
  #challenged: ChallengerDecision | undefined

  constructor(
    record: TrafficRecord,
    endpoint: Endpoint,
    context: PolicyContext,
    verdict: Verdict,
    policySet: Judging,
  ) {
    this.record = record
    this.#shownAt = endpoint
    this.verdict = verdict
    this.#context = context
    this.#policySet = policySet
  }

  /** That of the reading that decided. */
  get endpoint(): Endpoint {
    return this.verdict.endpoint
  }

  /** The readings of the target of a request; undefined if all servers read it as the record shows it. */
  get readings(): TargetReadings | undefined {
    return this.#context.readings
  }

  /** Values that servers may take instead of those that the record shows. */
  get otherValues(): readonly Choice[] {
    return valueChoices(this.endpoint, this.#context).flatMap(({ others }) => others)
  }

  get decision(): Decision {
    return this.verdict.decision
  }

  get decidedBy(): DecidedBy {
    this.#decidedBy ??= findDecidedBy(this.#policySet, this.verdict, this.client)
    return this.#decidedBy
  }

  /** Made when it is first read: without anything that is not enforced, this is the lookup of the account. */
  get shadow(): ShadowDecision | null {
    if (this.#shadow === undefined) this.#shadow = this.#shadowBy()
    return this.#shadow
  }

  /** Makes the shadow decision with a trace, for explanations. */
  traceShadow(trace: EvaluationTrace): void {
    this.#shadow = this.#shadowBy(trace)
  }

  #shadowBy(trace?: EvaluationTrace): ShadowDecision | null {
    const shadow = shadowOf(this.#policySet, this.#shownAt, this.#context, trace)
    return shadow && this.#ifServed(shadow)
  }

  /** A question about a name that no edge serves is denied, whatever is enforced or drafted. */
  #ifServed<Made extends ShadowDecision>(made: Made): Made {
    const { decision, decidedBy } = this
    return made.decision === 'allow' && decidedBy.type === 'unserved'
      ? { ...made, decision, decidedBy }
      : made
  }

  /** The decision of a challenger's draft about the record. */
  by(challenger: Challenger): ChallengerDecision {
    // Events and the log ask for it; a record has one challenger.
    if (this.#challenged?.id !== challenger.row.id)
      this.#challenged = this.#ifServed(challenger.decide(this.#shownAt, this.#context, this))
    return this.#challenged
  }

  get ipPolicy(): Verdict['ipPolicy'] {
    return this.verdict.ipPolicy
  }

  /** The hostport by which the edge was found; undefined if the record names it. */
  get hostport(): string | undefined {
    const { edgeId, accountId } = this.endpoint
    return edgeId === undefined ? undefined : this.#policySet.hostportOf(this.record, accountId)
  }

  get edgeId(): string | undefined {
    return this.endpoint.edgeId
  }

  get routeId(): string | undefined {
    return this.endpoint.route?.id
  }

  /** The address of the client. */
  get client(): Address {
    return this.#context.client
  }

  get geo(): Geo {
    return this.#context.geo
  }

  get warnings(): readonly string[] {
    return warningsOf(this.verdict)
  }

  get revision(): number {
    return this.#policySet.revision
  }
}

/** Restrictions that only warn and would have blocked, and expressions without a result: each as a sentence. */
const warningsOf = ({ warnings, failures }: Verdict): string[] => [
  ...warnings.map(({ msg }) => msg),
  ...failures.map(
    ({ policy, expression, msg }) =>
      `The expression ${shown(expression)} of ${policy.label} has no result: ${msg}`,
  ),
]
