/** All IP policies with their numbers, and the rules of any of them that cover an address. */

import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import type { IpPolicyCount } from '../../../../words/shape/ip-policy-rules.js'
import { useMore } from '../../data/asking/more.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Choices } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { BeginButton, EditButton } from '../../parts/edit-button.js'
import { CoversField } from '../../parts/forms/covers-field.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import { DeclaredForm } from '../../parts/forms/declared-form.js'
import { Listing } from '../../parts/listing.js'
import { Name } from '../../parts/name.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Command, Empty } from '../../parts/states.js'
import { ActionWord, StateWord } from '../../parts/words.js'
import { WhoAllows } from './address-check.js'
import { AddRule } from './rule-forms.js'

export const tabs = [
  ['', 'Policies'],
  ['restrictions', 'Restrictions'],
] as const

const step = 50

type Policy = Resource<'ipPolicy'>

/** With its numbers; undefined if it was made after they were counted. */
interface Entry {
  readonly policy: Policy
  readonly counts: IpPolicyCount | undefined
}

export function PolicyList() {
  const covers = parameter('covers')
  const policies = useMore<Entry>([], entries, step)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>IP policies</h1>
        <BeginButton onClick={() => setParameters({ new: 'policy' })}>New IP policy</BeginButton>
      </div>
      <div class="row">
        <Choices label="What" name="tab" choices={tabs} />
        <CoversField
          label="Which rule covers this address or range?"
          placeholder="which rule covers … 203.0.113.97"
        />
      </div>
      {covers === '' ? (
        <Listing answer={policies}>
          {(entries) => (
            <Table
              label="IP policies"
              rows={entries}
              columns={columns}
              keyOf={({ policy: { id } }) => id}
              onOpen={({ policy: { id } }) => go(hrefTo(['ip-policies', id]))}
              empty={<NoPolicies />}
            />
          )}
        </Listing>
      ) : (
        <Covering address={covers} />
      )}
      {parameter('new') === 'policy' && <NewPolicy />}
      {parameter('add') !== '' && <AddRule onClose={() => setParameters({ add: '' })} />}
    </div>
  )
}

/** Both lists have the same pages. */
async function* entries(client: Client): AsyncGenerator<Entry> {
  let before: string | undefined
  for await (const page of client.ipPolicy.pages({ limit: step })) {
    const { counts } = await client.ipPolicyCounts({
      limit: step,
      ...(before === undefined ? {} : { before_id: before }),
    })
    const byId = new Map(counts.map((each) => [each.id, each]))
    for (const policy of page) yield { policy, counts: byId.get(policy.id) }
    before = page.at(-1)?.id
  }
}

const columns: readonly Column<Entry>[] = [
  {
    title: 'Policy',
    isMain: true,
    isWide: true,
    cell: ({ policy: { id, description } }) => (
      <Link to={['ip-policies', id]} title={id}>
        {description ?? id}
      </Link>
    ),
  },
  {
    title: 'Rules',
    isNumber: true,
    cell: ({ counts }) => (counts === undefined ? '' : number(counts.rules)),
  },
  {
    title: 'Used by',
    isNumber: true,
    cell: ({ counts }) => {
      if (counts === undefined) return ''
      return counts.uses === 0 ? <StateWord tone="quiet" text="nothing" /> : number(counts.uses)
    },
  },
  {
    title: 'Created',
    cell: ({ policy: { created_at } }) => <Time at={created_at} isRelative />,
  },
]

const NoPolicies = () => (
  <Empty>
    <p>There is no IP policy yet. It is a list of address ranges that are allowed or denied.</p>
    <p>Make one here, or by the API:</p>
    <Command text={'POST /ip_policies {"description": "the office"}'} />
  </Empty>
)

type Rule = Resource<'ipPolicyRule'>

const coveringColumns: readonly Column<Rule>[] = [
  { title: 'Range', isMain: true, cell: ({ cidr, list }) => <RuleSubject cidr={cidr} list_id={list?.id} /> },
  { title: 'Action', cell: ({ action }) => <ActionWord action={action} /> },
  { title: 'Policy', cell: ({ ip_policy }) => <Name id={ip_policy.id} /> },
  { title: 'Description', isWide: true, cell: ({ description }) => description ?? '' },
]

function Covering({ address }: { readonly address: string }) {
  const rules = useMore([address], (client) => client.ipPolicyRule.list({ covers: address }), step)
  return (
    <section class="stack" aria-label="Rules that cover it">
      <div class="row apart">
        <h2>
          Rules that cover <span class="mono">{address}</span>, the narrowest first
        </h2>
        <EditButton onClick={() => setParameters({ add: address })}>Add a rule for it</EditButton>
      </div>
      <Listing answer={rules}>
        {(entries) => (
          <Table
            label="Rules"
            rows={entries}
            columns={coveringColumns}
            keyOf={({ id }) => id}
            onOpen={({ id, ip_policy }) => go(hrefTo(['ip-policies', ip_policy.id], { rule: id }))}
            empty={<Empty>No rule about a range covers it.</Empty>}
          />
        )}
      </Listing>
      {!address.includes('/') && <WhoAllows address={address} />}
      <p class="quiet">
        In each place, an address is let in if an allow rule covers it and no deny rule does.{' '}
        <Link to={['search']} with={{ client: address }}>
          What was decided about it?
        </Link>
      </p>
    </section>
  )
}

const newPolicy = { title: 'New IP policy', submit: 'Create', done: 'The IP policy was created.' }

const newPolicyFields: readonly FormField[] = [
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'What it is called everywhere, such as: the office.',
  },
]

const NewPolicy = () => (
  <DeclaredForm
    look={newPolicy}
    fields={newPolicyFields}
    send={async (client, body) => {
      const { id } = await client.ipPolicy.create(body)
      go(hrefTo(['ip-policies', id]))
    }}
    onClose={(isDone) => {
      if (!isDone) setParameters({ new: '' })
    }}
  />
)
