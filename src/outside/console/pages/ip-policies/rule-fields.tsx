/** Fields of a rule, in its forms, and what the policy says about its range already. */
import { useEffect } from 'preact/hooks'
import { parseCidr } from '../../../../ground/core/address/cidr.js'
import { complaintOf } from '../../../../ground/core/errors.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { endIn } from '../../data/texts/moments.js'
import { ChoiceField, SwitchField, TextField } from '../../kit/forms/fields.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Answered, Empty } from '../../parts/states.js'
import { ActionWord } from '../../parts/words.js'

const listedMax = 200

interface TextSignal {
  value: string
}

export const EnforcedField = ({ value }: { readonly value: { value: boolean } }) => (
  <SwitchField
    name="enforced"
    label="Enforced"
    hint="If not, it decides nothing; decisions show what it would have changed."
    value={value.value}
    onChange={(isEnforced) => {
      value.value = isEnforced
    }}
  />
)

const CidrField = ({ value }: { readonly value: TextSignal }) => (
  <TextField
    name="cidr"
    label="Address or range"
    value={value.value}
    onChange={(text) => {
      value.value = text
    }}
    placeholder="203.0.113.0/24"
    fault={
      value.value.trim() === ''
        ? undefined
        : complaintOf(parseCidr(value.value.trim(), { hostBits: 'refuse' }))
    }
  />
)

export const EndField = ({ value }: { readonly value: TextSignal }) => (
  <TextField
    name="expires_at"
    label="Expires"
    value={value.value}
    onChange={(text) => {
      value.value = text
    }}
    placeholder="never"
    hint="After a length of time such as 30m, 4h or 7d, or at a time such as 2026-12-31T18:00:00Z. Empty: never."
    fault={endIn(value.value, now()) === undefined ? 'It is neither a length of time nor a time.' : undefined}
  />
)

/** The subject of a rule: a range as it is typed, or the id of an IP list. */
export interface SubjectSignals {
  readonly about: TextSignal
  readonly cidr: TextSignal
  readonly list: TextSignal
}

const subjects = [
  ['range', 'an address or range'],
  ['list', 'an IP list'],
] as const

export const SubjectFields = ({ value: { about, cidr, list } }: { readonly value: SubjectSignals }) => (
  <>
    <ChoiceField
      label="About"
      value={about.value}
      choices={subjects}
      onChange={(chosen) => {
        about.value = chosen
      }}
    />
    {about.value === 'list' ? <ListField value={list} /> : <CidrField value={cidr} />}
  </>
)

/** As the API takes it; the other one of a rule that is changed goes away. */
export const subjectBody = ({ about, cidr, list }: SubjectSignals) =>
  about.value === 'list' ? { list_id: list.value } : { cidr: cidr.value.trim() }

export const hasSubject = (value: SubjectSignals): boolean =>
  Object.values(subjectBody(value)).every((text) => text !== '')

function ListField({ value }: { readonly value: TextSignal }) {
  const lists = useAnswer([], (client) => firstOf(client.ipList.list(), listedMax))
  return (
    <Answered answer={lists}>
      {({ entries }) =>
        entries.length === 0 ? (
          <Empty>There is no IP list yet: make one on the page “IP lists” first.</Empty>
        ) : (
          <ChoiceField
            name="list_id"
            label="IP list"
            value={value.value}
            choices={[['', 'choose one'], ...entries.map(({ id, name }) => [id, name] as const)]}
            onChange={(id) => {
              value.value = id
            }}
          />
        )
      }
    </Answered>
  )
}

export function PolicyField({ value }: { readonly value: TextSignal }) {
  const policies = useAnswer([], (client) => firstOf(client.ipPolicy.list(), listedMax))
  const { entries: [first, second] = [] } = policies.data ?? {}
  useEffect(() => {
    // There is nothing to choose from.
    if (first !== undefined && second === undefined && value.value === '') value.value = first.id
  }, [first, second])
  return (
    <Answered answer={policies}>
      {({ entries }) =>
        entries.length === 0 ? (
          <Empty>There is no IP policy yet that could have the rule: make one first.</Empty>
        ) : (
          <ChoiceField
            name="ip_policy_id"
            label="IP policy"
            value={value.value}
            choices={[
              ['', 'choose one'],
              ...entries.map(({ id, description }) => [id, description || id] as const),
            ]}
            onChange={(id) => {
              value.value = id
            }}
          />
        )
      }
    </Answered>
  )
}

/** The rules of the policy that cover the range already. */
export function Overlapping({ policyId, cidr }: { readonly policyId: string; readonly cidr: string }) {
  const isRange = parseCidr(cidr, { hostBits: 'refuse' }).ok
  const { data } = useAnswer([policyId, isRange ? cidr : ''], async (client) =>
    isRange ? firstOf(client.rules(policyId, { covers: cidr, limit: 10 }), 10) : undefined,
  )
  if (data === undefined || data.entries.length === 0) return null
  return (
    <div>
      <p class="quiet">Rules of this policy that cover it already:</p>
      <ul class="listed">
        {data.entries.map(({ id, cidr: range, list, action, description }) => (
          <li key={id}>
            <ActionWord action={action} /> <RuleSubject cidr={range} list_id={list?.id} />{' '}
            {description !== undefined && <span class="quiet">{description}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
