/** One destination: its state, what was sent, and what can be done. */
import type { DeliveryStatus } from '../../../../words/shape/delivery-status.js'
import { useAnswer } from '../../data/asking/api.js'
import { parameter, setParameters } from '../../data/location.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { DestinationState } from '../../parts/destination-state.js'
import { onDemand } from '../../parts/on-demand.js'
import { Answered } from '../../parts/states.js'
import { Actions } from './actions.js'
import { Attempts } from './attempts.js'
import { DeliveryChart } from './delivery-chart.js'
import { Replays } from './replays.js'
import { StatePanel } from './state-panel.js'
import { Tail } from './tail.js'
import type { Destination } from './target.js'
import { TargetPanel } from './target-panel.js'

const EditDestination = onDemand(async () => (await import('./edit.js')).EditDestination)

const askEveryMs = 3_000

const tabs = [
  ['', 'State'],
  ['attempts', 'Attempts'],
  ['live', 'Live'],
  ['replays', 'Replays'],
  ['target', 'Target'],
] as const

export function OneDestination({ id }: { readonly id: string }) {
  const destination = useAnswer([id], (api) => api.eventDestination.get(id))
  const status = useAnswer([id], (api) => api.deliveryStatus(id), { everyMs: askEveryMs })
  const again = (): void => {
    destination.again()
    status.again()
  }
  return (
    <div class="stack">
      <p>
        <Link to={['destinations']}>Destinations</Link>
      </p>
      <Answered answer={destination}>
        {(found) => (
          <>
            <div class="row apart">
              <div class="row">
                <h1>{found.description || id}</h1>
                {status.data && <DestinationState status={status.data} />}
              </div>
              <Actions destination={found} status={status.data} done={again} />
            </div>
            <Choices label="What is shown" name="tab" choices={tabs} />
            <Tab destination={found} status={status} />
            {parameter('open') === 'edit' && (
              <EditDestination
                destination={found}
                onClose={(isSaved) => {
                  setParameters({ open: '' })
                  if (isSaved) again()
                }}
              />
            )}
          </>
        )}
      </Answered>
    </div>
  )
}

interface TabProps {
  readonly destination: Destination
  readonly status: Parameters<typeof Answered<DeliveryStatus>>[0]['answer']
}

function Tab({ destination, status }: TabProps) {
  switch (choiceIn('tab', tabs)) {
    case 'attempts':
      return <Attempts id={destination.id} />
    case 'live':
      return <Tail id={destination.id} />
    case 'replays':
      return <Replays id={destination.id} />
    case 'target':
      return <TargetPanel destination={destination} />
    default:
      return (
        <>
          <Answered answer={status}>{(found) => <StatePanel status={found} id={destination.id} />}</Answered>
          <DeliveryChart id={destination.id} />
        </>
      )
  }
}
