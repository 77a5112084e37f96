/** Forms of rules: add one, look at one, change it, delete it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { parseCidr } from '../../../core/address/cidr.js'
import { complaintOf } from '../../../core/errors.js'
import { act, firstOf, useAnswer } from '../../data/api.js'
import { parameter, setParameters } from '../../data/location.js'
import { EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { Facts } from '../../parts/facts.js'
import { ChoiceField, TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { Link } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { Time } from '../../parts/time.js'
import { ActionWord } from './rule-table.js'

interface AddRuleProps {
  /** Undefined: it is chosen in the form. */
  readonly policyId?: string
  readonly onClose: (isDone: boolean) => void
}

const actionChoices = [
  ['deny', 'deny: it is blocked'],
  ['allow', 'allow: it is let in, unless a deny rule covers it'],
] as const

const listedMax = 200

/** The address comes from the URL: `?add=203.0.113.97/32`; `?add=new` is an empty form. */
export function AddRule({ policyId, onClose }: AddRuleProps) {
  const given = parameter('add')
  const cidr = useSignal(given === 'new' ? '' : given)
  const action = useSignal<'allow' | 'deny'>('deny')
  const description = useSignal('')
  const policy = useSignal(policyId ?? '')
  return (
    <FormDrawer
      title="Add a rule"
      submit="Add"
      done={`The rule about ${cidr.value} was added.`}
      isDisabled={policy.value === '' || cidr.value.trim() === ''}
      work={(client) =>
        client.ipPolicyRule.create({
          ip_policy_id: policy.value,
          cidr: cidr.value.trim(),
          action: action.value,
          description: description.value,
        })
      }
      onClose={onClose}
    >
      {policyId === undefined && <PolicyField value={policy} />}
      <CidrField value={cidr} />
      <ChoiceField
        label="Action"
        value={action.value}
        choices={actionChoices}
        onChange={(chosen) => {
          action.value = chosen === 'allow' ? 'allow' : 'deny'
        }}
      />
      <TextField
        label="Description"
        value={description.value}
        onChange={(text) => {
          description.value = text
        }}
        hint="Why it is there: the next person will ask."
      />
      {policy.value !== '' && <Overlapping policyId={policy.value} cidr={cidr.value.trim()} />}
    </FormDrawer>
  )
}

interface TextSignal {
  value: string
}

const CidrField = ({ value }: { readonly value: TextSignal }) => (
  <TextField
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

function PolicyField({ value }: { readonly value: TextSignal }) {
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

/** What the policy says about the range already. */
function Overlapping({ policyId, cidr }: { readonly policyId: string; readonly cidr: string }) {
  const isRange = parseCidr(cidr, { hostBits: 'refuse' }).ok
  const { data } = useAnswer([policyId, isRange ? cidr : ''], async (client) =>
    isRange ? firstOf(client.rules(policyId, { covers: cidr, limit: 10 }), 10) : undefined,
  )
  if (data === undefined || data.entries.length === 0) return null
  return (
    <div>
      <p class="quiet">Rules of this policy that cover it already:</p>
      <ul class="listed">
        {data.entries.map(({ id, cidr: range, action, description }) => (
          <li key={id}>
            <ActionWord action={action} /> <span class="mono">{range}</span>{' '}
            {description !== undefined && <span class="quiet">{description}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface RuleDrawerProps {
  readonly id: string
  readonly onClose: () => void
  readonly onChanged: () => void
}

export function RuleDrawer({ id, onClose, onChanged }: RuleDrawerProps) {
  const isChanging = useSignal(false)
  const rule = useAnswer([id], (client) => client.ipPolicyRule.get(id))
  const found = rule.data?.id === id ? rule.data : undefined
  if (isChanging.value && found !== undefined)
    return (
      <ChangeRule
        rule={found}
        onClose={(isDone) => {
          isChanging.value = false
          if (!isDone) return
          rule.again()
          onChanged()
        }}
      />
    )
  const remove = async (): Promise<void> => {
    const isDone = await act('The rule was deleted.', (client) => client.ipPolicyRule.delete(id))
    if (!isDone) return
    onClose()
    onChanged()
  }
  return (
    <Drawer title="Rule" onClose={onClose}>
      <Answered answer={rule}>
        {({ cidr, action, description, metadata, created_at }) => (
          <>
            <RuleFacts {...{ id, cidr, action, description, metadata, created_at }} />
            <div class="row">
              <EditButton
                onClick={() => {
                  isChanging.value = true
                }}
              >
                Edit
              </EditButton>
              <EditButton kind="danger" onClick={remove} confirm={`Delete the rule ${action} ${cidr}?`}>
                Delete
              </EditButton>
            </div>
          </>
        )}
      </Answered>
    </Drawer>
  )
}

interface RuleFactsProps {
  readonly id: string
  readonly cidr: string
  readonly action: 'allow' | 'deny'
  readonly description: string | undefined
  readonly metadata: string | undefined
  readonly created_at: string
}

const RuleFacts = ({ id, cidr, action, description, metadata, created_at }: RuleFactsProps) => (
  <>
    <Facts
      entries={[
        [
          'Range',
          <span key="cidr" class="mono">
            {cidr}
          </span>,
        ],
        ['Action', <ActionWord key="action" action={action} />],
        ['Description', description ?? <span class="quiet">none</span>],
        ...(metadata === undefined ? [] : [['Metadata', metadata] as const]),
        ['Added', <Time key="at" at={created_at} />],
        ['Id', <code key="id">{id}</code>],
      ]}
    />
    <p class="row">
      {action === 'deny' && (
        <Link to={['search']} with={{ rule_id: id, since: '7d' }}>
          what it blocked
        </Link>
      )}
      <Link to={['search']} with={{ client: cidr }}>
        decisions about the range
      </Link>
      <Link to={['changes']} with={{ id }}>
        history
      </Link>
    </p>
  </>
)

interface ChangeRuleProps {
  readonly rule: {
    readonly id: string
    readonly cidr: string
    readonly description?: string
    readonly metadata?: string
  }
  readonly onClose: (isDone: boolean) => void
}

/** The action of a rule can't be changed: another rule takes its place. */
function ChangeRule({ rule, onClose }: ChangeRuleProps) {
  const cidr = useSignal(rule.cidr)
  const description = useSignal(rule.description ?? '')
  return (
    <FormDrawer
      title="Edit the rule"
      submit="Save"
      done="The rule was saved."
      work={(client) =>
        client.ipPolicyRule.update(rule.id, { cidr: cidr.value.trim(), description: description.value })
      }
      onClose={onClose}
    >
      <CidrField value={cidr} />
      <TextField
        label="Description"
        value={description.value}
        onChange={(text) => {
          description.value = text
        }}
      />
      <p class="quiet">The action of a rule stays: for the other one, delete it and add a new rule.</p>
    </FormDrawer>
  )
}

/** Closes what the URL has open. */
export const closeRule = (): void => setParameters({ rule: '', add: '' })
