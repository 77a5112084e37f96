/**
 * Start here: the decision about one record. IP policies first, then traffic policies. Synchronous and pure: no clock,
 * no I/O, no randomness. The same code runs for records and for decision requests. The room reads its configuration
 * through `configuration.ts` and never knows where the rows come from.
 */
import type { Reading } from '../core/text/target-readings.js'
import type { Decision, Direction } from '../event/define.js'
import { StepBudget } from '../expr/run.js'
import type { AddressLists, IpDecision, PolicyContext } from '../record/policy-scope.js'
import type { TargetReadings } from '../record/request-target.js'
import type { RequestRecord } from '../record/traffic-record.js'
import type { Endpoint, HttpsEdge } from './edges.js'
import { decideAddress } from './ip-policy.js'
import { type Restrictions, type Warning, warningOf } from './ip-restriction.js'
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

/** What a decision reads of the configuration, apart from the endpoint. */
export interface Decisive extends Restrictions {
  /** The IP lists of an account; undefined if it has none. */
  listsOf(accountId: string | undefined): AddressLists | undefined
  /** Undefined for endpoints of other records than requests. */
  httpsEdgeOf(endpoint: Endpoint): HttpsEdge | undefined
  /** Where a request is if its path is this one. */
  endpointAt(endpoint: Endpoint, record: RequestRecord, path: string): Endpoint
}

/**
 * The decision about a record. The target of a request is judged in every reading that servers have of it: the first one
 * that is refused decides, else the path that the record shows.
 */
export function evaluate(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
  budget: StepBudget,
  phase: Phase,
  trace?: EvaluationTrace,
): Verdict {
  const readings = judgedReadings(policySet, endpoint, context)
  if (readings === undefined) return evaluateOne(policySet, endpoint, context, budget, phase, trace)
  const refused = refusedReading(policySet, endpoint, context, readings)
  if (refused !== undefined) {
    const { at, within, reading } = refused
    return { ...evaluateOne(policySet, at, within, budget, phase, trace), reading }
  }
  const policy = refusedTarget(policySet, endpoint, context.readings)
  if (policy === undefined) return evaluateOne(policySet, endpoint, context, budget, phase, trace)
  const shown = evaluateOne(policySet, endpoint, context, budget, 'opening', trace)
  return { ...shown, decision: 'deny', policy }
}

interface RefusedReading {
  readonly at: Endpoint
  readonly within: PolicyContext
  readonly reading: Reading | undefined
}

/**
 * What is judged next to the path that the record shows; undefined for most records. Some servers ignore the case of letters: a
 * path with capital ones is also judged in small letters, where that is how the edge writes all paths.
 */
function judgedReadings(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
): readonly Reading[] | undefined {
  const { readings, path } = context
  if (readings === undefined && !(path && mayHaveCapitals.test(path))) return undefined
  if (!policySet.httpsEdgeOf(endpoint)?.isInSmallLetters) return readings?.all
  const all = readings?.all ?? [{ path: path!, how: 'as sent' }]
  const small = all.map(({ path, how }) => ({ path: path.toLowerCase(), how: `${how}, in small letters` }))
  return [...all, ...small.filter(({ path }, index) => path !== all[index]!.path)]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII.
const mayHaveCapitals = /[A-Z]|[^\x00-\x7f]/

/** Each reading has the steps of a record, so that none can use up those of another. */
function refusedReading(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
  readings: readonly Reading[],
): RefusedReading | undefined {
  const isRefused = (at: Endpoint, within: PolicyContext): boolean =>
    evaluateOne(policySet, at, within, new StepBudget(), 'opening').decision !== 'allow'
  if (isRefused(endpoint, context)) return { at: endpoint, within: context, reading: undefined }
  for (const reading of readings) {
    if (reading.path === context.path) continue
    const at = policySet.endpointAt(endpoint, context.request, reading.path)
    const within = context.withPath(reading.path)
    if (isRefused(at, within)) return { at, within, reading }
  }
  return undefined
}

/** What refuses a target itself, as if it were a policy of the edge. */
function refusedTarget(
  policySet: Decisive,
  endpoint: Endpoint,
  { isAmbiguous, tooMany }: TargetReadings = { all: nothing, isAmbiguous: false, tooMany: false },
): TrafficPolicy | undefined {
  const edge = policySet.httpsEdgeOf(endpoint)
  if (edge?.refusesAmbiguous && isAmbiguous) return targetPolicy(endpoint, ambiguousTarget)
  const readsTarget = edge?.hasRoutes || endpoint.policies !== undefined || endpoint.route !== undefined
  return tooMany && readsTarget ? targetPolicy(endpoint, tooManyReadings) : undefined
}

/** The name under which an edge refuses what servers read differently (`ambiguous_targets`). */
export const ambiguousTarget = 'ambiguous target'
/** The name under which a target is refused that has more readings than are judged. */
const tooManyReadings = 'too many readings of the target'

const targetPolicy = ({ edgeId = '' }: Endpoint, label: string): TrafficPolicy => ({
  ownerId: edgeId,
  direction: 'inbound',
  label,
  distinctLabel: label,
  enforced: true,
  expressions: [],
  actions: targetActions,
})

const targetActions: TrafficPolicy['actions'] = [{ type: 'deny' }]

/** Is it one of those, and no policy of the same name? */
export const isTargetPolicy = ({ actions }: TrafficPolicy): boolean => actions === targetActions

/** Where a request is in any reading of its target; other records are where they are. */
export const endpointsOf = (policySet: Decisive, endpoint: Endpoint, context: PolicyContext): Endpoint[] => [
  endpoint,
  ...(judgedReadings(policySet, endpoint, context) ?? []).map(({ path }) =>
    policySet.endpointAt(endpoint, context.request, path),
  ),
]

function evaluateOne(
  policySet: Decisive,
  endpoint: Endpoint,
  context: PolicyContext,
  budget: StepBudget,
  phase: Phase,
  trace?: EvaluationTrace,
): Verdict {
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
