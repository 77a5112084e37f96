/** Forms of rules: add one, change one. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../../../words/client/kinds.js'
import { now } from '../../data/clock.js'
import { parameter } from '../../data/location.js'
import { endIn } from '../../data/texts/moments.js'
import { ChoiceField, TextField } from '../../kit/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import {
  EndField,
  EnforcedField,
  hasSubject,
  Overlapping,
  PolicyField,
  SubjectFields,
  type SubjectSignals,
  subjectBody,
} from './rule-fields.js'

interface AddRuleProps {
  /** Undefined: it is chosen in the form. */
  readonly policyId?: string
  readonly onClose: (isDone: boolean) => void
}

function useSubject({
  cidr,
  list,
}: {
  readonly cidr?: string | null
  readonly list?: { readonly id: string } | null
}): SubjectSignals {
  return {
    about: useSignal(list == null ? 'range' : 'list'),
    cidr: useSignal(cidr ?? ''),
    list: useSignal(list?.id ?? ''),
  }
}

const actionChoices = [
  ['deny', 'deny: it is blocked'],
  ['allow', 'allow: it is let in, unless a deny rule covers it'],
] as const

/** The address comes from the URL: `?add=203.0.113.97/32`; `?add=new` is an empty form. */
export function AddRule({ policyId, onClose }: AddRuleProps) {
  const given = parameter('add')
  const subject = useSubject({ cidr: given === 'new' ? '' : given })
  const action = useSignal<'allow' | 'deny'>('deny')
  const description = useSignal('')
  const end = useSignal('')
  const isEnforced = useSignal(true)
  const policy = useSignal(policyId ?? '')
  return (
    <FormDrawer
      title="Add a rule"
      submit="Add"
      done="The rule was added."
      isDisabled={policy.value === '' || !hasSubject(subject) || endIn(end.value, now()) === undefined}
      work={(client) =>
        client.ipPolicyRule.create({
          ip_policy_id: policy.value,
          ...subjectBody(subject),
          action: action.value,
          description: description.value,
          expires_at: endIn(end.value, now()) ?? null,
          enforced: isEnforced.value,
        })
      }
      onClose={onClose}
    >
      {policyId === undefined && <PolicyField value={policy} />}
      <SubjectFields value={subject} />
      <ChoiceField
        name="action"
        label="Action"
        value={action.value}
        choices={actionChoices}
        onChange={(chosen) => {
          action.value = chosen === 'allow' ? 'allow' : 'deny'
        }}
      />
      <TextField
        name="description"
        label="Description"
        isOptional
        value={description.value}
        onChange={(text) => {
          description.value = text
        }}
        hint="Why it is there: the next person will ask."
      />
      <EndField value={end} />
      <EnforcedField value={isEnforced} />
      {policy.value !== '' && subject.about.value === 'range' && (
        <Overlapping policyId={policy.value} cidr={subject.cidr.value.trim()} />
      )}
    </FormDrawer>
  )
}

interface ChangeRuleProps {
  readonly rule: Resource<'ipPolicyRule'>
  readonly onClose: (isDone: boolean) => void
}

/** The action of a rule can't be changed: another rule takes its place. */
export function ChangeRule({ rule, onClose }: ChangeRuleProps) {
  const subject = useSubject(rule)
  const description = useSignal(rule.description ?? '')
  const end = useSignal(rule.expires_at ?? '')
  const isEnforced = useSignal(rule.enforced)
  return (
    <FormDrawer
      title="Edit the rule"
      submit="Save"
      done="The rule was saved."
      isDisabled={!hasSubject(subject) || endIn(end.value, now()) === undefined}
      work={(client) =>
        client.ipPolicyRule.update(rule.id, {
          ...subjectBody(subject),
          description: description.value,
          expires_at: endIn(end.value, now()) ?? null,
          enforced: isEnforced.value,
        })
      }
      onClose={onClose}
    >
      <SubjectFields value={subject} />
      <TextField
        name="description"
        label="Description"
        isOptional
        value={description.value}
        onChange={(text) => {
          description.value = text
        }}
      />
      <EndField value={end} />
      <EnforcedField value={isEnforced} />
      <p class="quiet">The action of a rule stays: for the other one, delete it and add a new rule.</p>
    </FormDrawer>
  )
}
