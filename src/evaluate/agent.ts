/** Decides whether an agent with this token may bind this name from this address. */
import { hashToken } from '../core/ids.js'
import { anything, parseBindRule, parseBindTarget } from '../resource/fields/bind-acl.js'
import type { DeclaredRow } from '../resource/registry.js'
import { checkRestriction, type Restrictions, type Warning } from './ip-restriction.js'

export interface AgentRequest {
  readonly token: string
  readonly client_ip: string
  /** The host or address the agent wants to serve. */
  readonly bind: string
}

export interface AgentDecision {
  readonly decision: 'allow' | 'block'
  /** For a person to read. */
  readonly reason: string
  readonly credential_id: string | null
}

interface Agents extends Restrictions {
  credential(tokenHash: string): DeclaredRow<'tunnel_credential'> | undefined
}

/** `warned` is called if a restriction that is not enforced would block. */
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
  const reason = [`The acl of ${id} allows to bind ${bind}.`, ...(warning === undefined ? [] : [warning.msg])]
  return { decision: 'allow', reason: reason.join(' '), credential_id: id }
}

const blocked = (reason: string, credentialId: string | null): AgentDecision => ({
  decision: 'block',
  reason,
  credential_id: credentialId,
})

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
