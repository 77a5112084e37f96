/**
 * Deletes the rules of IP policies that have expired, by ordinary writes: the history and audit events show each, and
 * nothing of it is kept. They have no effect already, because whoever builds policies leaves them out
 * (`evaluate/ip-policy.ts`), so it does no harm if this takes long or fails: it is tried again at the next look.
 *
 * Every API process does this, and each rule is deleted once: a plan is made against the account's present state, and one
 * that finds nothing expired changes nothing.
 */
import type { AgeClock } from '../../ground/core/age-clock.js'
import { every, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import { Slices } from '../../ground/core/slices.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { ipPolicyRule, isExpiredRule } from '../../words/resource/ip-policy.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import type { Principal } from '../store/change/change.js'
import { type Plan, type RulesPlan, unchanged } from '../store/change/plan.js'
import type { Store } from '../store/store.js'
import type { Writes } from '../write/writes.js'

const lookMs = 5_000
/** Each of so few rules is a change of its own; more in one policy are one replacement, which writes all that are left. */
const deletedAloneMax = 100
/** Policies that are cleaned up at one look. */
const policiesPerLookMax = 50

const byExpiry: Principal = { source: 'EXPIRY', credentialId: null }

interface ExpiredRulesParts {
  readonly store: Pick<Store, 'commit' | 'replaceRules' | 'refusal'> & {
    readonly view: { readonly state: ViewState }
  }
  readonly writes: Pick<Writes, 'delete'>
  readonly occurrences: Pick<Occurrences, 'rulesExpired' | 'expiredRulesKept'>
  /** Deleted rules do not come back when a clock that was ahead is set right. */
  readonly ages: Pick<AgeClock, 'now'>
}

/** When the first rule of a policy expires, for the rules in this version. */
interface FirstExpiry {
  readonly version: number
  readonly expiresMs: number
}

export class ExpiredRules {
  readonly #parts: ExpiredRulesParts
  readonly #timer: Timer
  #state: ViewState | undefined
  #first: ReadonlyMap<string, FirstExpiry> = new Map()
  #isClosed = false

  constructor(parts: ExpiredRulesParts) {
    this.#parts = parts
    this.#timer = every(lookMs, () => this.look())
  }

  /** Deletes what has expired, or a part of it if there is very much. */
  async look(): Promise<void> {
    const { occurrences, store } = this.#parts
    if (store.refusal !== undefined) return
    for (const policy of (await this.#due()).slice(0, policiesPerLookMax)) {
      if (this.#isClosed) return
      try {
        const rules = await this.#clean(policy)
        if (rules > 0)
          occurrences.rulesExpired({ account_id: policy.account_id, ip_policy_id: policy.id, rules })
      } catch (error) {
        occurrences.expiredRulesKept({ ip_policy_id: policy.id, reason: messageOf(error) })
      }
    }
  }

  /** Policies with rules that have expired. Only rules that have changed are read again. */
  async #due(): Promise<Row[]> {
    const { state } = this.#parts.store.view
    const known = state === this.#state ? this.#first : new Map<string, FirstExpiry>()
    const first = new Map<string, FirstExpiry>()
    const due: Row[] = []
    const slices = new Slices()
    for (const policy of state.rows.get(policyKind)?.values() ?? []) {
      if (slices.isDue()) await slices.pause()
      const rules = state.rules(policy.id)
      if (rules === undefined) continue
      const before = known.get(policy.id)
      const { version } = rules
      const expiresMs =
        before?.version === version ? before.expiresMs : await firstExpiry(rules.rules, slices)
      first.set(policy.id, { version, expiresMs })
      if (expiresMs <= this.#parts.ages.now()) due.push(policy)
    }
    this.#state = state
    this.#first = first
    return due
  }

  /** Resolves with the number of rules that were deleted. */
  async #clean({ id: policyId, account_id: accountId }: Row): Promise<number> {
    const { store } = this.#parts
    const expired: string[] = []
    for (const rule of store.view.state.rules(policyId)?.rules ?? [])
      if (isExpiredRule(rule, this.#parts.ages.now())) expired.push(rule.id)
    if (expired.length > deletedAloneMax)
      return store.replaceRules(accountId, byExpiry, policyId, this.#withoutExpired(policyId))
    // They wait together, so they are committed together.
    const deleted = await Promise.all(
      expired.map((id) => store.commit(accountId, byExpiry, this.#deletionOf(accountId, id))),
    )
    return deleted.filter(Boolean).length
  }

  /** Another process may have deleted the rule, or someone may have given it more time. */
  #deletionOf(accountId: string, id: string): Plan<boolean> {
    const caller: Caller = { accountId, principal: byExpiry, address: undefined }
    const deletion = this.#parts.writes.delete(caller, anyResource(ipPolicyRule), id)
    return (state, version, at) => {
      const rule = state.rows.get(ruleKind)?.get(id)
      if (rule === undefined || !isExpiredRule(rule, this.#parts.ages.now())) return unchanged(false)
      return { ...deletion(state, version, at), result: true }
    }
  }

  #withoutExpired(policyId: string): RulesPlan<number> {
    return async (state) => {
      const rules: Row[] = []
      let expired = 0
      const slices = new Slices()
      for (const chunk of [...state.chunks(policyId).values()]) {
        if (slices.isDue()) await slices.pause()
        for (const rule of chunk.rules) {
          if (isExpiredRule(rule, this.#parts.ages.now())) expired += 1
          else rules.push(rule)
        }
      }
      return { rules, isChange: expired > 0, result: expired }
    }
  }

  close(): void {
    this.#isClosed = true
    this.#timer.stop()
  }
}

async function firstExpiry(
  rules: Iterable<{ readonly expires_at?: string | null }>,
  slices: Slices,
): Promise<number> {
  let first: string | undefined
  for (const { expires_at } of rules) {
    if (slices.isDue()) await slices.pause()
    // Times are stored in UTC with whole seconds, so they compare as texts.
    if (expires_at && (first === undefined || expires_at < first)) first = expires_at
  }
  return first === undefined ? Number.POSITIVE_INFINITY : Date.parse(first)
}
