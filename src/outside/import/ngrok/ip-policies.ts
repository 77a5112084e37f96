/** IP policies with their rules, what names them, and restrictions. */
import { canonicalRange } from '../../../ground/core/address/list-entry.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { complaintAboutRule } from '../draft/draft-account.js'
import type { ImportRun } from '../draft/import-run.js'
import { type Item, idIn } from '../draft/item.js'

export const describedIn = (item: Item): Record<string, unknown> => ({
  description: item.get('description'),
  metadata: item.get('metadata'),
})

export function readIpPolicies(run: ImportRun, policies: readonly Item[], rules: readonly Item[]): void {
  const byPolicy = new Map<string, Item[]>()
  for (const rule of rules)
    getOrMake(byPolicy, rule.reference('ip_policy') ?? '', (): Item[] => []).push(rule)
  for (const policy of policies) {
    const own = byPolicy.get(policy.id) ?? []
    const taken = rulesOf(own)
    const isTaken = run.account.add('ipPolicy', policy, policy.id, describedIn(policy), {
      rules: taken.map(({ body }) => body),
    })
    for (const { items } of taken)
      for (const item of items)
        if (isTaken) item.become(policy.made!)
        else item.refuse('Its ip_policy is not taken.')
    byPolicy.delete(policy.id)
  }
  for (const [id, orphans] of byPolicy)
    for (const rule of orphans)
      rule.refuse(id === '' ? 'It names no IP policy.' : `The IP policy ${id} is not in the input.`)
}

interface TakenRule {
  readonly body: Readonly<Record<string, unknown>>
  /** Those that are one rule in Weir, where a range is in a policy once. */
  readonly items: readonly Item[]
}

interface ReadRule {
  readonly item: Item
  readonly body: Readonly<Record<string, unknown>>
}

/** A deny rule decides over an allow rule of the same range, there and here. */
function rulesOf(items: readonly Item[]): TakenRule[] {
  const byRange = new Map<unknown, ReadRule[]>()
  for (const item of items) {
    const body = ruleIn(item)
    if (body !== undefined) getOrMake(byRange, body['cidr'], (): ReadRule[] => []).push({ item, body })
  }
  return [...byRange.values()].map((same) => {
    const deciding = same.find(({ body }) => body['action'] === 'deny') ?? same[0]!
    for (const other of same)
      if (other !== deciding)
        other.item.change(
          other.body['action'] === deciding.body['action']
            ? `The policy has its range twice: it is one rule with ${deciding.item.name}.`
            : `It had no effect, as ${deciding.item.name} denies the same range, and is left out.`,
        )
    return { body: deciding.body, items: same.map(({ item }) => item) }
  })
}

function ruleIn(item: Item): ReadRule['body'] | undefined {
  const [given, action] = [item.get('cidr'), item.get('action')]
  const range = canonicalRange(given)
  const body = { ...describedIn(item), cidr: range.ok ? range.value : given, action }
  const complaint = range.ok ? complaintAboutRule(body) : range.problem.msg
  if (complaint !== undefined) {
    item.refuse(complaint)
    return undefined
  }
  if (given !== body.cidr && given !== withoutPrefix(String(body.cidr)))
    item.change(`Its range ${String(given)} is written as ${String(body.cidr)}.`)
  return body
}

const withoutPrefix = (cidr: string): string => cidr.slice(0, cidr.lastIndexOf('/'))

/** The module of an edge or a route. */
export interface IpRestriction {
  readonly enabled: unknown
  readonly ip_policy_ids: readonly string[]
}

/**
 * The ids of the IP policies that a module or restriction names. One that is not in the input counts as a policy without
 * rules, as a deleted one does: it lets no one in, and without it the module would let everyone in.
 */
export function namedPolicies(run: ImportRun, named: readonly unknown[]): string[] {
  const ids = named.flatMap((each) => idIn(each) ?? [])
  for (const id of ids) {
    if (run.account.has(id)) continue
    run.account.make('ipPolicy', id, { description: `${id}, which was not in the import` })
    run.remark(
      `The IP policy ${id} is named and not in the input: it is a policy without rules, which lets no one in.`,
    )
  }
  return [...new Set(ids)]
}

/** The module `ip_restriction`; undefined if it names no policy. */
export function ipRestrictionIn(run: ImportRun, item: Item): IpRestriction | undefined {
  const enabled = item.get('enabled') ?? true
  const ids = namedPolicies(run, item.list('ip_policies'))
  if (ids.length > 0) return { enabled, ip_policy_ids: ids }
  item.refuse('It names no IP policy.')
  return undefined
}

export function readIpRestriction(run: ImportRun, item: Item): void {
  const type = item.get('type')
  const id = `ip_restriction ${String(type)}`
  if (run.account.has(id)) {
    item.refuse(`An account has one restriction of the type ${String(type)}.`)
    return
  }
  const ids = namedPolicies(run, item.list('ip_policies'))
  const body = { ...describedIn(item), type, enforced: item.get('enforced'), ip_policy_ids: ids }
  if (!run.account.add('ipRestriction', item, id, body)) return
  if (type === 'api')
    item.change("It guards Weir's API: weir apply is refused if it would shut out the caller.")
  if (type === 'dashboard') item.change("It guards Weir's console in place of the dashboard.")
}
