/** The destinations: which of them get their events, and which do not. */
import type { DestinationStatus } from '../../../../words/shape/delivery-status.js'
import type { OverviewAnswer } from '../../../../words/shape/overview.js'
import type { Asked } from '../../data/asking/questions.js'
import { go, hrefTo } from '../../data/location.js'
import { number, shortNumber } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { DestinationState } from '../../parts/destination-state.js'
import { Answered, Empty } from '../../parts/states.js'

const columns: readonly Column<DestinationStatus>[] = [
  {
    title: 'Destination',
    isMain: true,
    cell: ({ destination_id, description, status }) => (
      <>
        <Link to={['destinations', destination_id]} title={destination_id}>
          {description || destination_id}
        </Link>{' '}
        <span class="quiet below">{status.kind}</span>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ status }) => <DestinationState status={status} />,
  },
  {
    title: 'Events/s',
    cell: ({ status: { rate } }) => (rate === null ? '–' : shortNumber(rate)),
    isNumber: true,
  },
  {
    title: 'Waiting',
    cell: ({ status: { backlog } }) => (
      <>
        {number(backlog.events)}
        {backlog.oldest_at !== null && (
          <span class="quiet below">
            oldest <Time at={backlog.oldest_at} isRelative />
          </span>
        )}
      </>
    ),
    isNumber: true,
  },
]

export const DestinationsPanel = ({ answer }: { readonly answer: Asked<OverviewAnswer> }) => (
  <section class="panel stack" aria-labelledby="destinations">
    <h2 id="destinations">
      <Link to={['destinations']}>Destinations</Link>
    </h2>
    <Answered answer={answer}>
      {({ destinations, destinations_left_out: leftOut }) => (
        <>
          <Table
            label="Destinations"
            rows={destinations}
            columns={columns}
            keyOf={({ destination_id }) => destination_id}
            onOpen={({ destination_id }) => go(hrefTo(['destinations', destination_id]))}
            empty={
              <Empty>
                <p>Events go nowhere yet.</p>
                <Link to={['destinations', 'new']}>Create a destination</Link>
              </Empty>
            }
          />
          {leftOut > 0 && <Link to={['destinations']}>{number(leftOut)} more</Link>}
        </>
      )}
    </Answered>
  </section>
)
