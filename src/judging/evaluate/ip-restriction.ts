/** IP restrictions: IP policies for all traffic of a type of one account. */

import type { IpDecision } from '../../delivery/record/policy-context.js'
import { parseAddress } from '../../ground/core/address/ip.js'
import type { Slices } from '../../ground/core/slices.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import { decideAddress, type IpPolicies } from './ip-policy.js'
import type { ConfigurationSource, RestrictionType } from './policy-source.js'

/** If it is not `enforced`, it only warns. */
export type Restriction = DeclaredRow<'ip_restriction'>

/** A restriction that is not enforced and would have blocked. */
export interface Warning {
  readonly restrictionId: string
  readonly type: RestrictionType
  readonly msg: string
}

export const warningOf = ({ id, type }: Restriction, address: string): Warning => ({
  restrictionId: id,
  type,
  msg: `The ${type} restriction ${id} would block ${address}; it is not enforced.`,
})

interface RestrictionOutcome {
  readonly decision: IpDecision
  readonly warning: Warning | undefined
}

const allowed: RestrictionOutcome = { decision: 'allow', warning: undefined }

/** Which restrictions an account has, and the policies they name. */
export interface Restrictions extends IpPolicies {
  restriction(accountId: string, type: RestrictionType): Restriction | undefined
}

/** May this address reach this type of traffic of the account? Without a restriction it may. */
export function checkRestriction(
  restrictions: Restrictions,
  accountId: string,
  type: RestrictionType,
  address: string,
): RestrictionOutcome {
  const restriction = restrictions.restriction(accountId, type)
  if (restriction === undefined) return allowed
  if (decideAddress(restrictions, restriction.ip_policy_ids, parseAddress(address)) === 'allow')
    return allowed
  if (restriction.enforced) return { decision: 'block', warning: undefined }
  return { decision: 'allow', warning: warningOf(restriction, address) }
}

/** There is at most one of a type. */
export type AccountRestrictions = Partial<Record<RestrictionType, Restriction>>

/** By account. */
export async function buildRestrictions(
  source: ConfigurationSource,
  slices: Slices,
): Promise<Map<string, AccountRestrictions>> {
  const restrictions = new Map<string, AccountRestrictions>()
  for (const row of source.rowsOf('ip_restriction')) {
    if (slices.isDue()) await slices.pause()
    const others = restrictions.get(row.account_id)
    restrictions.set(row.account_id, { ...others, [row.type]: row })
  }
  return restrictions
}
