/**
 * When the parts of an explanation were added, and in which versions: rules have rows of their own; a traffic policy and a
 * module are found in the versions of the edge or route that has them.
 */
import { isoMillis } from '../../ground/core/clock.js'
import { ipPolicyRule } from '../../words/resource/ip-policy.js'
import type { AnyResource } from '../../words/resource/kind/define.js'
import { resources } from '../../words/resource/registry.js'
import type { Addition } from '../../words/shape/decisions/change-schema.js'
import type { Explanation } from '../../words/shape/decisions/decision.js'
import type { PastRows } from '../store/history/past-rows.js'

/** Versions of an edge or route that are looked at: its policies may have 64 KiB in each. */
const versionsMax = 100

export type StoredAddition = Omit<Addition, 'by_description'>

interface Additions {
  /** When the part that decided was added; null if that is not known. */
  readonly decider: StoredAddition | null
  /** When each rule that won was added, by the ids of the rules. */
  readonly rules: ReadonlyMap<string, StoredAddition>
}

/** The configuration of an account at one of its versions. */
interface Past {
  readonly pastRows: Pick<PastRows, 'created' | 'values'>
  readonly accountId: string
  readonly version: number
}

export async function additionsOf(past: Past, explanation: Explanation): Promise<Additions> {
  const won = explanation.ip_policies
    .flatMap(({ rules }) => rules)
    .flatMap(({ won, rule_id }) => (won ? [rule_id] : []))
  const [rules, other] = await Promise.all([
    won.length === 0 ? new Map() : created(past, ipPolicyRule.kind, won),
    otherPart(past, explanation),
  ])
  return { decider: other ?? rules.get(explanation.decided_by.rule_id ?? '') ?? null, rules }
}

/** The addition of a part that decided without a rule; undefined if a rule decided or nothing did, or it is not known. */
async function otherPart(past: Past, explanation: Explanation): Promise<StoredAddition | undefined> {
  const { type, id, rule_id } = explanation.decided_by
  const resource = resources.find(({ idPrefix }) => id?.startsWith(idPrefix))
  if (resource === undefined || id === null || rule_id !== null) return undefined
  if (type === 'restriction') return (await created(past, resource.kind, [id])).get(id)
  const module = type === 'traffic_policy' ? policyIn(explanation) : restriction
  return module && firstWith(past, resource, id, module)
}

async function created(
  { pastRows, accountId, version }: Past,
  kind: string,
  ids: readonly string[],
): Promise<Map<string, StoredAddition>> {
  const found = await pastRows.created(accountId, kind, ids, version)
  return new Map(found.map(({ id, ...change }) => [id, { ...shown(change), earlier: false }]))
}

/** When these rules were added, and by whom, by their ids. */
export const rulesAdded = (past: Past, ids: readonly string[]): Promise<Map<string, StoredAddition>> =>
  created(past, ipPolicyRule.kind, ids)

const shown = ({ version, at, by }: { version: number; at: number; by: string }) => ({
  at: isoMillis(at),
  by,
  version,
})

/** A module of an edge or route, and whether its value has the part. */
interface Module {
  readonly name: string
  readonly holds: (value: unknown) => boolean
}

/** The first of the versions without a gap that hold the part. */
async function firstWith(
  { pastRows, accountId, version }: Past,
  resource: AnyResource,
  id: string,
  { name, holds }: Module,
): Promise<StoredAddition | undefined> {
  const field = { resource, id, name }
  const { values, isComplete } = await pastRows.values(accountId, field, version, versionsMax)
  const without = values.findIndex(({ value }) => !holds(value))
  const first = without === -1 ? values.at(-1) : values[without - 1]
  if (first === undefined) return undefined
  // The versions before may have had it, too.
  if (without === -1 && !isComplete)
    return { at: isoMillis(first.at), by: null, version: first.version, earlier: true }
  return { ...shown(first), earlier: false }
}

interface StoredPolicy {
  readonly name?: string | null
  readonly expressions: readonly string[]
  readonly enforced?: boolean
}
type Policies = Readonly<Record<'inbound' | 'outbound', readonly StoredPolicy[]>> | null

/** The policy that denied, in its present form: enforced, with this name, or without one, and with these expressions. */
function policyIn({ policies }: Explanation): Module | undefined {
  const denied = policies.find(({ applied, actions }) => applied && actions.includes('deny'))
  if (denied === undefined) return undefined
  const { direction, policy, expressions } = denied
  const texts = JSON.stringify(expressions.map(({ expression }) => expression))
  const isUnnamed = policy.startsWith(`${direction}[`)
  return {
    name: 'policies',
    holds: (value) =>
      ((value as Policies | undefined)?.[direction] ?? []).some(
        ({ name, expressions, enforced }) =>
          enforced !== false &&
          (name === policy || (isUnnamed && !name)) &&
          JSON.stringify(expressions) === texts,
      ),
  }
}

const restriction: Module = {
  name: 'ip_restriction',
  holds: (value) => (value as { readonly enabled: boolean } | null | undefined)?.enabled === true,
}
