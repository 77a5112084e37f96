/** How much a bouncer bans: counted when it is saved, and again when it asks, because lists and policies grow. */
import { conflict } from '../../core/errors.js'
import { bansPerBouncerMax } from '../../core/limits.js'
import type { Lookups, Row } from '../define.js'

interface BouncerRow {
  readonly id: string
  readonly ip_policy_ids: readonly string[]
  readonly ip_list_ids?: readonly string[] | null
}

type RowLookups = Pick<Lookups, 'all' | 'get' | 'rules'>

const isBan = ({ action, enforced }: Row): boolean => action === 'deny' && enforced !== false

/** Throws if the deny rules and the entries of the lists of a bouncer are more than one may have. `added`: a rule that is saved. */
export function checkBanCount(bouncer: BouncerRow, lookups: RowLookups, added?: Row): void {
  const listIds = new Set(bouncer.ip_list_ids ?? [])
  let count = 0
  const addRule = (rule: Row): void => {
    if (!isBan(rule)) return
    if (rule['list_id']) listIds.add(String(rule['list_id']))
    else count += 1
  }
  for (const id of bouncer.ip_policy_ids) for (const rule of lookups.rules(id)) addRule(rule)
  if (added !== undefined) addRule(added)
  for (const id of listIds) count += Number(lookups.get('ip_list', id)?.['entries'] ?? 0)
  if (count > bansPerBouncerMax)
    throw conflict(
      `The bouncer ${bouncer.id} would have ${count} bans: at most ${bansPerBouncerMax} deny rules and entries of IP lists are allowed.`,
    )
}

/** The same for all bouncers of the policy in which a rule is saved. */
export function checkBansOfRule(rule: Row, lookups: RowLookups): void {
  for (const row of lookups.all('bouncer')) {
    const bouncer = row as unknown as BouncerRow
    if (bouncer.ip_policy_ids.includes(String(rule['ip_policy_id']))) checkBanCount(bouncer, lookups, rule)
  }
}
