/** Decides about one record: the same evaluator as in the pipeline, and no events. Without Node: browsers run it, too. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { PolicyContext } from '../../delivery/record/policy-context.js'
import type { DecisionRequest } from '../../delivery/record/record.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { type ErrorCode, fail, ok, type Problem, type Result } from '../../ground/core/errors.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { Decision } from '../../words/shape/decisions/decision.js'
import type { Challenger } from './challenger.js'
import { type Endpoint, nowhere } from './edges.js'
import { evaluate, type Phase, type Verdict } from './evaluate.js'
import { ExplanationTrace } from './explain.js'
import { Judgement } from './judgement.js'
import type { PolicySet } from './policy-set.js'
import type { Unserved } from './unserved.js'

/** Why a request can't be answered. */
export interface Refusal extends Problem {
  readonly code: ErrorCode
}

export const refusal = (code: ErrorCode, { msg }: Problem): Refusal => ({ code, msg })

/** The answer to a decision request, and the judgement it was made from. */
export interface Decided {
  readonly answer: Decision
  readonly judgement: Judgement
}

interface DecideOptions {
  readonly phase?: Phase
  /** `deny`: for proxies, whose servers often have one host for every name that is not configured. */
  readonly unserved?: Unserved
}

/** A question of an account is about its own names, so its restriction applies to those that no edge serves. */
export const ofAccount = (accountId: string, { record, explain }: DecisionRequest): DecisionRequest =>
  record.account_id ? { record, explain } : { record: { ...record, account_id: accountId }, explain }

/** Decides about a record. If an account asks, other accounts and their edges do not exist. */
export function decideRecord(
  policySet: PolicySet,
  geo: GeoLookup,
  { record, explain }: DecisionRequest,
  accountId?: string,
  { phase = 'opening', unserved = 'allow' }: DecideOptions = {},
): Result<Decided, Refusal> {
  const found = accountId === undefined ? policySet.findEdge(record) : policySet.findEdgeOf(accountId, record)
  if (!found.ok)
    return fail(refusal(found.problem.unknown ? 'ERR_NOT_FOUND' : 'ERR_INVALID_REQUEST', found.problem))
  const endpoint = found.value
  const context = new PolicyContext(record, endpoint.edgeId, geo)
  const trace = explain ? new ExplanationTrace(policySet, context.client) : undefined
  const served = endpoint.edgeId !== undefined
  const evaluated = evaluate(policySet, endpoint, context, new StepBudget(), phase, trace)
  const verdict = served || unserved === 'allow' ? evaluated : withoutUnserved(evaluated)
  const judgement = new Judgement(record, endpoint, context, verdict, policySet)
  const { decision, ipPolicy, policy } = verdict
  const answer = {
    decision,
    ip_policy: ipPolicy,
    policy: policy?.label ?? null,
    served,
    revision: policySet.revision,
    warnings: [...judgement.warnings, ...unservedWarnings(judgement)],
    ...(trace === undefined ? {} : { explanation: trace.explanation(judgement) }),
  }
  return ok({ answer, judgement })
}

/** Rules listed in the explanation of a challenger's decision. */
const challengedRulesMax = 100

/** The decision of a challenger about a record that has ended, explained like the decision itself. */
export function explainChallenged(
  challenger: Challenger,
  record: TrafficRecord,
  live: Endpoint,
  geo: GeoLookup,
): Pick<Decision, 'decision' | 'explanation'> {
  const endpoint = challenger.endpoint(live)
  const context = new PolicyContext(record, endpoint.edgeId, geo)
  const trace = new ExplanationTrace(challenger, context.client, challengedRulesMax)
  const verdict = evaluate(challenger, endpoint, context, new StepBudget(), 'closed', trace)
  const judgement = new Judgement(record, endpoint, context, verdict, challenger)
  return { decision: verdict.decision, explanation: trace.explanation(judgement) }
}

/** A record that restrictions block stays blocked. */
export const withoutUnserved = (verdict: Verdict): Verdict =>
  verdict.decision === 'allow' ? { ...verdict, decision: 'deny' } : verdict

function unservedWarnings({ endpoint, decidedBy }: Judgement): readonly string[] {
  if (decidedBy.type === 'unserved')
    return [
      'No edge of the account serves this name: add it to the hostports of an edge, or ask with unserved=allow.',
    ]
  return endpoint === nowhere ? ['No edge serves this name and no account is known; nothing applies.'] : []
}
