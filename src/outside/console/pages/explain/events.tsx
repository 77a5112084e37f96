/** The events of a record, and what became of each at each destination. */
import type { EventDelivery, PublishedRecord, TracedEvent } from '../../../../words/shape/traced-record.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { duration, number } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'
import { StateWord, type Tone } from '../../parts/words.js'

const tones: Readonly<Record<EventDelivery['state'], Tone>> = {
  delivered: 'good',
  dead_lettered: 'bad',
  retrying: 'warning',
  pending: 'quiet',
  dropped: 'quiet',
  unknown: 'warning',
}

export function Events({ published: { events, filtered } }: { readonly published: PublishedRecord }) {
  return (
    <section class="stack" aria-labelledby="events">
      <h2 id="events">Its events</h2>
      {events === null && <p class="quiet">They are not known any more.</p>}
      {events?.length === 0 && <p class="quiet">No subscription makes an event of it.</p>}
      {events?.map((event) => (
        <Event key={event.id} event={event} />
      ))}
      {filtered.length > 0 && (
        <p class="quiet">
          Kept back by the filter of{' '}
          {filtered.map(({ type, subscription_id }, index) => (
            <span key={`${subscription_id} ${type}`}>
              {index > 0 && ', '}
              <Name id={subscription_id} /> ({type})
            </span>
          ))}
          .
        </p>
      )}
    </section>
  )
}

const Event = ({ event: { id, type, subscription_id, deliveries } }: { readonly event: TracedEvent }) => (
  <div class="panel stack">
    <h3>
      {type} <span class="quiet">by</span> <Name id={subscription_id} />
    </h3>
    <p class="mono quiet">{id}</p>
    {deliveries.length === 0 && <p class="quiet">The subscription has no destination.</p>}
    {deliveries.length > 0 && (
      <Table
        label={`Deliveries of ${type}`}
        rows={deliveries}
        columns={columns}
        keyOf={({ destination_id }) => destination_id}
      />
    )}
  </div>
)

const columns: readonly Column<EventDelivery>[] = [
  {
    title: 'Destination',
    isMain: true,
    cell: ({ destination_id }) => (
      <>
        <Name id={destination_id} />{' '}
        <Link to={['destinations', destination_id]} with={{ tab: 'attempts' }} class="below">
          its attempts
        </Link>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, last_error }) => (
      <>
        <StateWord tone={tones[state]} text={state.replace('_', ' ')} />
        {last_error !== null && (
          <p class="fault">
            {last_error.code}: {last_error.msg}
          </p>
        )}
      </>
    ),
  },
  { title: 'Known since', cell: ({ at }) => <Time at={at} /> },
  { title: 'Attempts', isNumber: true, cell: ({ attempts }) => number(attempts) },
  {
    title: 'Request and receipt',
    cell: (delivery) => (
      <>
        <span class="mono">{delivery.request_id ?? '–'}</span>
        {delivery.receipt !== null && (
          <p class="mono quiet">
            {delivery.receipt}
            {delivery.shard !== null && ` in ${delivery.shard}`}
          </p>
        )}
        {delivery.requests.length > 0 && <Requests delivery={delivery} />}
      </>
    ),
  },
]

const outcomeTones = { delivered: 'good', failed: 'warning', dead_lettered: 'bad' } as const

/** Each request that had the event: what the service said, under which id. */
const Requests = ({ delivery: { requests, destination_id } }: { readonly delivery: EventDelivery }) => (
  <details>
    <summary>
      {requests.length === 1 ? 'the request' : `the last ${number(requests.length)} requests`}
    </summary>
    <ol class="chain-rules" aria-label={`Requests to ${nameOf(destination_id).text}, newest first`}>
      {requests.map(({ at, took_ms, outcome, request_id, error }, index) => (
        <li key={`${index} ${at}`}>
          <p>
            <Time at={at} /> <StateWord tone={outcomeTones[outcome]} text={outcome.replace('_', ' ')} /> after{' '}
            {duration(took_ms)} <span class="mono">{request_id}</span>
          </p>
          {error !== null && (
            <p class="fault">
              {error.code}: {error.msg}
            </p>
          )}
        </li>
      ))}
    </ol>
  </details>
)
