/** Which events go where: sources with their fields and filters, and what they make. The path may name a subscription. */

import type { Resource } from '../../../words/client/kinds.js'
import { may } from '../data/access/session.js'
import { useMore } from '../data/asking/more.js'
import { go, hrefTo } from '../data/location.js'
import { Link } from '../kit/link.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Listing } from '../parts/listing.js'
import { Name } from '../parts/name.js'
import { onDemand } from '../parts/on-demand.js'
import type { PageProps } from '../parts/page.js'
import { Empty } from '../parts/states.js'
import { OneSubscription } from './subscriptions/one.js'

type Subscription = Resource<'eventSubscription'>

const EditSubscription = onDemand(async () => (await import('./subscriptions/edit.js')).EditSubscription)
const NewSubscription = onDemand(async () => (await import('./subscriptions/edit.js')).NewSubscription)

export function Subscriptions({ rest: [id, action] }: PageProps) {
  if (id === undefined) return <All />
  if (id === 'new') return <NewSubscription />
  if (action === 'edit') return <EditSubscription key={id} id={id} />
  return <OneSubscription key={id} id={id} />
}

const step = 100

const columns: readonly Column<Subscription>[] = [
  {
    title: 'Subscription',
    isMain: true,
    cell: ({ id, description }) => (
      <p class="name">
        <Link to={['subscriptions', id]} title={id}>
          {description || id}
        </Link>
      </p>
    ),
  },
  { title: 'Sources', cell: ({ sources }) => <Sources sources={sources} />, isWide: true },
  {
    title: 'Destinations',
    cell: ({ destinations }) =>
      destinations.length === 0 ? (
        <span class="quiet">none: its events are not sent</span>
      ) : (
        <ul class="lines">
          {destinations.map(({ id }) => (
            <li key={id}>
              <Name id={id} />
            </li>
          ))}
        </ul>
      ),
  },
  { title: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
]

/** In a list, the first ones say what it is about. */
const sourcesShown = 4

const Sources = ({ sources }: Pick<Subscription, 'sources'>) => (
  <>
    {sources.slice(0, sourcesShown).map(({ type, filter, fields }) => (
      <p key={type}>
        {type}
        {fields !== undefined && <span class="quiet"> {fields.length} fields</span>}
        {filter !== undefined && <code> {filter}</code>}
      </p>
    ))}
    {sources.length > sourcesShown && <p class="quiet">and {sources.length - sourcesShown} more</p>}
  </>
)

function All() {
  const answer = useMore([], (client) => client.eventSubscription.list(), step, { inUrl: 'count' })
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Subscriptions</h1>
        {may('write') && (
          <Link class="button main" to={['subscriptions', 'new']}>
            New subscription
          </Link>
        )}
      </div>
      <Listing answer={answer}>
        {(entries) => (
          <Table
            label="Subscriptions, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id }) => go(hrefTo(['subscriptions', id]))}
            empty={<None />}
          />
        )}
      </Listing>
    </div>
  )
}

const None = () => (
  <Empty>
    <p>
      No event is made yet. A subscription says which events are made of records and changes, and where they
      go.
    </p>
    {may('write') ? (
      <Link to={['subscriptions', 'new']}>Create the first subscription</Link>
    ) : (
      <p>A key with the right “write” can create one.</p>
    )}
  </Empty>
)
