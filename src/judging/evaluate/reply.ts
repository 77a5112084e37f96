/**
 * Answers requests of ingress nodes (is this connection allowed?) and tunnel servers (may this agent bind this name?).
 * Bytes in, bytes out; the same evaluator as in the pipeline, and no events.
 */

import type { GeoLookup } from '../../delivery/record/geo.js'
import { parseDecisionRequest, parseJson } from '../../delivery/record/record.js'
import { canonicalAddress, isPeerAddress } from '../../ground/core/address/ip.js'
import { bufferOf } from '../../ground/core/bytes.js'
import { wrong } from '../../ground/core/errors.js'
import { hashToken } from '../../ground/core/ids.js'
import { hostportCharsMax } from '../../ground/core/limits.js'
import { anything, parseBindRule, parseBindTarget } from '../../words/resource/fields/bind-acl.js'
import type { ClaimedNames } from '../../words/resource/fields/claimed-names.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { decideRecord, type Refusal, refusal } from './decide.js'
import { checkRestriction, type Restrictions, type Warning } from './ip-restriction.js'
import type { Judgement } from './judgement.js'
import type { PolicySet } from './policy-set.js'
import type { ConfigurationSource } from './policy-source.js'
import { isServedQuestion, parseServedQuestion, servedNames } from './unserved.js'

const reply = (body: object): Uint8Array => Buffer.from(JSON.stringify(body))

const refused = ({ code, msg }: Refusal): Uint8Array => reply({ error_code: code, msg })

/**
 * The reply to a request on `weir.decide` about names: which of them an edge serves; undefined if it is about something
 * else.
 */
export function replyAboutNames(
  policySet: PolicySet,
  source: ConfigurationSource,
  bytes: Uint8Array,
): Uint8Array | undefined {
  if (!mayAskNames(bytes)) return undefined
  const json = parseJson(bytes)
  if (!json.ok || !isServedQuestion(json.value)) return undefined
  const parsed = parseServedQuestion(json.value)
  if (!parsed.ok) return refused(refusal('ERR_INVALID_REQUEST', parsed.problem))
  return reply(servedNames(policySet, source, parsed.value))
}

/** Questions about connections, which come often, are not parsed twice. */
const mayAskNames = (bytes: Uint8Array): boolean => bufferOf(bytes).includes('"served_names"')

/**
 * The reply to a request on `weir.decide`: a record, optionally with `explain`. `noted` is called with the judgement. If
 * explanations are off, a request for one still gets the decision: an ingress must not stop because of it.
 */
export function decide(
  policySet: PolicySet,
  geo: GeoLookup,
  request: Uint8Array,
  noted: (judgement: Judgement) => void = () => {},
  isExplained = true,
): Uint8Array {
  const json = parseJson(request)
  if (!json.ok) return refused(refusal('ERR_INVALID_JSON', json.problem))
  const parsed = parseDecisionRequest(json.value)
  if (!parsed.ok) return refused(refusal('ERR_INVALID_REQUEST', parsed.problem))
  const { record, explain } = parsed.value
  const decided = decideRecord(policySet, geo, { record, explain: explain && isExplained })
  if (!decided.ok) return refused(decided.problem)
  const { answer, judgement } = decided.value
  noted(judgement)
  if (!explain || isExplained) return reply(answer)
  return reply({ ...answer, warnings: [...answer.warnings, unexplained] })
}

const unexplained =
  'There is no explanation, because WEIR_DECIDE_EXPLAIN is off: ask the API (POST /decide), or set it to on.'

/** Called with the outcome of an answer about an agent. */
export interface AgentWatch {
  /** A restriction in warn mode would block. */
  readonly warned: (warning: Warning) => void
  readonly decided: (decision: AgentDecision['decision']) => void
  /** The token is that of a credential, whatever was decided. */
  readonly used: (credentialId: string, clientIp: string) => void
}

const unwatched: AgentWatch = { warned: () => {}, decided: () => {}, used: () => {} }

/** The reply to a request on `weir.decide.agent`. */
export function decideAgent(
  policySet: PolicySet,
  bytes: Uint8Array,
  { warned, decided, used }: AgentWatch = unwatched,
): Uint8Array {
  const parsed = parseJson(bytes)
  if (!parsed.ok) return refused(refusal('ERR_INVALID_JSON', parsed.problem))
  const complaint = complaintAboutAgent(parsed.value)
  if (complaint !== undefined) return refused(refusal('ERR_INVALID_REQUEST', { msg: complaint }))
  const request = parsed.value as AgentRequest
  const client_ip = canonicalAddress(request.client_ip)
  const answer = checkAgent(policySet, { ...request, client_ip }, warned)
  decided(answer.decision)
  if (answer.credential_id !== null) used(answer.credential_id, client_ip)
  return reply(answer)
}

