/**
 * Start here: the decision about one record. IP policies first, then traffic policies. Synchronous and pure: no clock,
 * no I/O, no randomness. The same code runs for records and for decision requests. The room reads its configuration
 * through `policy-source.ts` and never knows where the rows come from.
 */

import type { IpDecision, PolicyContext } from '../../delivery/record/policy-context.js'
import type { Choice } from '../../delivery/record/value-choices.js'
import type { Reading } from '../../ground/core/text/target-readings.js'
import type { StepBudget } from '../../ground/expr/run.js'
import type { Decision, Direction } from '../../words/event/define.js'
import type { Endpoint } from './edges.js'
import { decideAddress } from './ip-policy.js'
import { type Restrictions, type Warning, warningOf } from './ip-restriction.js'
import { type Decisive, isReadAlike, policyOfReadings, readingsOfRequest } from './readings.js'
import {
  type LogAction,
  type PolicyFailure,
  type PolicyRun,
  type PolicyTrace,
  runPolicies,
  type TrafficPolicy,
} from './traffic-policy.js'

interface IpPolicyVerdict {
  readonly decision: IpDecision
  /** The policies that were asked, of the module and of the account's enforced restriction. */
  readonly policy_ids: readonly string[]
}

export interface Verdict {
  readonly decision: Decision
  /** Where it was decided: requests may be at another route in another reading of their target. */
  readonly endpoint: Endpoint
  /** The reading of the target that was refused; undefined for the path that the record shows. */
  readonly reading: Reading | undefined
  /** The values that were refused, of names that have several; empty for those that the record shows. */
  readonly values: readonly Choice[]
  /** Null if neither an enabled module nor an enforced restriction applied. */
  readonly ipPolicy: IpPolicyVerdict | null
  /** The traffic policy that denied. */
  readonly policy: TrafficPolicy | null
  /** Log actions that were run, in order. */
  readonly logs: readonly LogAction[]
  readonly warnings: readonly Warning[]
  /** Expressions that had no result; their policies did not apply. */
  readonly failures: readonly PolicyFailure[]
}

/** Records everything that is evaluated, for explanations. */
export interface EvaluationTrace extends PolicyTrace {
  ipPolicies(group: IpPolicyGroup): void
}

/** IP policies that were asked together. */
export interface IpPolicyGroup {
  /** The module of an edge, or the id of a restriction, that names them. */
  readonly source: string
  readonly enforced: boolean
  readonly policyIds: readonly string[]
  readonly decision: IpDecision
}

/**
 * - `opening`: the connection asks to be let in; outbound policies do not run.
 * - `closed`: it has ended; outbound policies run if inbound ones let it through.
 */
export type Phase = 'opening' | 'closed'

const nothing: readonly never[] = []
const untouched: PolicyRun = { denied: undefined, logs: nothing, failures: nothing }

/**
 * The decision about a record. A request is judged in every reading that servers have of it, of its target and of names with
 * several values: the first one that is refused decides, else what the record shows.
 */
export function evaluate(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
  budget: StepBudget,
  phase: Phase,
  trace?: EvaluationTrace,
): Verdict {
  if (isReadAlike(policySet, endpoint, context))
    return evaluateOne(policySet, endpoint, context, budget, phase, trace)
  const readings = readingsOfRequest(policySet, endpoint, context)
  for (const reading of readings.judged) {
    const { at, within, target, values } = reading
    const { decision } = evaluateOne(policySet, at, within, reading.budget, 'opening')
    if (decision === 'allow') continue
    return { ...evaluateOne(policySet, at, within, budget, phase, trace), reading: target, values }
  }
  const policy = policyOfReadings(policySet, endpoint, context, readings.tooManyValuesAt())
  if (policy === undefined) return evaluateOne(policySet, endpoint, context, budget, phase, trace)
  const shown = evaluateOne(policySet, endpoint, context, budget, 'opening', trace)
  return { ...shown, decision: 'deny', policy }
}

