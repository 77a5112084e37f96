/** One subscription: its sources, where their events go, and what they look like. */
import type { Resource } from '../../../../words/client/kinds.js'
import { may } from '../../data/access/session.js'
import { act, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { DestinationState } from '../../parts/destination-state.js'
import { EditButton } from '../../parts/edit-button.js'
import { ExpressionFailures } from '../../parts/expression-failures.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { ExampleEvent } from './example-event.js'
import { SourcesTable } from './sources-table.js'
import { draftOf } from './subscription-draft.js'
import { TrialEventsResult } from './trial-events.js'

type Subscription = Resource<'eventSubscription'>

export function OneSubscription({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.eventSubscription.get(id))
  return (
    <div class="stack">
      <p>
        <Link to={['subscriptions']}>Subscriptions</Link>
      </p>
      <Answered answer={answer}>{(subscription) => <Found subscription={subscription} />}</Answered>
    </div>
  )
}

function Found({ subscription }: { readonly subscription: Subscription }) {
  const { id, description, sources, destinations } = subscription
  const remove = async (): Promise<void> => {
    if (await act('The subscription is deleted.', (client) => client.eventSubscription.delete(id)))
      go(hrefTo(['subscriptions']))
  }
  const draft = draftOf(subscription)
  return (
    <>
      <div class="row apart">
        <h1>{description || id}</h1>
        <div class="actions">
          {may('write') && (
            <Link class="button" to={['subscriptions', id, 'edit']}>
              Edit
            </Link>
          )}
          <EditButton
            kind="danger"
            confirm="Delete this subscription? No more events are made for it; those that are made already are still delivered."
            onClick={remove}
          >
            Delete
          </EditButton>
        </div>
      </div>
      <section class="stack" aria-label="Sources">
        <h2>Sources, and what they have made in all</h2>
        <SourcesTable id={id} sources={sources} />
      </section>
      <ExpressionFailures subscriptionId={id} />
      <div class="split even">
        <section class="panel stack" aria-label="Destinations">
          <h2>Destinations</h2>
          {destinations.length === 0 && <p>There is none: its events are not sent.</p>}
          <ul>
            {destinations.map((each) => (
              <li key={each.id}>
                <Name id={each.id} /> <State id={each.id} />
              </li>
            ))}
          </ul>
          <Facts entries={factsOf(subscription)} />
        </section>
        {destinations.length > 0 && (
          <ExampleEvent
            destinations={destinations.map((each) => each.id)}
            types={sources.map(({ type }) => type)}
          />
        )}
      </div>
      <section class="panel stack" aria-label="On recorded traffic">
        <h2>What it makes of recorded traffic</h2>
        <TrialRun
          begin={(client, since) => client.trySubscription(draft, { since })}
          draft={JSON.stringify(draft)}
        >
          {(trial) => <TrialEventsResult events={trial.events} />}
        </TrialRun>
      </section>
    </>
  )
}

const factsOf = ({ id, created_at, metadata, start_from, replay_ids }: Subscription) => [
  [
    'Id',
    <span key="id" class="mono">
      {id}
    </span>,
  ] as const,
  ['Created', <Time key="created" at={created_at} />] as const,
  ...(metadata
    ? [
        [
          'Metadata',
          <span key="metadata" class="mono">
            {metadata}
          </span>,
        ] as const,
      ]
    : []),
  ...(start_from ? [['Also events since', <Time key="start" at={start_from} />] as const] : []),
  ...(replay_ids && replay_ids.length > 0
    ? [
        [
          'Sent by replays',
          <span key="replays" class="mono">
            {replay_ids.join(', ')}
          </span>,
        ] as const,
      ]
    : []),
]

function State({ id }: { readonly id: string }) {
  const { data } = useAnswer([id], (api) => api.deliveryStatus(id), { everyMs: 10_000 })
  return data === undefined ? null : <DestinationState status={data} />
}
