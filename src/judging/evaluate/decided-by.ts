/**
 * The part of the configuration that stopped a connection. It is found after the decision: few events and explanations need
 * it.
 */
import type { Address } from '../../ground/core/address/ip.js'
import type { DecidedBy } from '../../words/event/define.js'
import type { Verdict } from './evaluate.js'
import { decideAddress, denyRuleFor } from './ip-policy.js'
import type { Restrictions } from './ip-restriction.js'

const nothing: DecidedBy = {
  type: 'none',
  id: null,
  name: null,
  ipPolicyId: null,
  ruleId: null,
  cidr: null,
}

const unserved: DecidedBy = { ...nothing, type: 'unserved' }

/** If both the account's restriction and the module block, it is the restriction. */
export function findDecidedBy(
  policySet: Restrictions,
  { decision, policy, endpoint }: Pick<Verdict, 'decision' | 'policy' | 'endpoint'>,
  client: Address,
): DecidedBy {
  const { accountId, edgeId = null, route, ipPolicyIds = [] } = endpoint
  if (decision === 'allow') return nothing
  if (policy !== null) return { ...nothing, type: 'traffic_policy', id: policy.ownerId, name: policy.label }
  if (decision === 'deny') return unserved
  const restriction = accountId === undefined ? undefined : policySet.restriction(accountId, 'endpoints')
  const isRestricted =
    restriction?.enforced && decideAddress(policySet, restriction.ip_policy_ids, client) === 'block'
  if (isRestricted) {
    const { id, description, ip_policy_ids } = restriction
    const name = description || null
    return { type: 'restriction', id, name, ...ruleOf(policySet, ip_policy_ids, client) }
  }
  return {
    type: 'ip_restriction',
    id: route?.id ?? edgeId,
    name: null,
    ...ruleOf(policySet, ipPolicyIds, client),
  }
}

function ruleOf(
  policySet: Restrictions,
  policyIds: readonly string[],
  client: Address,
): Pick<DecidedBy, 'ipPolicyId' | 'ruleId' | 'cidr'> {
  const found = denyRuleFor(policySet, policyIds, client)
  if (found === undefined) return { ipPolicyId: null, ruleId: null, cidr: null }
  return { ipPolicyId: found.policyId, ruleId: found.rule.id, cidr: found.cidr }
}
