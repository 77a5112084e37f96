/** Forms of rules: add one, look at one, change it, delete it. */
import { useSignal } from '@preact/signals'
import { act, useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { parameter, setParameters } from '../../data/location.js'
import { rangeText } from '../../data/resources/rule-files.js'
import { endIn } from '../../data/texts/moments.js'
import { EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { ExpiryWord } from '../../parts/expiry-word.js'
import { Facts } from '../../parts/facts.js'
import { ChoiceField, TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { Link } from '../../parts/link.js'
import { Answered } from '../../parts/states.js'
import { Time } from '../../parts/time.js'
import { UnenforcedWord } from '../../parts/words.js'
import { CidrField, EndField, EnforcedField, Overlapping, PolicyField } from './rule-fields.js'
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

/** The address comes from the URL: `?add=203.0.113.97/32`; `?add=new` is an empty form. */
export function AddRule({ policyId, onClose }: AddRuleProps) {
  const given = parameter('add')
  const cidr = useSignal(given === 'new' ? '' : given)
  const action = useSignal<'allow' | 'deny'>('deny')
  const description = useSignal('')
  const end = useSignal('')
  const isEnforced = useSignal(true)
  const policy = useSignal(policyId ?? '')
  return (
    <FormDrawer
      title="Add a rule"
      submit="Add"
      done={`The rule about ${cidr.value} was added.`}
      isDisabled={policy.value === '' || cidr.value.trim() === '' || endIn(end.value, now()) === undefined}
      work={(client) =>
        client.ipPolicyRule.create({
          ip_policy_id: policy.value,
          cidr: cidr.value.trim(),
          action: action.value,
          description: description.value,
          expires_at: endIn(end.value, now()) ?? null,
          enforced: isEnforced.value,
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
      <EndField value={end} />
      <EnforcedField value={isEnforced} />
      {policy.value !== '' && <Overlapping policyId={policy.value} cidr={cidr.value.trim()} />}
    </FormDrawer>
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
  // A rule with a list has no range to change.
  if (isChanging.value && found !== undefined && found.cidr !== null)
    return (
      <ChangeRule
        rule={{ ...found, cidr: found.cidr }}
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
        {({ cidr, list, action, description, metadata, expires_at, created_at, enforced }) => (
          <>
            <RuleFacts
              {...{
                id,
                cidr: rangeText({ cidr, list }),
                action,
                description,
                metadata,
                expires_at,
                created_at,
                enforced,
              }}
            />
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
  readonly expires_at: string | null
  readonly created_at: string
  readonly enforced: boolean
}

const RuleFacts = ({
  id,
  cidr,
  action,
  description,
  metadata,
  expires_at,
  created_at,
  enforced,
}: RuleFactsProps) => (
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
        ['Enforced', enforced ? 'yes' : <UnenforcedWord key="enforced" isEnforced={false} />],
        ['Description', description ?? <span class="quiet">none</span>],
        ...(metadata === undefined ? [] : [['Metadata', metadata] as const]),
        ['Expires', <ExpiryWord key="end" from={created_at} until={expires_at} />],
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
    readonly expires_at: string | null
    readonly enforced: boolean
  }
  readonly onClose: (isDone: boolean) => void
}

/** The action of a rule can't be changed: another rule takes its place. */
function ChangeRule({ rule, onClose }: ChangeRuleProps) {
  const cidr = useSignal(rule.cidr)
  const description = useSignal(rule.description ?? '')
  const end = useSignal(rule.expires_at ?? '')
  const isEnforced = useSignal(rule.enforced)
  return (
    <FormDrawer
      title="Edit the rule"
      submit="Save"
      done="The rule was saved."
      isDisabled={endIn(end.value, now()) === undefined}
      work={(client) =>
        client.ipPolicyRule.update(rule.id, {
          cidr: cidr.value.trim(),
          description: description.value,
          expires_at: endIn(end.value, now()) ?? null,
          enforced: isEnforced.value,
        })
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
      <EndField value={end} />
      <EnforcedField value={isEnforced} />
      <p class="quiet">The action of a rule stays: for the other one, delete it and add a new rule.</p>
    </FormDrawer>
  )
}

/** Closes what the URL has open. */
export const closeRule = (): void => setParameters({ rule: '', add: '' })
