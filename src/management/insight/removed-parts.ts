/**
 * The parts that a draft removes. A module is replaced as a whole, so a policy that its draft lacks is removed, which
 * decisions need not show.
 */
import type { Slices } from '../../ground/core/slices.js'
import { subjectOfRule } from '../../words/resource/ip-policy.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Put } from '../store/change/change.js'

type Policy = { readonly name?: string; readonly enforced?: boolean }
type Policies = Readonly<Record<'inbound' | 'outbound', readonly Policy[]>>
type Module = { readonly ip_policy_ids: readonly string[] }

/** The parts of present rows that the rows of a draft lack. */
export const removedParts = (state: ViewState, puts: readonly Put[]): string[] =>
  puts.flatMap(({ kind, row }) => {
    const present = state.rows.get(kind)?.get(row.id)
    return present === undefined
      ? []
      : [...removedPolicies(present, row), ...removedIpPolicies(state, present, row)]
  })

/** A policy with a name stays if one of that name does; another one if an equal one does. */
function removedPolicies(present: Row, drafted: Row): string[] {
  const before = present['policies'] as Policies | null | undefined
  const after = drafted['policies'] as Policies | null | undefined
  return (['inbound', 'outbound'] as const).flatMap((side) => {
    const left = (after?.[side] ?? []).map(identity)
    return (before?.[side] ?? []).flatMap((policy, index) => {
      const found = left.indexOf(identity(policy))
      if (found !== -1) {
        left.splice(found, 1)
        return []
      }
      const name = policy.name === undefined ? '' : ` ${JSON.stringify(policy.name)}`
      return [`${side}[${index}]${name}`]
    })
  })
}

const identity = ({ enforced: _, ...policy }: Policy): string => policy.name ?? JSON.stringify(policy)

/** IP policies that the draft of a module, or of an IP restriction itself, no longer names. */
function removedIpPolicies(state: ViewState, present: Row, drafted: Row): string[] {
  const left = ipPolicyIds(drafted)
  return ipPolicyIds(present)
    .filter((id) => !left.includes(id))
    .map((id) => {
      const description = state.rows.get('ip_policy')?.get(id)?.['description']
      return `IP policy ${id}${typeof description === 'string' ? ` ${JSON.stringify(description)}` : ''}`
    })
}

const ipPolicyIds = (row: Row): readonly string[] =>
  ((row['ip_policy_ids'] ?? (row['ip_restriction'] as Module | null)?.ip_policy_ids) as
    | string[]
    | undefined) ?? []

/** Rules of a policy that are not among these. */
export async function removedRules(
  state: ViewState,
  policyId: string,
  rules: readonly { readonly id: string }[],
  slices: Slices,
): Promise<string[]> {
  const left = new Set(rules.map(({ id }) => id))
  const removed: string[] = []
  for (const chunk of [...state.chunks(policyId).values()]) {
    if (slices.isDue()) await slices.pause()
    for (const rule of chunk.rules as readonly Row[])
      if (!left.has(rule.id)) removed.push(`${String(rule['action'])} ${subjectOfRule(rule)}`)
  }
  return removed
}
