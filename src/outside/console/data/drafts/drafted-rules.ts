/** Rules of an IP policy in the draft of a challenger: what is added, changed and removed, and what comes of it. */
import type { NewResource } from '../../../../words/client/kinds.js'
import type { ChallengerDraft } from '../../../../words/resource/challenger-draft.js'
import { bodyOfRule, type RuleDifference, type RuleEntry } from '../resources/rule-files.js'

type Draft = NewResource<'challenger'>['draft']

/** `difference`: of the present rules, whose ids are known, from those that are wanted. */
export function draftedRules(policyId: string, { added, removed, changed }: RuleDifference): Draft {
  const isUpdate = ({ before, after }: RuleDifference['changed'][number]): boolean =>
    before.action === after.action && !isCleared(before, after)
  const replaced = changed.filter((each) => !isUpdate(each))
  return {
    ip_policies: [
      {
        id: policyId,
        add: [...added, ...replaced.map(({ after }) => after)].map(bodyOfRule),
        change: changed
          .filter(isUpdate)
          .map(({ before, after }) => ({ id: idOf(before), ...valuesOf(after) })),
        remove: [...removed, ...replaced.map(({ before }) => before)].map(idOf),
      },
    ],
  }
}

/** A change of a draft can't take away a value: another rule takes the place of the present one. */
const isCleared = (before: RuleEntry, after: RuleEntry): boolean =>
  (['description', 'metadata', 'expires_at'] as const).some((name) => Boolean(before[name]) && !after[name])

const valuesOf = (rule: RuleEntry) => {
  const { action: _, cidr: _range, list_id: _list, ...values } = bodyOfRule(rule) as RuleEntry
  return values as { readonly enforced: boolean; readonly description?: string; readonly metadata?: string }
}

function idOf({ id }: RuleEntry): string {
  if (id === undefined) throw new Error('A present rule has an id.')
  return id
}

type Drafted = Pick<ChallengerDraft['ip_policies'][number], 'add' | 'change' | 'remove'>

/** All rules of a policy as a draft would have them, as the API takes them. */
export function withDraftedRules(present: readonly RuleEntry[], { add, change, remove }: Drafted) {
  const [removed, changes] = [new Set(remove), new Map(change.map((each) => [each.id, given(each)]))]
  const kept = present.filter(({ id = '' }) => !removed.has(id))
  return [...kept.map((rule) => ({ ...rule, ...changes.get(rule.id ?? '') })), ...add.map(given)].map(
    (rule) => bodyOfRule(rule as RuleEntry),
  )
}

/** Members that are null say nothing. */
const given = (entry: object): Partial<RuleEntry> =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null && value !== ''))
