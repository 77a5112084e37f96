/** Where IP policies are used together. */
import { getOrMake } from '../../core/maps.js'
import { rowsOf } from '../../http/present.js'
import type { Row } from '../../resource/define.js'
import { usingKinds } from '../../shape/ip-policy-rules.js'
import type { Search } from './collected.js'

/** Policies that are asked together, at one or more places. */
export interface PolicyGroup {
  readonly policyIds: readonly string[]
  readonly first: { readonly kind: string; readonly row: Row }
  uses: number
}

export interface PolicyUsers {
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
      const { policyIds, isInForce, isLogged } = useIn(kind, row)
      for (const id of policyIds) referred.add(id)
      if (!isInForce) continue
      for (const id of policyIds) (isLogged ? logged : unlogged).add(id)
      const key = [...new Set(policyIds)].sort().join()
      getOrMake(groups, key, () => ({ policyIds, first: { kind, row }, uses: 0 })).uses += 1
    }
  }
  for (const id of unlogged) logged.delete(id)
  return { groups: [...groups.values()], referred, logged }
}

function useIn(
  kind: string,
  row: Row,
): { policyIds: readonly string[]; isInForce: boolean; isLogged: boolean } {
  if (kind === 'ip_restriction') {
    const { ip_policy_ids, enforced, type } = row
    return {
      policyIds: ip_policy_ids as readonly string[],
      isInForce: enforced === true,
      // Requests to the API and to the console are no records.
      isLogged: type === 'endpoints',
    }
  }
  const module = row['ip_restriction'] as Module | null | undefined
  return { policyIds: module?.ip_policy_ids ?? [], isInForce: module?.enabled === true, isLogged: true }
}
