/** One of the two configurations that a trial compares, and what it makes of records. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { DecidedBy } from '../../words/event/define.js'
import type { TrialExample } from '../../words/shape/trial.js'
import { withoutUnserved } from '../evaluate/decide.js'
import type { Endpoint } from '../evaluate/edges.js'
import { evaluate, type Verdict } from '../evaluate/evaluate.js'
import { ExplanationTrace } from '../evaluate/explain.js'
import { Judgement } from '../evaluate/judgement.js'
import type { PolicySet } from '../evaluate/policy-set.js'

/** Rules listed in the explanation of an example. */
const trialExplainedRulesMax = 20

export class Side {
  readonly policySet: PolicySet
  readonly #deniesUnserved: boolean
  readonly #budget = new StepBudget()
  /** Other effects: log actions, warnings and failures. */
  logActions = 0
  warnings = 0
  failures = 0

  /** `deniesUnserved`: names that no edge serves are denied, as for proxies. */
  constructor(policySet: PolicySet, deniesUnserved: boolean) {
    this.policySet = policySet
    this.#deniesUnserved = deniesUnserved
  }

  count(endpoint: Endpoint, context: PolicyContext): Verdict {
    const verdict = this.#judge(endpoint, context)
    this.logActions += verdict.logs.length
    this.warnings += verdict.warnings.length
    this.failures += verdict.failures.length
    return verdict
  }

  #judge(endpoint: Endpoint, context: PolicyContext, trace?: ExplanationTrace): Verdict {
    this.#budget.reset()
    const verdict = evaluate(this.policySet, endpoint, context, this.#budget, 'closed', trace)
    return this.#deniesUnserved && endpoint.edgeId === undefined ? withoutUnserved(verdict) : verdict
  }

  decidedBy(record: TrafficRecord, context: PolicyContext, verdict: Verdict): DecidedBy {
    return new Judgement(record, verdict.endpoint, context, verdict, this.policySet).decidedBy
  }

  explained(record: TrafficRecord, endpoint: Endpoint, geo: GeoLookup): TrialExample['before'] {
    const context = new PolicyContext(record, endpoint.edgeId, geo)
    const trace = new ExplanationTrace(this.policySet, context.client, trialExplainedRulesMax)
    const verdict = this.#judge(endpoint, context, trace)
    const judgement = new Judgement(record, endpoint, context, verdict, this.policySet)
    return { decision: verdict.decision, explanation: trace.explanation(judgement) }
  }
}
