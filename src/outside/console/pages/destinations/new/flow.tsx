/**
 * A new destination, in one flow: which kind, where and how, which events, and the first event. Where one is stands in the
 * URL, so a reload goes on at the same step.
 */

import { useSignal } from '@preact/signals'
import type { LiveDelivery } from '../../../../../words/shape/live.js'
import { api, useAnswer, useStream } from '../../../data/asking/api.js'
import { sleep } from '../../../data/clock.js'
import { hrefTo, parameter } from '../../../data/location.js'
import { Link } from '../../../kit/link.js'
import { Steps, Tiles } from '../../../parts/flow/steps.js'
import { onDemand } from '../../../parts/on-demand.js'
import { Answered } from '../../../parts/states.js'
import { targetOf } from '../target.js'
import type { TargetKind } from '../target-members.js'
import { targetKinds } from '../target-schema.js'
import { FirstEvent } from './first-event.js'
import { TargetStep } from './target-step.js'

const EventsStep = onDemand(async () => (await import('./events-step.js')).EventsStep)

const stepNames = ['Kind', 'Where to', 'Which events', 'First event'] as const

export function NewDestination() {
  const kinds = useAnswer([], targetKinds)
  const [form, id, subscription] = [parameter('form'), parameter('id'), parameter('subscription')]
  const at = subscription !== '' ? 3 : id !== '' ? 2 : form !== '' ? 1 : 0
  return (
    <div class="stack">
      <p>
        <Link to={['destinations']}>Destinations</Link>
      </p>
      <h1>New destination</h1>
      <Steps names={stepNames} at={at} />
      {id !== '' ? (
        <EventsSteps key={id} id={id} subscription={subscription} />
      ) : (
        <Answered answer={kinds}>{(found) => <Begin kinds={found} form={form} />}</Answered>
      )}
    </div>
  )
}

function Begin({ kinds, form }: { readonly kinds: readonly TargetKind[]; readonly form: string }) {
  const chosen = kinds.find(({ tiles }) => tiles.some(({ id }) => id === form))
  const tile = chosen?.tiles.find(({ id }) => id === form)
  if (chosen !== undefined && tile !== undefined)
    return <TargetStep key={form} kinds={kinds} kind={chosen} tile={tile} />
  // Targets that people have at hand come first: a web server and services over HTTP, then those that they run, then AWS.
  const isAtAws = ({ members }: TargetKind): boolean =>
    members.some(({ form: f, name }) => name === 'auth' && f === 'one of') &&
    members[0]?.name.endsWith('_arn') === true
  const tiles = kinds
    .toSorted((one, other) => Number(isAtAws(one)) - Number(isAtAws(other)))
    .flatMap((kind) => kind.tiles)
  return (
    <>
      <p class="quiet">Where should events go? You can try it before anything is created.</p>
      <Tiles
        label="Kinds of destinations"
        entries={tiles}
        to={['destinations', 'new']}
        with={(id) => ({ form: id })}
      />
      <p>
        <a href={hrefTo(['destinations'])}>Not now</a>
      </p>
    </>
  )
}

interface EventsStepsProps {
  /** Of the destination. */
  readonly id: string
  /** Empty until it is created. */
  readonly subscription: string
}

const againAfterMs = 1_000

function EventsSteps({ id, subscription }: EventsStepsProps) {
  const destination = useAnswer([id], (client) => client.eventDestination.get(id))
  const first = useSignal<LiveDelivery | undefined>(undefined)
  useStream([id], async (stop) => {
    while (!stop.aborted && first.value?.outcome !== 'delivered') {
      try {
        for await (const delivery of api.watchDeliveries(id, { signal: stop })) {
          // A test event says nothing about the subscription.
          if (delivery.event_type === 'test.v0') continue
          first.value = delivery
          if (delivery.outcome === 'delivered') return
        }
      } catch {
        // The stream of a destination that was just created may not be there yet; the step itself shows what fails.
      }
      await sleep(againAfterMs)
    }
  })
  return (
    <Answered answer={destination}>
      {(found) =>
        subscription === '' ? (
          <EventsStep destination={found} kind={targetOf(found)[0]} />
        ) : (
          <FirstEvent destination={found} subscription={subscription} delivery={first.value} />
        )
      }
    </Answered>
  )
}
