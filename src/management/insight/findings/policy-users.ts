/** Where IP policies are used together. */
import { getOrMake } from '../../../ground/core/maps.js'
import { bouncer } from '../../../words/resource/bouncers/bouncer.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { usingKinds } from '../../../words/shape/ip-policy-rules.js'
import { rowsOf } from '../../exchange/rows.js'
import type { Search } from './collected.js'

/** Policies that are asked together, at one or more places. */
export interface PolicyGroup {
  readonly policyIds: readonly string[]
  readonly first: { readonly kind: string; readonly row: Row }
  uses: number
}

export interface PolicyUsers {
  /** Without bouncers: these take deny rules alone, so a policy that allows contradicts nothing there. */
  readonly groups: readonly PolicyGroup[]
  /** Every policy that anything refers to, in force or not. */
  readonly referred: ReadonlySet<string>
  /** Policies whose blocks the decision log counts, and that are asked nowhere else. */
  readonly logged: ReadonlySet<string>
}

interface Module {
  readonly enabled: boolean
  readonly ip_policy_ids: readonly string[]
}

export async function policyUsers({ state, accountId, slices }: Search): Promise<PolicyUsers> {
  const groups = new Map<string, PolicyGroup>()
  const referred = new Set<string>()
  const logged = new Set<string>()
  const unlogged = new Set<string>()
  for (const kind of usingKinds) {
    for (const row of [...rowsOf(state, accountId, kind)]) {
      if (slices.isDue()) await slices.pause()
      const { policyIds, isInForce, isLogged, isGroup } = useIn(kind, row)
      for (const id of policyIds) referred.add(id)
      if (!isInForce) continue
      for (const id of policyIds) (isLogged ? logged : unlogged).add(id)
      if (!isGroup) continue
      const key = [...new Set(policyIds)].sort().join()
      getOrMake(groups, key, () => ({ policyIds, first: { kind, row }, uses: 0 })).uses += 1
    }
  }
  for (const id of unlogged) logged.delete(id)
  return { groups: [...groups.values()], referred, logged }
}

interface Use {
  readonly policyIds: readonly string[]
  readonly isInForce: boolean
  /** Does the decision log have what the policies block there? */
  readonly isLogged: boolean
  /** Do the rules of the policies decide together? */
  readonly isGroup: boolean
}

function useIn(kind: string, row: Row): Use {
  const { ip_policy_ids, enforced, type } = row
  const policyIds = (ip_policy_ids ?? []) as readonly string[]
  // A connection that a firewall drops never becomes a record.
  if (kind === bouncer.kind) return { policyIds, isInForce: true, isLogged: false, isGroup: false }
  if (kind === 'ip_restriction')
    // Requests to the API and to the console are no records.
    return { policyIds, isInForce: enforced === true, isLogged: type === 'endpoints', isGroup: true }
  const module = row['ip_restriction'] as Module | null | undefined
  return {
    policyIds: module?.ip_policy_ids ?? [],
    isInForce: module?.enabled === true,
    isLogged: true,
    isGroup: true,
  }
}
