/**
 * Would a planned write lock an address out of the management of an account? Only this address is asked about, so no set is
 * built: the rules of the restriction's policies, and the entries of the lists that they name, are compared with it one by
 * one, in slices.
 */
import { cidrContains, parseCidr } from '../../ground/core/address/cidr.js'
import { type Address, parseAddress } from '../../ground/core/address/ip.js'
import { entryOf, linesIn } from '../../ground/core/address/list-entry.js'
import type { Slices } from '../../ground/core/slices.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import { listKind } from '../../words/view/list-chunks.js'
import type { Restriction } from './ip-restriction.js'
import { PlannedConfiguration, type PlannedWrite } from './planned-configuration.js'
import { type ConfigurationSource, type IpRule, isEnforced, type RestrictionType } from './policy-source.js'

/** The account's present configuration, and how the address came. */
interface WayIn {
  readonly present: ConfigurationSource
  /** The restrictions that count: the first that is enforced. */
  readonly types: readonly RestrictionType[]
  readonly address: string
  readonly nowMs: number
  readonly slices: Slices
}

interface Lockout {
  /** The restriction that would refuse the address. */
  readonly restriction: Restriction
  /** `expiry`: once the rules and entries that let it in have expired. */
  readonly when: 'at once' | 'expiry'
}

/** Undefined if the address is still let in after the write, or if the write has no part in that. */
export async function lockoutBy(write: PlannedWrite, wayIn: WayIn): Promise<Lockout | undefined> {
  const { present, types } = wayIn
  const after = new PlannedConfiguration(present, write)
  const restriction = enforcedIn(after, types)
  if (restriction === undefined || !concerns(write, restriction)) return undefined
  const reach = await reachOf(after, restriction, wayIn)
  if (!reach.now) return { restriction, when: 'at once' }
  if (reach.lasting) return undefined
  // An address that is let in for a while may go on making changes.
  const before = enforcedIn(present, types)
  const isNew = before === undefined || (await reachOf(present, before, wayIn)).lasting
  return isNew ? { restriction, when: 'expiry' } : undefined
}

function enforcedIn(source: ConfigurationSource, types: readonly RestrictionType[]): Restriction | undefined {
  const restrictions = [...source.rowsOf('ip_restriction')]
  return types
    .map((type) => restrictions.find((row) => row.type === type))
    .find((restriction) => restriction?.enforced === true)
}

/** Can the write change whom the restriction lets in? A list may be named by any rule of its policies. */
function concerns({ puts, removals, rules }: PlannedWrite, { ip_policy_ids }: Restriction): boolean {
  const named = new Set<unknown>(ip_policy_ids)
  if (named.has(rules?.policyId)) return true
  return [...puts, ...removals].some(
    ({ kind, row }) =>
      kind === 'ip_restriction' ||
      kind === listKind ||
      (kind === ruleKind && named.has(row['ip_policy_id'])) ||
      (kind === policyKind && named.has(row.id)),
  )
}

interface Reach {
  /** Is the address let in now? */
  readonly now: boolean
  /** Is it let in when all that expires has expired? */
  readonly lasting: boolean
}

async function reachOf(
  source: ConfigurationSource,
  { ip_policy_ids }: Restriction,
  { address, nowMs, slices }: WayIn,
): Promise<Reach> {
  const parsed = parseAddress(address)
  const now = { allow: false, deny: false }
  const lasting = { allow: false, deny: false }
  for (const id of ip_policy_ids) {
    // A copy, because rules change during a pause.
    for (const rule of [...(source.rules(id)?.rules ?? [])]) {
      if (slices.isDue()) await slices.pause()
      if (!isEnforced(rule)) continue
      const untilMs = await matchesUntil(source, rule, parsed, slices)
      if (untilMs > nowMs) now[rule.action] = true
      if (untilMs === Number.POSITIVE_INFINITY) lasting[rule.action] = true
    }
  }
  return { now: now.allow && !now.deny, lasting: lasting.allow && !lasting.deny }
}

/** When the rule ceases to match the address: infinite if it always will, 0 if it does not. */
async function matchesUntil(
  source: ConfigurationSource,
  { cidr, list_id, expires_at }: IpRule,
  address: Address,
  slices: Slices,
): Promise<number> {
  const ruleEndsMs = expires_at ? Date.parse(expires_at) : Number.POSITIVE_INFINITY
  if (!list_id) return contains(cidr, address) ? ruleEndsMs : 0
  return Math.min(ruleEndsMs, await listedUntil(source, list_id, address, slices))
}

/** When the last entry of a list that contains the address ends; 0 if none contains it. */
async function listedUntil(
  source: ConfigurationSource,
  listId: string,
  address: Address,
  slices: Slices,
): Promise<number> {
  let untilMs = 0
  const list = [...source.rowsOf(listKind)].find(({ id }) => id === listId)
  const parts = (list?.chunks ?? []).map((id) => source.listText?.(id))
  for (const read of parts) {
    for (const line of linesIn(read?.() ?? '')) {
      if (slices.isDue()) await slices.pause()
      const { cidr, expiresAt } = entryOf(line)
      if (contains(cidr, address)) untilMs = Math.max(untilMs, expiresAt ?? Number.POSITIVE_INFINITY)
    }
    if (untilMs === Number.POSITIVE_INFINITY) break
  }
  return untilMs
}

function contains(text: unknown, address: Address): boolean {
  const cidr = parseCidr(text, { hostBits: 'allow' })
  return cidr.ok && cidrContains(cidr.value, address)
}
