/** The restrictions of the account: for which kind of traffic which IP policies hold. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../../client/kinds.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { EditButton } from '../../parts/button.js'
import { Choices } from '../../parts/forms/choices.js'
import { ChoiceField, SwitchField, TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { PolicyChoice } from '../../parts/forms/policy-choice.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Answered, Command, Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { Shadow } from '../../parts/trial/shadow.js'
import { StateWord } from '../../parts/words.js'
import { tabs } from './policy-list.js'

export type Restriction = Resource<'ipRestriction'>
type RestrictionType = Restriction['type']

export const restrictedBy: Readonly<Record<RestrictionType, string>> = {
  endpoints: 'all traffic of the account’s edges',
  api: 'requests to the API',
  agent: 'agents that bind a name',
  dashboard: 'this console',
}

export const EnforcedWord = ({ isEnforced }: { readonly isEnforced: boolean }) =>
  isEnforced ? (
    <StateWord tone="good" text="enforced" />
  ) : (
    <StateWord tone="warning" text="warns only: blocks no one" />
  )

const columns: readonly Column<Restriction>[] = [
  { title: 'Restricts', cell: ({ id, type }) => <Link to={['ip-policies', id]}>{restrictedBy[type]}</Link> },
  { title: 'State', cell: ({ enforced }) => <EnforcedWord isEnforced={enforced} /> },
  {
    title: 'By the policies',
    isWide: true,
    cell: ({ ip_policies }) =>
      ip_policies.map(({ id }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Name id={id} />
        </span>
      )),
  },
  { title: 'Description', isExtra: true, cell: ({ description }) => description ?? '' },
]

const typesMax = 10

export function Restrictions() {
  // There is one for each type at most.
  const restrictions = useAnswer([], (client) => firstOf(client.ipRestriction.list(), typesMax))
  return (
    <div class="stack">
      <div class="row apart">
        <h1>IP restrictions</h1>
        <EditButton onClick={() => setParameters({ new: 'restriction' })}>New restriction</EditButton>
      </div>
      <div class="row">
        <Choices label="What" name="tab" choices={tabs} />
      </div>
      <Answered answer={restrictions}>
        {({ entries }) => (
          <>
            <Table
              label="IP restrictions"
              rows={entries}
              columns={columns}
              keyOf={({ id }) => id}
              onOpen={({ id }) => go(hrefTo(['ip-policies', id]))}
              empty={<NoRestrictions />}
            />
            {parameter('new') === 'restriction' && <NewRestriction taken={entries.map(({ type }) => type)} />}
          </>
        )}
      </Answered>
    </div>
  )
}

const NoRestrictions = () => (
  <Empty>
    <p>There is no restriction. One applies IP policies to a kind of traffic of the whole account.</p>
    <p>A new one only warns, until it is enforced:</p>
    <Command text={'POST /ip_restrictions {"type": "endpoints", "ip_policy_ids": ["ipp_…"]}'} />
  </Empty>
)

const isType = (text: string): text is RestrictionType => Object.hasOwn(restrictedBy, text)

function NewRestriction({ taken }: { readonly taken: readonly RestrictionType[] }) {
  const free = Object.entries(restrictedBy).filter(([type]) => isType(type) && !taken.includes(type))
  const type = useSignal(free[0]?.[0] ?? '')
  const isEnforced = useSignal(false)
  const chosen = useSignal<readonly string[]>([])
  const description = useSignal('')
  const body = {
    enforced: isEnforced.value,
    ip_policy_ids: [...chosen.value],
    description: description.value,
  }
  return (
    <FormDrawer
      title="New restriction"
      submit="Create"
      done="The restriction was created."
      isDisabled={chosen.value.length === 0 || type.value === ''}
      work={async (client) => {
        if (!isType(type.value)) return
        const { id } = await client.ipRestriction.create({ type: type.value, ...body })
        go(hrefTo(['ip-policies', id]))
      }}
      onClose={(isDone) => {
        if (!isDone) setParameters({ new: '' })
      }}
    >
      {free.length === 0 && <p>There is a restriction of each type already.</p>}
      <ChoiceField
        label="Restricts"
        value={type.value}
        choices={free}
        onChange={(next) => {
          type.value = next
        }}
      />
      <PolicyChoice
        chosen={chosen.value}
        onChange={(ids) => {
          chosen.value = ids
        }}
      />
      <SwitchField
        label="Enforced"
        hint="Off: it blocks no one, and warns of what it would block. Begin like this."
        value={isEnforced.value}
        onChange={(isOn) => {
          isEnforced.value = isOn
        }}
      />
      <TextField
        label="Description"
        value={description.value}
        onChange={(text) => {
          description.value = text
        }}
      />
      {type.value === 'endpoints' && (
        <Shadow draft={() => ({ ip_restrictions: [body] })} isBlocked={chosen.value.length === 0} />
      )}
    </FormDrawer>
  )
}
