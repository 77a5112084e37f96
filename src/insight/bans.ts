/**
 * What a bouncer enforces: the deny rules of its IP policies, once per range, and how they differ from those it got before.
 *
 * Bans are built when they are asked for, and shared until a rule of the policies changes or expires. What a bouncer has is
 * known by the version of the account that it got, which is stored in NATS (`http/caller/key-uses.ts`): so any API process
 * can say what was added and deleted since, also after a restart. Without the bans of that version in memory, they are read
 * from ClickHouse.
 */
import { now } from '../core/clock.js'
import { Slices } from '../core/slices.js'
import type { IpRule } from '../evaluate/policy-source.js'
import { isEnforced } from '../evaluate/policy-source.js'
import type { Pull } from '../http/caller/key-uses.js'
import type { Row } from '../resource/define.js'
import { isExpiredRule } from '../resource/ip-policy.js'
import type { DeclaredRow } from '../resource/registry.js'
import type { PastRows } from '../store/history/past-rows.js'
import { policyKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'

/** Sets of bans that are kept for others; the one that was asked for longest ago is dropped for another. */
const bansKeptMax = 64

/** A deny rule with a range of its own: rules that name a list are left out. */
export type Ban = IpRule & { readonly cidr: string }

const isBan = (rule: IpRule): rule is Ban =>
  rule.action === 'deny' && typeof rule.cidr === 'string' && isEnforced(rule)

/** Ranges, each with the rule that bans it longest. */
export interface Bans {
  readonly rules: ReadonlyMap<string, Ban>
  /** When the first of them expires; infinite if none does. */
  readonly expiresMs: number
}

interface BansDifference {
  readonly added: readonly Ban[]
  readonly deleted: readonly Ban[]
}

interface Kept {
  readonly state: ViewState
  readonly stamps: string
  readonly bans: Promise<Bans>
  isLasting: () => boolean
}

export class BansOfAccounts {
  readonly #pastRows: Pick<PastRows, 'at'>
  readonly #kept = new Map<string, Kept>()

  constructor(pastRows: Pick<PastRows, 'at'>) {
    this.#pastRows = pastRows
  }

  /** The bans of policies as they are. The same object as before, if nothing has changed. */
  of(state: ViewState, accountId: string, policyIds: readonly string[]): Promise<Bans> {
    const own = policyIds.filter((id) => state.rows.get(policyKind)?.get(id)?.account_id === accountId)
    const key = policyIds.join(' ')
    const stamps = own.map((id) => `${id} ${state.rules(id)?.version ?? 0}`).join(' ')
    const before = this.#kept.get(key)
    this.#kept.delete(key)
    const isCurrent = before?.state === state && before.stamps === stamps && before.isLasting()
    const kept = isCurrent ? before : keptOf(state, stamps, bansIn(rulesIn(state, own), now()))
    this.#kept.set(key, kept)
    if (this.#kept.size > bansKeptMax) this.#kept.delete(this.#kept.keys().next().value!)
    return kept.bans
  }

  /** The bans of then; those that have expired meanwhile are among them. */
  async at(accountId: string, { version, policyIds }: Pick<Pull, 'version' | 'policyIds'>): Promise<Bans> {
    const rules = await this.#pastRows.at(accountId, version, 'ip_policy_rule', 'ip_policy_id', [
      ...policyIds,
    ])
    return bansIn(rules, 0)
  }
}

function keptOf(state: ViewState, stamps: string, building: Promise<Bans>): Kept {
  let expiresMs = Number.POSITIVE_INFINITY
  const bans = building.then((built) => {
    expiresMs = built.expiresMs
    return built
  })
  return { state, stamps, bans, isLasting: () => expiresMs > now() }
}

/** Chunks never change, but others take their place meanwhile: these are the present ones. */
function rulesIn(state: ViewState, policyIds: readonly string[]): Iterable<IpRule> {
  const chunks = policyIds.flatMap((id) => [...state.chunks(id).values()])
  return (function* () {
    for (const { rules } of chunks) yield* rules as readonly Row[] as readonly DeclaredRow<'ip_policy_rule'>[]
  })()
}

async function bansIn(rules: Iterable<IpRule>, nowMs: number): Promise<Bans> {
  const found = new Map<string, Ban>()
  const slices = new Slices()
  let first: string | undefined
  for (const rule of rules) {
    if (slices.isDue()) await slices.pause()
    if (!isBan(rule) || isExpiredRule(rule, nowMs)) continue
    const { cidr, expires_at } = rule
    if (expires_at && (first === undefined || expires_at < first)) first = expires_at
    const other = found.get(cidr)
    if (other === undefined || lastsLonger(rule, other)) found.set(cidr, rule)
  }
  return { rules: found, expiresMs: first === undefined ? Number.POSITIVE_INFINITY : Date.parse(first) }
}

const lastsLonger = ({ expires_at }: IpRule, other: IpRule): boolean =>
  Boolean(other.expires_at) && (!expires_at || expires_at > other.expires_at!)

/**
 * What is different from any of the bans that someone may have; a ban with another end or reason is new, which replaces it.
 */
export async function differenceOf(before: readonly Bans[], after: Bans): Promise<BansDifference> {
  const others = before.filter((bans) => bans !== after)
  const slices = new Slices()
  const added: Ban[] = []
  const deleted = new Map<string, Ban>()
  if (others.length === 0) return { added, deleted: [] }
  for (const [cidr, rule] of after.rules) {
    if (slices.isDue()) await slices.pause()
    const isThere = ({ rules }: Bans) => rules.has(cidr) && isSame(rules.get(cidr)!, rule)
    if (!others.every(isThere)) added.push(rule)
  }
  for (const { rules } of others) {
    for (const [cidr, rule] of rules) {
      if (slices.isDue()) await slices.pause()
      if (!after.rules.has(cidr)) deleted.set(cidr, rule)
    }
  }
  return { added, deleted: [...deleted.values()] }
}

const isSame = (one: IpRule, other: IpRule): boolean =>
  one === other ||
  (one.id === other.id &&
    (one.expires_at ?? null) === (other.expires_at ?? null) &&
    (one.description ?? '') === (other.description ?? ''))