/** In one reading. */
const evaluateOne: typeof evaluate = (policySet, endpoint, context, budget, phase, trace) => {
  const warnings: Warning[] = []
  const ipPolicy = decideIpPolicy(policySet, endpoint, context, warnings, trace)
  context.ipDecision = ipPolicy?.decision
  if (ipPolicy?.decision === 'block')
    return verdictOf(endpoint, 'block', ipPolicy, untouched, untouched, warnings)
  const { policies, route, accountId } = endpoint
  if (policies === undefined && route?.policies === undefined)
    return verdictOf(endpoint, 'allow', ipPolicy, untouched, untouched, warnings)
  context.lists = policySet.listsOf(accountId)
  const inbound = runAll(endpoint, 'inbound', context, budget, trace)
  if (inbound.denied !== undefined) return verdictOf(endpoint, 'deny', ipPolicy, inbound, untouched, warnings)
  const outbound = phase === 'closed' ? runAll(endpoint, 'outbound', context, budget, trace) : untouched
  return verdictOf(endpoint, 'allow', ipPolicy, inbound, outbound, warnings)
}

/** The policies of the edge, then those of the route, until one denies. */
function runAll(
  { policies, route }: Endpoint,
  direction: Direction,
  context: PolicyContext,
  budget: StepBudget,
  trace: EvaluationTrace | undefined,
): PolicyRun {
  const ofEdge = policies === undefined ? untouched : runPolicies(policies, direction, context, budget, trace)
  if (route?.policies === undefined || ofEdge.denied !== undefined) return ofEdge
  const ofRoute = runPolicies(route.policies, direction, context, budget, trace)
  return {
    denied: ofRoute.denied,
    logs: joined(ofEdge.logs, ofRoute.logs),
    failures: joined(ofEdge.failures, ofRoute.failures),
  }
}

function verdictOf(
  endpoint: Endpoint,
  decision: Decision,
  ipPolicy: IpPolicyVerdict | null,
  inbound: PolicyRun,
  outbound: PolicyRun,
  warnings: readonly Warning[],
): Verdict {
  return {
    decision,
    endpoint,
    reading: undefined,
    values: nothing,
    ipPolicy,
    policy: inbound.denied ?? null,
    logs: joined(inbound.logs, outbound.logs),
    warnings,
    failures: joined(inbound.failures, outbound.failures),
  }
}

const joined = <T>(one: readonly T[], other: readonly T[]): readonly T[] =>
  other.length === 0 ? one : one.length === 0 ? other : [...one, ...other]

/** The module of the edge and the `endpoints` restriction of the account both apply: either can block. */
function decideIpPolicy(
  policySet: Restrictions,
  { accountId, edgeId, ipPolicyIds }: Endpoint,
  context: PolicyContext,
  warnings: Warning[],
  trace: EvaluationTrace | undefined,
): IpPolicyVerdict | null {
  let verdict: IpPolicyVerdict | null = null
  if (ipPolicyIds !== undefined) {
    const decision = decideAddress(policySet, ipPolicyIds, context.client)
    trace?.ipPolicies({
      source: `ip_restriction of ${edgeId}`,
      enforced: true,
      policyIds: ipPolicyIds,
      decision,
    })
    verdict = { decision, policy_ids: ipPolicyIds }
  }
  const restriction = accountId === undefined ? undefined : policySet.restriction(accountId, 'endpoints')
  if (restriction === undefined) return verdict
  const { id, enforced, ip_policy_ids: restrictionIds } = restriction
  const decision = decideAddress(policySet, restrictionIds, context.client)
  trace?.ipPolicies({ source: id, enforced, policyIds: restrictionIds, decision })
  if (!enforced) {
    if (decision === 'block') warnings.push(warningOf(restriction, context.conn.client_ip))
    return verdict
  }
  if (verdict === null) return { decision, policy_ids: restrictionIds }
  return {
    decision: verdict.decision === 'block' ? 'block' : decision,
    policy_ids: [...new Set([...verdict.policy_ids, ...restrictionIds])],
  }
}
