/** TCP addresses that belong to the account, and when traffic last went to each. */
import { useSignal } from '@preact/signals'
import type { NewResource, Resource } from '../../../client/kinds.js'
import { act, api, firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { copyText } from '../../data/texts/clipboard.js'
import { Button, EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { type FormField, ResourceForm } from '../../parts/forms/resource-form.js'
import {
  LastTrafficFact,
  LastTrafficOf,
  type TrafficAnswer,
  TrafficNote,
  useLastTraffic,
} from '../../parts/last-use.js'
import { HistoryLink } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { OpenedTable } from '../../parts/tables/opened-table.js'
import type { Column } from '../../parts/tables/table.js'
import { Time } from '../../parts/time.js'

type Address = Resource<'reservedAddr'>

const pageOf = 100

const open = (id?: string): void =>
  go(hrefTo(id === undefined ? ['domains'] : ['domains', id], { tab: 'addresses' }))

const columnsWith = (traffic: TrafficAnswer): readonly Column<Address>[] => [
  { title: 'Address', cell: ({ addr }) => <span class="mono">{addr}</span> },
  { title: 'Description', cell: ({ description }) => description ?? '', isWide: true },
  { title: 'Last traffic', cell: ({ id }) => <LastTrafficOf traffic={traffic} id={id} /> },
  { title: 'Region', cell: ({ region }) => region, isExtra: true },
  { title: 'Reserved', cell: ({ created_at }) => <Time at={created_at} />, isExtra: true },
]

export function ReservedAddresses({ opened }: { readonly opened: string | undefined }) {
  const count = useSignal(pageOf)
  const isCreating = useSignal(false)
  const answer = useAnswer([count.value], (client) =>
    firstOf(client.reservedAddr.list({ limit: 100 }), count.value),
  )
  const traffic = useLastTraffic('reservedAddr', count.value)
  return (
    <div class="stack">
      <div>
        <EditButton onClick={() => (isCreating.value = true)}>Reserve an address</EditButton>
      </div>
      {isCreating.value && <NewAddress onClose={() => (isCreating.value = false)} onDone={answer.again} />}
      <Answered answer={answer}>
        {({ entries, hasMore }) => (
          <OpenedTable
            {...{ entries, opened }}
            label="Reserved addresses, newest first"
            columns={columnsWith(traffic)}
            onOpen={open}
            empty={
              <Empty>
                <p>No address is reserved. A TCP edge can serve a reserved one, which stays the account's.</p>
              </Empty>
            }
            note={<TrafficNote traffic={traffic} />}
            more={hasMore ? () => (count.value += pageOf) : undefined}
            drawer={(address) => <AddressDrawer {...{ address, traffic }} again={answer.again} />}
          />
        )}
      </Answered>
    </div>
  )
}

const fields: readonly FormField[] = [
  { name: 'description', label: 'Description', as: 'text' },
  {
    name: 'region',
    label: 'Region',
    as: 'choice',
    choices: ['us', 'eu', 'ap', 'au', 'sa', 'jp', 'in'].map((region) => [region, region]),
  },
]

const NewAddress = ({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) => (
  <ResourceForm
    title="Reserve an address"
    fields={fields}
    submit="Reserve"
    onClose={onClose}
    send={async (body) => {
      const { id } = await api.reservedAddr.create(body as NewResource<'reservedAddr'>)
      onClose()
      onDone()
      open(id)
    }}
  />
)

interface AddressDrawerProps {
  readonly address: Address
  readonly traffic: TrafficAnswer
  readonly again: () => void
}

function AddressDrawer({ address, traffic, again }: AddressDrawerProps) {
  const { id, addr, description, region, created_at } = address
  const remove = async (): Promise<void> => {
    if (!(await act(`${addr} is free again.`, (client) => client.reservedAddr.delete(id)))) return
    open()
    again()
  }
  return (
    <Drawer title={addr} onClose={() => open()}>
      <dl class="facts">
        <dt>Id</dt>
        <dd class="mono">{id}</dd>
        <dt>Description</dt>
        <dd>{description || <span class="quiet">none</span>}</dd>
        <dt>Region</dt>
        <dd>{region}</dd>
        <dt>Last traffic</dt>
        <dd>
          <LastTrafficFact traffic={traffic} id={id} />
        </dd>
        <dt>Reserved</dt>
        <dd>
          <Time at={created_at} />
        </dd>
      </dl>
      <div class="row">
        <Button onClick={() => copyText(addr, addr)}>Copy the address</Button>
        <HistoryLink id={id} />
        <EditButton kind="danger" onClick={remove} confirm={`Another account may get ${addr} then.`}>
          Delete
        </EditButton>
      </div>
    </Drawer>
  )
}
