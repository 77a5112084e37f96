/** May an agent with this token, from this address, bind this name? */
import { hashToken } from '../core/ids.js'
import type { TunnelCredentialRow } from './configuration.js'
import { checkRestriction, type Restrictions } from './ip-restriction.js'

export interface AgentRequest {
  readonly token: string
  readonly client_ip: string
  /** The host or address the agent wants to serve. */
  readonly bind: string
}

export interface AgentDecision {
  readonly decision: 'allow' | 'block'
  /** One sentence. */
  readonly reason: string
  readonly credential_id: string | null
}

export interface Agents extends Restrictions {
  credential(tokenHash: string): TunnelCredentialRow | undefined
}

export function checkAgent(agents: Agents, { token, client_ip, bind }: AgentRequest): AgentDecision {
  const credential = agents.credential(hashToken(token))
  if (credential === undefined) return blocked('The token is not known.', null)
  const { id, account_id, acl } = credential
  const { decision } = checkRestriction(agents, account_id, 'agent', client_ip)
  if (decision === 'block') return blocked(`The agent restriction of ${account_id} blocks ${client_ip}.`, id)
  if (!permits(acl ?? [], bind)) return blocked(`The acl of ${id} does not allow to bind ${bind}.`, id)
  return { decision: 'allow', reason: `The acl of ${id} allows to bind ${bind}.`, credential_id: id }
}

const blocked = (reason: string, credentialId: string | null): AgentDecision => ({
  decision: 'block',
  reason,
  credential_id: credentialId,
})

const ruleHead = 'bind:'

/** No rule is no restriction; `bind:*.x` means any depth below x and `*.x` itself, but not x. */
function permits(acl: readonly string[], bind: string): boolean {
  const name = bind.toLowerCase()
  return acl.length === 0 || acl.some((rule) => rule === '*' || matches(rule.toLowerCase(), name))
}

function matches(rule: string, name: string): boolean {
  if (!rule.startsWith(ruleHead)) return false
  const pattern = rule.slice(ruleHead.length)
  if (!pattern.startsWith('*.')) return pattern === name
  const domain = pattern.slice(1)
  return name.endsWith(domain) && name.length > domain.length
}
