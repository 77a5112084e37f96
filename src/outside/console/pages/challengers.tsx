/** Drafts that are evaluated alongside the live configuration: what each would decide differently. The path may name one. */

import type { Resource } from '../../../words/client/kinds.js'
import { useMore } from '../data/asking/more.js'
import { go, hrefTo } from '../data/location.js'
import { Link } from '../kit/link.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Listing } from '../parts/listing.js'
import { onDemand } from '../parts/on-demand.js'
import type { PageProps } from '../parts/page.js'
import { Empty } from '../parts/states.js'
import { ChallengerState, draftedParts, nameOfChallenger } from './challengers/name-and-state.js'
import { Progress } from './challengers/progress.js'

type Challenger = Resource<'challenger'>

const columns: readonly Column<Challenger>[] = [
  { title: 'State', cell: (challenger) => <ChallengerState challenger={challenger} /> },
  {
    title: 'Challenger',
    isMain: true,
    cell: (challenger) => <Link to={['challengers', challenger.id]}>{nameOfChallenger(challenger)}</Link>,
    isWide: true,
  },
  { title: 'Drafts', cell: ({ draft }) => draftedParts(draft) },
  { title: 'Progress', cell: ({ id }) => <Progress id={id} /> },
  { title: 'Began', cell: ({ created_at }) => <Time at={created_at} isRelative /> },
]

/** Each asks for its progress. */
const step = 20

const ChallengerView = onDemand(async () => (await import('./challengers/challenger-view.js')).ChallengerView)

export function Challengers({ rest: [id] }: PageProps) {
  if (id !== undefined) return <ChallengerView key={id} id={id} />
  return <ChallengerList />
}

function ChallengerList() {
  const challengers = useMore([], (client) => client.challenger.list({ limit: step }), step)
  return (
    <div class="stack">
      <h1>Challengers</h1>
      <Listing answer={challengers}>
        {(entries) => (
          <Table
            label="Challengers, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id }) => go(hrefTo(['challengers', id]))}
            empty={<NoChallengers />}
          />
        )}
      </Listing>
    </div>
  )
}

const NoChallengers = () => (
  <Empty>
    <p>
      No draft runs alongside the live configuration. A challenger decides nothing: it shows, for up to seven
      days, what a draft would decide differently about every record that arrives.
    </p>
    <p>
      Begin one where a change is drafted: of the policies of an edge (
      <Link to={['edges']}>Edges and policies</Link>), of rules or a restriction (
      <Link to={['ip-policies']}>IP policies</Link>), or by <code>POST /challengers</code>.
    </p>
  </Empty>
)
