/** The destinations: which of them get their events, and which do not. */
import type { DestinationStatus } from '../../../shape/delivery-status.js'
import { go, hrefTo } from '../../data/location.js'
import { number, shortNumber } from '../../data/texts/format.js'
import { DestinationState } from '../../parts/destination-state.js'
import { Link } from '../../parts/link.js'
import { Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { Time } from '../../parts/time.js'

const columns: readonly Column<DestinationStatus>[] = [
  {
    title: 'Destination',
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
  { title: 'Waiting', cell: ({ status }) => number(status.backlog.events), isNumber: true },
  { title: 'Oldest', cell: ({ status }) => <Time at={status.backlog.oldest_at} isRelative />, isExtra: true },
]

interface DestinationsPanelProps {
  readonly statuses: readonly DestinationStatus[]
  /** How many are not listed. */
  readonly leftOut: number
}

export const DestinationsPanel = ({ statuses, leftOut }: DestinationsPanelProps) => (
  <section class="panel stack" aria-labelledby="destinations">
    <div class="row apart">
      <h2 id="destinations">
        <Link to={['destinations']}>Destinations</Link>
      </h2>
      {leftOut > 0 && <Link to={['destinations']}>{number(leftOut)} more</Link>}
    </div>
    <Table
      label="Destinations"
      rows={statuses}
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
  </section>
)