/** The token is never repeated in an answer. */
function complaintAboutAgent(request: unknown): string | undefined {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    return 'The request must be an object with token, client_ip and bind.'
  }
  const { token, client_ip, bind } = request as Readonly<Record<string, unknown>>
  if (typeof token !== 'string' || token === '') return '"token" must be a string that is not empty.'
  if (!isPeerAddress(client_ip)) return wrong('client_ip', client_ip, 'an IPv4 or IPv6 address')
  if (typeof bind !== 'string' || bind === '' || bind.length > hostportCharsMax)
    return wrong('bind', bind, `a host or an address of at most ${hostportCharsMax} characters`)
  return undefined
}

interface AgentRequest {
  readonly token: string
  readonly client_ip: string
  /** The host or address the agent wants to serve. */
  readonly bind: string
}

interface AgentDecision {
  readonly decision: 'allow' | 'block'
  /** For a person to read. */
  readonly reason: string
  readonly credential_id: string | null
}

interface Agents extends Restrictions {
  credential(tokenHash: string): DeclaredRow<'tunnel_credential'> | undefined
  isNamedByAnother(accountId: string, names: ClaimedNames): boolean
}

/**
 * Decides whether an agent with this token may bind this name from this address. `warned` is called if a restriction that
 * is not enforced would block.
 */
export function checkAgent(
  agents: Agents,
  { token, client_ip, bind }: AgentRequest,
  warned: (warning: Warning) => void = () => {},
): AgentDecision {
  const credential = agents.credential(hashToken(token))
  if (credential === undefined) return blocked('The token is unknown.', null)
  const { id, account_id, acl } = credential
  const { decision, warning } = checkRestriction(agents, account_id, 'agent', client_ip)
  if (warning !== undefined) warned(warning)
  if (decision === 'block') return blocked(`The agent restriction of ${account_id} blocks ${client_ip}.`, id)
  if (!permits(acl, bind)) return blocked(`The acl of ${id} does not allow to bind ${bind}.`, id)
  if (namesIn(bind).some((names) => agents.isNamedByAnother(account_id, names)))
    return blocked(`${bind} overlaps with names of another account.`, id)
  const reason = [`The acl of ${id} allows to bind ${bind}.`, ...(warning === undefined ? [] : [warning.msg])]
  return { decision: 'allow', reason: reason.join(' '), credential_id: id }
}

const blocked = (reason: string, credentialId: string | null): AgentDecision => ({
  decision: 'block',
  reason,
  credential_id: credentialId,
})

/**
 * The names that a target is about. One in another form than Weir reads, such as `shop.example.:443` or a URL, may be one
 * for the program that asks: all names in it count, on any port.
 */
function namesIn(bind: string): ClaimedNames[] {
  const parsed = parseBindTarget(bind)
  if (parsed.ok) return [namesOfTarget(parsed.value)]
  const words = bind
    .split(/[^\p{L}\p{N}._-]+/u)
    .map((word) => word.replace(/^\.+/, '').replace(/(?<!\.)\.+$/, ''))
  return words.flatMap((word) => {
    const name = parseBindTarget(word)
    return name.ok ? [{ domain: name.value, below: bind.includes('*'), port: '*' }] : []
  })
}

/** Without a port, on any port. */
function namesOfTarget(target: string): ClaimedNames {
  const [, host = target, port = '*'] = /^(.*):(\d+)$/.exec(target.endsWith(']') ? '' : target) ?? []
  return host.startsWith('*.')
    ? { domain: host.slice(2), below: true, port }
    : { domain: host, below: false, port }
}

/** Without rules, everything may be bound. */
function permits(acl: readonly string[], bind: string): boolean {
  const parsed = parseBindTarget(bind)
  return acl.length === 0 || acl.some((rule) => matches(rule, parsed.ok ? parsed.value : undefined))
}

/** A target that is neither a name nor an address needs the rule that allows anything. */
function matches(rule: string, target: string | undefined): boolean {
  const parsed = parseBindRule(rule)
  if (!parsed.ok || parsed.value === anything) return parsed.ok
  if (target === undefined) return false
  const host = target.replace(/:\d+$/, '')
  const named = parsed.value
  if (!named.startsWith('*')) return named === target || named === host
  const domain = named.slice(1)
  return host.endsWith(domain) && host.length > domain.length
}
