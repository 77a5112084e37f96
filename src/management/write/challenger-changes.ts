/**
 * The changes that the draft of a challenger makes: those of ordinary writes, all in one. Faults name places in the draft.
 */
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { badRequest, conflict, notFound, shown } from '../../ground/core/errors.js'
import { rulesPerIpPolicyMax } from '../../ground/core/limits.js'
import { type DraftOwner, draftedRows, type PresentRows } from '../../judging/evaluate/drafted-rows.js'
import type { PlannedWrite } from '../../judging/evaluate/planned-configuration.js'
import { type DraftedRules, kindOfEdge } from '../../words/resource/challenger-draft.js'
import { checkSubject, isExpiredRule, type Subject, subjectOfRule } from '../../words/resource/ip-policy.js'
import { ipRestriction } from '../../words/resource/ip-restriction.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import { lockoutGuard } from '../access/lockout-guard.js'
import type { AuditEvent, Put, Removal } from '../store/change/change.js'
import type { Draft, Plan } from '../store/change/plan.js'
import type { Writes } from './writes.js'

/** Throws a `WeirError` that names each fault at its place in the draft. */
export const draftChanges =
  (writes: Writes, caller: Caller, owner: DraftOwner): Plan<undefined> =>
  (state, version, at) => {
    const present = presentRows(state, caller.accountId)
    const planned = draftedRows(owner, present, at)
    const faults = new EntryFaults()
    const changes = new Changes()
    const add = (place: string, plan: Plan<unknown>): void =>
      faults.check(place, () => changes.add(plan(state, version, at)))
    const { edges, routes } = owner.draft
    for (const [list, entries] of Object.entries({ edges, routes })) {
      for (const [index, { id, ...modules }] of entries.entries()) {
        const place = `draft.${list}[${index}]`
        const nameInBody = (path: string) => `${place}.${path}`
        const kind = kindOfEdge(id)
        if (present.get(kind, id) === undefined) faults.add(`${place}.id`, missing(`${place}.id`, id))
        else
          add(
            place,
            writes.update(caller, resourceOf(kind), id, () => modules, nameInBody),
          )
      }
    }
    for (const [index, { id, ...values }] of owner.draft.ip_restrictions.entries()) {
      const place = `draft.ip_restrictions[${index}]`
      const row = planned.puts.find((put) => put.row.id === id)?.row
      const plan = () => restrictionPlan(writes, caller, place, present, id, values, row)
      faults.check(place, () => add(place, plan()))
    }
    for (const [index, entry] of owner.draft.ip_policies.entries())
      checkRules(`draft.ip_policies[${index}]`, entry, present, at, faults)
    faults.throwIfAny()
    const rules = ruleChanges(planned, present, version)
    changes.add({ ...rules, audits: [] })
    return { ...changes, editedPolicies: policiesOf(rules), ...lockoutGuard(caller), result: undefined }
  }

class Changes {
  readonly puts: Put[] = []
  readonly removals: Removal[] = []
  readonly audits: AuditEvent[] = []

  add({ puts, removals, audits }: Pick<Draft<unknown>, 'puts' | 'removals' | 'audits'>): void {
    this.puts.push(...puts)
    this.removals.push(...removals)
    this.audits.push(...audits)
  }
}

const presentRows = (state: ViewState, accountId: string): PresentRows => ({
  get: (kind, id) => {
    const row = state.rows.get(kind)?.get(id)
    return row?.account_id === accountId ? row : undefined
  },
  rules: (ipPolicyId) => state.rules(ipPolicyId)?.rules ?? [],
})

const missing = (place: string, id: string) =>
  notFound(`"${place}" names ${shown(id)}, which does not exist.`)

function restrictionPlan(
  writes: Writes,
  caller: Caller,
  place: string,
  present: PresentRows,
  id: string,
  values: Readonly<Record<string, unknown>>,
  drafted: Row | undefined,
): Plan<unknown> {
  const resource = anyResource(ipRestriction)
  const before = present.get(resource.kind, id)
  if (before === undefined && drafted === undefined) throw missing(`${place}.id`, id)
  if (before === undefined && values['ip_policy_ids'] === undefined)
    throw badRequest(`"${place}.ip_policy_ids" is required for a new IP restriction.`)
  // Others decide about no record.
  if (before !== undefined && before['type'] !== 'endpoints')
    throw badRequest(
      `"${place}.id" names ${id}, a restriction of the type ${shown(before['type'])}: only those of the type "endpoints" decide about records.`,
    )
  if (before === undefined)
    return writes.restore(caller, resource, drafted!, { nameInBody: (path) => `${place}.${path}` })
  return writes.update(
    caller,
    resource,
    id,
    () => values,
    (path) => `${place}.${path}`,
  )
}

