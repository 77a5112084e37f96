/** TCP addresses that belong to the account, and when traffic last went to each. */
import type { Resource } from '../../../../words/client/kinds.js'
import { copyText } from '../../data/clipboard.js'
import { Button } from '../../kit/button.js'
import { Time } from '../../kit/time.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import {
  LastTrafficFact,
  LastTrafficOf,
  type TrafficAnswer,
  TrafficNote,
  useLastTraffic,
} from '../../parts/last-use.js'
import type { PlainResource } from '../../parts/plain/plain-resource.js'

type Address = Resource<'reservedAddr'>

const fields: readonly FormField[] = [
  {
    name: 'description',
    label: 'Description',
    as: 'text',
    isOptional: true,
    hint: 'What will be served there: SSH of the build machines.',
  },
  {
    name: 'region',
    label: 'Region',
    as: 'choice',
    choices: ['us', 'eu', 'ap', 'au', 'sa', 'jp', 'in'].map((region) => [region, region]),
  },
]

export const reservedAddresses: PlainResource<Address, TrafficAnswer> = {
  title: 'reserved address',
  place: { page: 'domains', tab: 'addresses' },
  operations: (client) => client.reservedAddr,
  useBeside: (count) => useLastTraffic('reservedAddr', count),
  nameOf: ({ addr }) => addr,
  list: {
    label: 'Reserved addresses, newest first',
    columns: (traffic) => [
      { title: 'Address', isMain: true, cell: ({ addr }) => <span class="mono">{addr}</span> },
      { title: 'Description', cell: ({ description }) => description ?? '', isWide: true },
      { title: 'Last traffic', cell: ({ id }) => <LastTrafficOf traffic={traffic} id={id} /> },
      { title: 'Region', cell: ({ region }) => region },
      { title: 'Reserved', cell: ({ created_at }) => <Time at={created_at} /> },
    ],
    empty: <p>No address is reserved. A TCP edge can serve a reserved one, which stays the account's.</p>,
    note: (traffic) => <TrafficNote traffic={traffic} />,
  },
  form: {
    button: 'Reserve an address',
    title: 'Reserve an address',
    submit: 'Reserve',
    fields: () => fields,
    whenMade: 'open',
  },
  drawer: {
    title: ({ addr }) => addr,
    facts: ({ id, description, region, created_at }, traffic) => [
      ['Description', description || <span class="quiet">none</span>],
      ['Region', region],
      ['Last traffic', <LastTrafficFact key="traffic" traffic={traffic} id={id} />],
      ['Reserved', <Time key="reserved" at={created_at} />],
    ],
    buttons: ({ addr }) => <Button onClick={() => copyText(addr, addr)}>Copy the address</Button>,
  },
  removal: {
    button: 'Delete',
    confirm: ({ addr }) => `Another account may get ${addr} then.`,
    done: ({ addr }) => `${addr} is free again.`,
  },
}
