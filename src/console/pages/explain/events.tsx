/** The events of a record, and what became of each at each destination. */
import type { EventDelivery, PublishedRecord, TracedEvent } from '../../../shape/traced-record.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { duration, number } from '../../data/texts/format.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Time } from '../../parts/time.js'
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
      <div class="scrolls">
        <table aria-label={`Deliveries of ${type}`}>
          <thead>
            <tr>
              <th scope="col">Destination</th>
              <th scope="col">State</th>
              <th scope="col">Known since</th>
              <th scope="col" class="number">
                Attempts
              </th>
              <th scope="col">Request and receipt</th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map((delivery) => (
              <Delivery key={delivery.destination_id} delivery={delivery} />
            ))}
          </tbody>
        </table>
      </div>
    )}
  </div>
)

const Delivery = ({ delivery }: { readonly delivery: EventDelivery }) => (
  <tr>
    <td>
      <Name id={delivery.destination_id} />{' '}
      <Link to={['destinations', delivery.destination_id]} with={{ tab: 'attempts' }} class="below">
        its attempts
      </Link>
    </td>
    <td>
      <StateWord tone={tones[delivery.state]} text={delivery.state.replace('_', ' ')} />
      {delivery.last_error !== null && (
        <p class="fault">
          {delivery.last_error.code}: {delivery.last_error.msg}
        </p>
      )}
    </td>
    <td>
      <Time at={delivery.at} />
    </td>
    <td class="number">{number(delivery.attempts)}</td>
    <td>
      <span class="mono">{delivery.request_id ?? '–'}</span>
      {delivery.receipt !== null && (
        <p class="mono quiet">
          {delivery.receipt}
          {delivery.shard !== null && ` in ${delivery.shard}`}
        </p>
      )}
      {delivery.requests.length > 0 && <Requests delivery={delivery} />}
    </td>
  </tr>
)

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
