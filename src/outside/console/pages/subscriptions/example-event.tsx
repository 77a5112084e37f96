/** An event as it is delivered at this moment. */
import { useSignal } from '@preact/signals'
import type { LiveDelivery } from '../../../../words/shape/live.js'
import { api, useStream } from '../../data/asking/api.js'
import { sleep } from '../../data/clock.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { CopyText } from '../../kit/copy.js'
import { ChoiceField } from '../../kit/forms/fields.js'
import { Time } from '../../kit/time.js'
import { Failure } from '../../parts/states.js'

interface ExampleProps {
  readonly destinations: readonly string[]
  readonly types: readonly string[]
}

const againAfterMs = 2_000

export function ExampleEvent({ destinations, types }: ExampleProps) {
  const destination = useSignal(destinations[0] ?? '')
  const shown = useSignal<LiveDelivery | undefined>(undefined)
  const newer = useSignal<LiveDelivery | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const filter = `event_type in ${JSON.stringify(types)}`
  const tries = useSignal(0)
  useStream([destination.value, filter, tries.value], async (stop) => {
    while (!stop.aborted) {
      try {
        const options = { filter, signal: stop, rate: () => (error.value = undefined) }
        for await (const delivery of api.watchDeliveries(destination.value, options)) {
          if (shown.value === undefined) shown.value = delivery
          else newer.value = delivery
        }
      } catch (fault) {
        if (!stop.aborted) error.value = fault
      }
      await sleep(againAfterMs)
    }
  })
  return (
    <section class="panel stack" aria-label="An example">
      <div class="row apart">
        <h2>An example, live</h2>
        <button
          type="button"
          disabled={newer.value === undefined}
          onClick={() => {
            shown.value = newer.value
            newer.value = undefined
          }}
        >
          Show a newer one
        </button>
      </div>
      {destinations.length > 1 && (
        <ChoiceField
          label="Destination"
          value={destination.value}
          choices={destinations.map((id) => [id, nameOf(id).text] as const)}
          onChange={(id) => {
            destination.value = id
            shown.value = undefined
            newer.value = undefined
          }}
        />
      )}
      {error.value !== undefined && <Failure error={error.value} again={() => (tries.value += 1)} />}
      {shown.value === undefined ? (
        <p class="quiet">It waits for the next event of these types that is sent to the destination.</p>
      ) : (
        <>
          <p class="quiet">
            {shown.value.outcome === 'delivered' ? 'delivered' : 'not delivered'} <Time at={shown.value.at} />
            ; other subscriptions may send events of the same types to the destination
          </p>
          <CopyText what="the event" text={JSON.stringify(shown.value.event, null, 2)} />
        </>
      )}
    </section>
  )
}
