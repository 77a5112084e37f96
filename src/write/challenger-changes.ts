/** The changes that the draft of a challenger makes: those of ordinary writes, all in one. Faults name places in the draft. */
import { EntryFaults } from '../core/entry-faults.js'
import { badRequest, conflict, notFound, shown } from '../core/errors.js'
import { rulesPerIpPolicyMax } from '../core/limits.js'
import { type DraftOwner, draftedRows, kindOfEdge, type PresentRows } from '../evaluate/drafted-rows.js'
import type { PlannedWrite } from '../evaluate/planned-configuration.js'
import type { Caller } from '../http/caller/caller.js'
import { lockoutCheck } from '../http/caller/lockout.js'
import type { DraftedRules } from '../resource/challenger-draft.js'
import { anyResource, type Row } from '../resource/define.js'
import { subjectOfRule } from '../resource/ip-policy.js'
import { ipRestriction } from '../resource/ip-restriction.js'
import { resourceOf } from '../resource/registry.js'
import type { AuditEvent, Put, Removal } from '../store/change.js'
import type { Draft, Plan } from '../store/plan.js'
import { policyKind, ruleKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'
import type { Writes } from './writes.js'

/** Throws a `WeirError` that names each fault at its place in the draft. */
export const draftChanges =
  (writes: Writes, caller: Caller, owner: DraftOwner): Plan<undefined> =>
  (state, version, at) => {
    const present = presentRows(state, caller.accountId)
    const planned = draftedRows(owner, present)
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
      checkRules(`draft.ip_policies[${index}]`, entry, present, faults)
    faults.throwIfAny()
    const rules = ruleChanges(planned, present, version)
    changes.add({ ...rules, audits: [] })
    lockoutCheck(caller, state, changes)
    return { ...changes, editedPolicies: policiesOf(rules), result: undefined }
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
  if (before === undefined) return writes.restore(caller, resource, drafted!, (path) => `${place}.${path}`)
  return writes.update(
    caller,
    resource,
    id,
    () => values,
    (path) => `${place}.${path}`,
  )
}

/** Checks the rules of a policy as they would be. */
function checkRules(
  place: string,
  { id, add, change, remove }: DraftedRules,
  present: PresentRows,
  faults: EntryFaults,
): void {
  if (present.get(policyKind, id) === undefined) {
    faults.add(`${place}.id`, missing(`${place}.id`, id))
    return
  }
  const rules = new Map([...present.rules(id)].map((rule) => [rule.id, subjectOfRule(rule)]))
  const known = (at: string, ruleId: string): boolean => {
    const isKnown = rules.has(ruleId)
    if (!isKnown) faults.add(at, notFound(`"${at}" names ${shown(ruleId)}, which is no rule of ${id}.`))
    return isKnown
  }
  for (const [at, ruleId] of remove.entries())
    if (known(`${place}.remove[${at}]`, ruleId)) rules.delete(ruleId)
  const wanted: (readonly [place: string, id: string, cidr: string])[] = []
  for (const [at, { id: ruleId, cidr }] of change.entries())
    if (known(`${place}.change[${at}].id`, ruleId) && cidr)
      wanted.push([`${place}.change[${at}].cidr`, ruleId, cidr])
  for (const [at, { id: ruleId, cidr }] of add.entries())
    if (cidr) wanted.push([`${place}.add[${at}].cidr`, ruleId, cidr])
  for (const [, ruleId] of wanted) rules.delete(ruleId)
  const byCidr = new Map([...rules].map(([ruleId, cidr]) => [cidr, ruleId]))
  for (const [at, ruleId, cidr] of wanted) {
    if (byCidr.has(cidr))
      faults.add(
        at,
        conflict(`"${at}" is "${cidr}", which another rule of ${id} has: a CIDR may occur once in a policy.`),
      )
    byCidr.set(cidr, ruleId)
  }
  if (byCidr.size > rulesPerIpPolicyMax)
    faults.add(
      place,
      conflict(
        `"${place}.add" brings the policy to ${byCidr.size} rules: ${rulesPerIpPolicyMax} are allowed.`,
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
