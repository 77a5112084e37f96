/** One rule of an IP policy: what it says, and what can be done with it. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../../../words/client/kinds.js'
import { act, useAnswer } from '../../data/asking/api.js'
import { setParameters } from '../../data/location.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Drawer } from '../../kit/drawer.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { ExpiryWord } from '../../parts/expiry.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Answered } from '../../parts/states.js'
import { ActionWord, UnenforcedWord } from '../../parts/words.js'
import { ChangeRule } from './rule-forms.js'

interface RuleDrawerProps {
  readonly id: string
  readonly onClose: () => void
  readonly onChanged: () => void
}

type Rule = Resource<'ipPolicyRule'>

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
        {(shown) => (
          <>
            <RuleFacts rule={shown} />
            <div class="row">
              <EditButton
                onClick={() => {
                  isChanging.value = true
                }}
              >
                Edit
              </EditButton>
              <EditButton
                kind="danger"
                onClick={remove}
                confirm={`Delete the rule ${shown.action} ${shown.cidr ?? `list ${nameOf(shown.list?.id ?? '').text}`}?`}
              >
                Delete
              </EditButton>
            </div>
          </>
        )}
      </Answered>
    </Drawer>
  )
}

const RuleFacts = ({
  rule: { id, cidr, list, action, description, metadata, expires_at, created_at, enforced },
}: {
  readonly rule: Rule
}) => (
  <>
    <Facts
      entries={[
        ['About', <RuleSubject key="subject" cidr={cidr} list_id={list?.id} />],
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
      {cidr !== null && (
        <Link to={['search']} with={{ client: cidr }}>
          decisions about the range
        </Link>
      )}
      <Link to={['changes']} with={{ id }}>
        history
      </Link>
    </p>
  </>
)

/** Closes what the URL has open. */
export const closeRule = (): void => setParameters({ rule: '', add: '' })