interface WantedSubject {
  /** In the draft: of the range or the list. */
  readonly place: string
  readonly ruleId: string
  readonly subject: string
}

/** Checks the rules of a policy as they would be. */
function checkRules(
  place: string,
  entry: DraftedRules,
  present: PresentRows,
  nowMs: number,
  faults: EntryFaults,
): void {
  const { id, add, change, remove } = entry
  if (present.get(policyKind, id) === undefined) {
    faults.add(`${place}.id`, missing(`${place}.id`, id))
    return
  }
  const lasting = [...present.rules(id)].filter((rule) => !isExpiredRule(rule, nowMs))
  const rules = new Map(lasting.map((rule) => [rule.id, rule]))
  const known = (at: string, ruleId: string): Row | undefined => {
    const rule = rules.get(ruleId)
    if (rule === undefined)
      faults.add(at, notFound(`"${at}" names ${shown(ruleId)}, which is no rule of ${id}.`))
    return rule
  }
  const wanted: WantedSubject[] = []
  const want = (at: string, rule: Subject, ruleId: string): void => {
    faults.check(at, () => checkSubject(rule, `${at}.`))
    const name = rule.list_id ? 'list_id' : 'cidr'
    if (rule.list_id && present.get('ip_list', rule.list_id) === undefined)
      faults.add(`${at}.list_id`, missing(`${at}.list_id`, rule.list_id))
    wanted.push({ place: `${at}.${name}`, ruleId, subject: subjectOfRule(rule) })
  }
  for (const [at, ruleId] of remove.entries())
    if (known(`${place}.remove[${at}]`, ruleId)) rules.delete(ruleId)
  for (const [at, { id: ruleId, ...values }] of change.entries()) {
    const rule = known(`${place}.change[${at}].id`, ruleId)
    if (rule && ('cidr' in values || 'list_id' in values))
      want(`${place}.change[${at}]`, { ...(rule as Subject), ...values }, ruleId)
  }
  for (const [at, rule] of add.entries()) want(`${place}.add[${at}]`, rule, rule.id)
  for (const { ruleId } of wanted) rules.delete(ruleId)
  const bySubject = new Map([...rules].map(([ruleId, rule]) => [subjectOfRule(rule), ruleId]))
  for (const { place: at, ruleId, subject } of wanted) {
    const what = at.endsWith('.list_id') ? 'list' : 'CIDR'
    if (bySubject.has(subject))
      faults.add(
        at,
        conflict(
          `"${at}" is "${subject}", which another rule of ${id} has: a ${what} may occur once in a policy.`,
        ),
      )
    bySubject.set(subject, ruleId)
  }
  if (bySubject.size > rulesPerIpPolicyMax)
    faults.add(
      place,
      conflict(
        `"${place}.add" brings the policy to ${bySubject.size} rules: ${rulesPerIpPolicyMax} are allowed.`,
      ),
    )
}

/** The rules that are stored and removed; those that stay the same are not. */
function ruleChanges({ puts, removals }: PlannedWrite, present: PresentRows, version: number) {
  const isRule = ({ kind }: { readonly kind: string }): boolean => kind === ruleKind
  return {
    puts: puts.filter(isRule).flatMap(({ kind, row }): Put[] => {
      const before = present.get(kind, row.id)
      if (before !== undefined && JSON.stringify(before) === JSON.stringify(row)) return []
      return [{ kind, row: { ...row, version }, isNew: before === undefined }]
    }),
    removals: removals.filter(isRule) as Removal[],
  }
}

const policiesOf = ({ puts, removals }: ReturnType<typeof ruleChanges>): string[] => [
  ...new Set([...puts, ...removals].map(({ row }) => String(row['ip_policy_id']))),
]
