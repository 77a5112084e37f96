/** The restrictions of the account: for which kind of traffic which IP policies hold. */
import type { NewResource, Resource } from '../../../../words/client/kinds.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { Choices } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { BeginButton } from '../../parts/edit-button.js'
import { type FormField, type FormValues, idsIn, textIn } from '../../parts/forms/declared-field.js'
import { DeclaredForm, type FormLook } from '../../parts/forms/declared-form.js'
import { Names } from '../../parts/name.js'
import { Answered, Command, Empty } from '../../parts/states.js'
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
  {
    title: 'Restricts',
    isMain: true,
    cell: ({ id, type }) => <Link to={['ip-policies', id]}>{restrictedBy[type]}</Link>,
  },
  { title: 'State', cell: ({ enforced }) => <EnforcedWord isEnforced={enforced} /> },
  {
    title: 'By the policies',
    isWide: true,
    cell: ({ ip_policies }) => <Names ids={ip_policies.map(({ id }) => id)} />,
  },
  { title: 'Description', cell: ({ description }) => description ?? '' },
]

const typesMax = 10

export function Restrictions() {
  // There is one for each type at most.
  const restrictions = useAnswer([], (client) => firstOf(client.ipRestriction.list(), typesMax))
  return (
    <div class="stack">
      <div class="row apart">
        <h1>IP restrictions</h1>
        <BeginButton onClick={() => setParameters({ new: 'restriction' })}>New restriction</BeginButton>
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

const fieldsFor = (free: readonly (readonly [type: string, text: string])[]): readonly FormField[] => [
  {
    name: 'type',
    label: 'Restricts',
    as: 'choice',
    choices: free,
    ...(free.length === 0 && { hint: 'There is a restriction of each type already.' }),
  },
  { name: 'ip_policy_ids', label: 'IP policies', as: 'policies' },
  {
    name: 'enforced',
    label: 'Enforced',
    as: 'switch',
    hint: 'Off: it blocks no one, and warns of what it would block. Begin like this.',
  },
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'What it is for: only from the office.',
  },
]

const newRestriction: FormLook = {
  title: 'New restriction',
  submit: 'Create',
  done: 'The restriction was created.',
  isReady: ({ type, ip_policy_ids }) => textIn(type) !== '' && idsIn(ip_policy_ids).length > 0,
  below: (values) =>
    values['type'] === 'endpoints' && (
      <Shadow
        draft={() => ({ ip_restrictions: [restrictionIn(values)] })}
        isBlocked={idsIn(values['ip_policy_ids']).length === 0}
      />
    ),
}

/** The restriction that the fields describe. */
export const restrictionIn = ({ enforced, ip_policy_ids, description }: FormValues) => ({
  enforced: enforced === true,
  ip_policy_ids: [...idsIn(ip_policy_ids)],
  description: textIn(description),
})

const NewRestriction = ({ taken }: { readonly taken: readonly RestrictionType[] }) => (
  <DeclaredForm
    look={newRestriction}
    fields={fieldsFor(Object.entries(restrictedBy).filter(([type]) => isType(type) && !taken.includes(type)))}
    send={async (client, body) => {
      const { id } = await client.ipRestriction.create(body as NewResource<'ipRestriction'>)
      go(hrefTo(['ip-policies', id]))
    }}
    onClose={(isDone) => {
      if (!isDone) setParameters({ new: '' })
    }}
  />
)
