/** Where events go: what each destination does, why, and what to do about it. The path may name one of them. */

import type { Client } from '../../../words/client/client.js'
import type { DestinationStatus } from '../../../words/shape/delivery-status.js'
import { may } from '../data/access/session.js'
import { useMore } from '../data/asking/more.js'
import { go, hrefTo } from '../data/location.js'
import { bytes, number, shortNumber } from '../data/texts/format.js'
import { Link } from '../kit/link.js'
import { Sentence } from '../kit/sentence.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { byTrouble, DestinationState } from '../parts/destination-state.js'
import { Listing } from '../parts/listing.js'
import { onDemand } from '../parts/on-demand.js'
import { OperatorActions } from '../parts/operator-actions.js'
import type { PageProps } from '../parts/page.js'
import { Empty } from '../parts/states.js'
import { OneDestination } from './destinations/one.js'

const NewDestination = onDemand(async () => (await import('./destinations/new/flow.js')).NewDestination)

export function Destinations({ rest: [id] }: PageProps) {
  if (id === undefined) return <All />
  if (id === 'new') return <NewDestination />
  return <OneDestination key={id} id={id} />
}

/** Statuses are read in pages of 100. */
const step = 300
const askEveryMs = 5_000

const columns: readonly Column<DestinationStatus>[] = [
  { title: 'State', cell: ({ status }) => <DestinationState status={status} /> },
  {
    title: 'Destination',
    isMain: true,
    cell: ({ destination_id: id, description }) => (
      <p class="name">
        <Link to={['destinations', id]} title={id}>
          {description || id}
        </Link>
      </p>
    ),
  },
  { title: 'Kind', cell: ({ status }) => <span class="word">{status.kind}</span> },
  { title: 'Events/s', cell: ({ status }) => rateText(status.rate), isNumber: true },
  { title: 'Backlog', cell: ({ status }) => number(status.backlog.events), isNumber: true },
  {
    title: 'Oldest',
    cell: ({ status }) => <Time at={status.backlog.oldest_at} isRelative />,
    isNumber: true,
  },
  { title: 'What it means, and what to do', cell: ({ status }) => <Cause status={status} />, isWide: true },
  {
    title: 'To do',
    cell: ({ status }) => (
      <div class="row">
        <OperatorActions actions={status.actions} />
      </div>
    ),
  },
  { title: 'Billed, last hour', cell: ({ status }) => cost(status), isNumber: true },
]

const rateText = (rate: number | null | undefined): string =>
  rate === null || rate === undefined ? '–' : shortNumber(rate)

interface CauseProps {
  readonly status: DestinationStatus['status']
}

/** The last error tells destinations apart that have the same cause. */
const Cause = ({ status: { cause, advice, since, last_error } }: CauseProps) =>
  cause === null && advice === null ? (
    <span class="quiet">–</span>
  ) : (
    <>
      {cause !== null && (
        <>
          {cause}, since <Time at={since} isRelative />.{' '}
          {last_error !== null && (
            <>
              <span class="mono">
                {last_error.code}: {last_error.msg}
              </span>{' '}
            </>
          )}
        </>
      )}
      {advice !== null && <Sentence text={advice} />}
    </>
  )

function cost({ billing }: DestinationStatus['status']): string {
  const unit = billing?.units[0]
  if (unit === undefined) return '–'
  return unit.name === 'bytes'
    ? bytes(unit.count)
    : `${shortNumber(unit.count)} ${unit.name.replaceAll('_', ' ')}`
}

function All() {
  const answer = useMore([], statusesOf, step, { inUrl: 'count', everyMs: askEveryMs })
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Destinations</h1>
        {may('write') && (
          <Link class="button main" to={['destinations', 'new']}>
            New destination
          </Link>
        )}
      </div>
      <Listing
        answer={answer}
        note={({ length }) => (
          <span class="quiet">The newest {number(length)} are shown, the worst first.</span>
        )}
      >
        {(entries) => (
          <Table
            label="Destinations, the worst first"
            rows={entries.toSorted((a, b) => byTrouble(a.status, b.status))}
            columns={columns}
            keyOf={({ destination_id }) => destination_id}
            onOpen={({ destination_id }) => go(hrefTo(['destinations', destination_id]))}
            empty={<None />}
          />
        )}
      </Listing>
    </div>
  )
}

async function* statusesOf(client: Client): AsyncGenerator<DestinationStatus, void, undefined> {
  for (let before: string | null = ''; before !== null; ) {
    const { statuses, next_page_uri }: Awaited<ReturnType<Client['deliveryStatuses']>> =
      await client.deliveryStatuses(before === '' ? {} : { before_id: before })
    yield* statuses
    // The URI may have a base that this page can't reach, so only its position is used.
    before = next_page_uri === null ? null : new URL(next_page_uri).searchParams.get('before_id')
  }
}

const None = () => (
  <Empty>
    <p>
      Events have no place to go yet. A destination is a stream, a queue, a table or a web server of yours.
    </p>
    {may('write') ? (
      <Link to={['destinations', 'new']}>Create the first destination</Link>
    ) : (
      <p>A key with the right “write” can create one.</p>
    )}
  </Empty>
)
