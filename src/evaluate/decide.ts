/**
 * Answers requests of ingress nodes (is this connection allowed?) and tunnel servers (may this agent bind this name?).
 * Bytes in, bytes out; the same evaluator as in the pipeline, and no events.
 */
import { type ErrorCode, type Problem, shown, wrong } from '../core/errors.js'
import { canonicalAddress, isAddress } from '../core/ip.js'
import { hostportCharsMax } from '../core/limits.js'
import { StepBudget } from '../expr/budget.js'
import type { GeoLookup } from '../record/geo.js'
import { PolicyContext } from '../record/policy-scope.js'
import { parseDecisionRequest, parseJson } from '../record/record.js'
import { type AgentRequest, checkAgent } from './agent.js'
import { nowhere } from './edges.js'
import { evaluate, type Verdict } from './evaluate.js'
import { ExplanationTrace } from './explain.js'
import type { Warning } from './ip-restriction.js'
import type { PolicySet } from './policy-set.js'

const reply = (body: object): Uint8Array => Buffer.from(JSON.stringify(body))

const refusal = (code: ErrorCode, { msg }: Problem): Uint8Array => reply({ error_code: code, msg })

/** The reply to a request on `weir.decide`: a record, optionally with `explain`. `decided` is called with the verdict. */
export function decide(
  policySet: PolicySet,
  geo: GeoLookup,
  request: Uint8Array,
  decided: (verdict: Verdict) => void = () => {},
): Uint8Array {
  const json = parseJson(request)
  if (!json.ok) return refusal('ERR_INVALID_JSON', json.problem)
  const parsed = parseDecisionRequest(json.value)
  if (!parsed.ok) return refusal('ERR_INVALID_REQUEST', parsed.problem)
  const { record, explain } = parsed.value
  const found = policySet.findEdge(record)
  if (!found.ok)
    return refusal(found.problem.unknown ? 'ERR_NOT_FOUND' : 'ERR_INVALID_REQUEST', found.problem)
  const context = new PolicyContext(record.conn, found.value.edgeId, geo)
  const trace = explain ? new ExplanationTrace(policySet, record.conn.client_ip) : undefined
  const verdict = evaluate(policySet, found.value, context, new StepBudget(), 'opening', trace)
  decided(verdict)
  const warnings = verdict.warnings.map(({ msg }) => msg)
  if (found.value === nowhere)
    warnings.push('No edge serves this name and no account is known; nothing applies.')
  for (const { policy, expression, msg } of verdict.failures) {
    warnings.push(`The expression ${shown(expression)} of ${policy.label} has no result: ${msg}`)
  }
  return reply({
    decision: verdict.decision,
    ip_policy: verdict.ipPolicy,
    policy: verdict.policy,
    revision: policySet.revision,
    warnings,
    ...(trace === undefined ? {} : { explanation: trace.explanation }),
  })
}

/** The reply to a request on `weir.decide.agent`. `warned` is called if a restriction in warn mode would block. */
export function decideAgent(
  policySet: PolicySet,
  bytes: Uint8Array,
  warned: (warning: Warning) => void = () => {},
): Uint8Array {
  const parsed = parseJson(bytes)
  if (!parsed.ok) return refusal('ERR_INVALID_JSON', parsed.problem)
  const complaint = complaintAboutAgent(parsed.value)
  if (complaint !== undefined) return refusal('ERR_INVALID_REQUEST', { msg: complaint })
  const request = parsed.value as AgentRequest
  const client_ip = canonicalAddress(request.client_ip)
  return reply(checkAgent(policySet, { ...request, client_ip }, warned))
}

/** The token is never repeated in an answer. */
function complaintAboutAgent(request: unknown): string | undefined {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    return 'The request must be an object with token, client_ip and bind.'
  }
  const { token, client_ip, bind } = request as Readonly<Record<string, unknown>>
  if (typeof token !== 'string' || token === '') return '"token" must be a string that is not empty.'
  if (!isAddress(client_ip)) return wrong('client_ip', client_ip, 'an IPv4 or IPv6 address')
  if (typeof bind !== 'string' || bind === '' || bind.length > hostportCharsMax)
    return wrong('bind', bind, `a host or an address of at most ${hostportCharsMax} characters`)
  return undefined
}
