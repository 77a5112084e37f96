/** How much a bouncer bans: counted when it or a rule is saved, and again when it asks, because lists and policies grow. */
import { conflict } from '../../../ground/core/errors.js'
import { bansPerBouncerMax } from '../../../ground/core/limits.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { Lookups, PolicyBans, Row } from '../kind/define.js'

interface BanningList {
  readonly id: string
  readonly name: string
  readonly entries: number
}

interface BouncerRow {
  readonly id: string
  readonly ip_policy_ids: readonly string[]
  readonly ip_list_ids?: readonly string[] | null
}

interface BanCount {
  /** Rules and entries, before ranges that several ban are joined; each list counts once. */
  readonly bans: number
  readonly largest: BanningList | undefined
}

/** Is the rule an enforced deny rule? Earlier versions did not store whether a rule is enforced. */
export const isBan = ({ action, enforced }: Readonly<Record<string, unknown>>): boolean =>
  action === 'deny' && enforced !== false

/** `listIds`: of the bouncer itself. A list that `find` does not know has no entries. */
export function countBans(
  policies: Iterable<PolicyBans>,
  listIds: Iterable<string>,
  find: (listId: string) => BanningList | undefined,
): BanCount {
  const lists = new Set(listIds)
  let bans = 0
  for (const policy of policies) {
    bans += policy.ranges
    for (const id of policy.listIds) lists.add(id)
  }
  let largest: BanningList | undefined
  for (const id of lists) {
    const list = find(id)
    if (list === undefined) continue
    bans += list.entries
    if (list.entries > (largest?.entries ?? 0)) largest = list
  }
  return { bans, largest }
}

/** Why a bouncer has too many bans; undefined if it has not. */
export function excessOf(bouncerId: string, { bans, largest }: BanCount): string | undefined {
  if (bans <= bansPerBouncerMax) return undefined
  const culprit =
    largest && ` Its largest list is ${largest.id} ("${largest.name}"): ${largest.entries} entries.`
  return `The bouncer ${bouncerId} would have ${bans} bans: at most ${bansPerBouncerMax} deny rules and entries of IP lists are allowed.${culprit ?? ''}`
}

type RowLookups = Pick<Lookups, 'all' | 'get' | 'bansOf'>

/** A rule that begins to ban a list. */
interface RuleChange {
  readonly policyId: string
  readonly listId: string
  /** The list that it banned before. */
  readonly listIdBefore: string | undefined
}

/** Counts each policy once. */
function counterOf(lookups: RowLookups, change?: RuleChange): (bouncer: BouncerRow) => BanCount {
  const byPolicy = new Map<string, PolicyBans>()
  const bansOf = (id: string): PolicyBans => {
    const { ranges, listIds } = lookups.bansOf(id)
    if (id !== change?.policyId) return { ranges, listIds }
    // No two rules of a policy name the same list.
    const others = [...listIds].filter((each) => each !== change.listIdBefore)
    return { ranges, listIds: [...others, change.listId] }
  }
  const find = (id: string) => lookups.get('ip_list', id) as BanningList | undefined
  return ({ ip_policy_ids, ip_list_ids }) =>
    countBans(
      ip_policy_ids.map((id) => getOrMake(byPolicy, id, () => bansOf(id))),
      ip_list_ids ?? [],
      find,
    )
}

/** Throws if a bouncer would have too many bans, unless it has as many already: what makes it smaller must be allowed. */
function checkGrowth(bouncerId: string, before: BanCount | undefined, after: BanCount): void {
  const excess = excessOf(bouncerId, after)
  if (excess !== undefined && after.bans > (before?.bans ?? 0)) throw conflict(excess)
}

export function checkBansOfBouncer(
  bouncer: BouncerRow,
  previous: BouncerRow | undefined,
  lookups: RowLookups,
): void {
  const idsOf = (row: BouncerRow) => [...row.ip_policy_ids, ...(row.ip_list_ids ?? [])]
  const before = new Set(previous && idsOf(previous))
  if (idsOf(bouncer).every((id) => before.has(id))) return
  const count = counterOf(lookups)
  checkGrowth(bouncer.id, previous && count(previous), count(bouncer))
}

/**
 * Checks all bouncers of the policy if the rule begins to ban a list. Those of other rules are counted when a bouncer asks.
 */
export function checkBansOfRule(rule: Row, previous: Row | undefined, lookups: RowLookups): void {
  const [listId, listIdBefore] = [bannedList(rule), previous && bannedList(previous)]
  if (listId === undefined || listId === listIdBefore) return
  const policyId = String(rule['ip_policy_id'])
  const [before, after] = [counterOf(lookups), counterOf(lookups, { policyId, listId, listIdBefore })]
  for (const row of lookups.all('bouncer')) {
    const bouncer = row as unknown as BouncerRow
    if (bouncer.ip_policy_ids.includes(policyId)) checkGrowth(bouncer.id, before(bouncer), after(bouncer))
  }
}

const bannedList = (rule: Row): string | undefined =>
  isBan(rule) && rule['list_id'] ? String(rule['list_id']) : undefined
