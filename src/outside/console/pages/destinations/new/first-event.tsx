/** The first event that a new destination gets: it waits for it, and says meanwhile what is in its way. */
import type { DeliveryStatus } from '../../../../../words/shape/delivery-status.js'
import type { LiveDelivery } from '../../../../../words/shape/live.js'
import { useAnswer } from '../../../data/asking/api.js'
import { number } from '../../../data/texts/format.js'
import { CopyText } from '../../../kit/copy.js'
import { Link } from '../../../kit/link.js'
import { Sentence } from '../../../kit/sentence.js'
import { Time } from '../../../kit/time.js'
import { DestinationState } from '../../../parts/destination-state.js'
import { OperatorActions } from '../../../parts/operator-actions.js'
import { Answered } from '../../../parts/states.js'
import { StateWord } from '../../../parts/words.js'
import type { Destination } from '../target.js'

interface FirstEventProps {
  readonly destination: Destination
  /** Its id. */
  readonly subscription: string
  /** Undefined: none was sent since the page is open. */
  readonly delivery: LiveDelivery | undefined
}

const askEveryMs = 2_000

export function FirstEvent({ destination: { id, description }, subscription, delivery }: FirstEventProps) {
  const status = useAnswer([id], (api) => api.deliveryStatus(id), { everyMs: askEveryMs })
  const isThere = delivery?.outcome === 'delivered'
  return (
    <section class="panel stack" aria-label="First event">
      <h2>{isThere ? 'The first event has arrived' : 'Waiting for the first event'}</h2>
      {isThere ? (
        <p>
          <StateWord tone="good" text="delivered" /> <Time at={delivery.at} /> to “{description || id}”
          {delivery.request_id !== null && (
            <>
              , request <span class="mono">{delivery.request_id}</span>
            </>
          )}
          .
        </p>
      ) : (
        <p class="quiet" role="status">
          It is shown here as soon as your traffic makes one. A request to one of your edges is enough.
        </p>
      )}
      {delivery !== undefined && !isThere && (
        <p>
          <StateWord tone="bad" text="not accepted" /> <span class="mono">{delivery.error?.code}</span>{' '}
          {delivery.error?.msg}
        </p>
      )}
      {isThere && <CopyText what="the event" text={JSON.stringify(delivery.event, null, 2)} />}
      <Answered answer={status}>{(found) => <State status={found} />}</Answered>
      <div class="row">
        <Link class="button main" to={['destinations', id]}>
          {isThere ? 'Done' : 'To the destination'}
        </Link>
        <Link to={['subscriptions', subscription]}>The subscription</Link>
      </div>
    </section>
  )
}

const State = ({ status }: { readonly status: DeliveryStatus }) => (
  <div class="stack">
    <p class="row">
      <DestinationState status={status} />
      <span class="quiet">
        {number(status.counts.produced)} made, {number(status.counts.filtered)} kept back by the filter,{' '}
        {number(status.counts.delivered)} delivered, {number(status.backlog.events)} waiting
      </span>
    </p>
    {status.advice !== null && (
      <p>
        <Sentence text={status.advice} /> <OperatorActions actions={status.actions} areAtOnce />
      </p>
    )}
  </div>
)
