/** The decisions that a search found, newest first. */
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import type { FoundDecisions } from '../../data/decisions/decision-search.js'
import {
  defaultSince,
  isByOwnTime,
  type Selection,
  selectingNames,
  sinceEver,
} from '../../data/decisions/selection.js'
import { openEntry, parameter, setParameters } from '../../data/location.js'
import { bytes, number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { DecisionCell, decisionColumns, main } from '../../parts/decision-cells.js'
import { Command, Empty } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

const { time, began, client, from, endpoint, request, decidedBy } = decisionColumns

const columnsBy = (isByOwn: boolean): readonly Column<LoggedDecision>[] => [
  isByOwn ? began : time,
  {
    title: 'Decision',
    cell: (entry) => (
      <>
        <DecisionCell entry={entry} />
        {entry.source !== 'record' && (
          <>
            {' '}
            <StateWord tone="quiet" text={entry.source === 'asked' ? 'asked' : 'the past'} />
          </>
        )}
      </>
    ),
  },
  ...[decidedBy, main(client), from, endpoint, request],
  { title: 'Out', cell: ({ bytes_out }) => bytes(bytes_out), isNumber: true },
]

/** More rows make the browser slow; a narrower search or an export has the rest. */
const rowsMax = 1_000

interface ResultsProps {
  readonly selection: Selection
  readonly found: FoundDecisions
  readonly isLoading: boolean
  readonly more: () => Promise<void>
}

export function Results({ selection, found, isLoading, more }: ResultsProps) {
  const { entries, hasMore, reachedAt } = found
  return (
    <>
      <div class="found">
        <Table
          label="Decisions, newest first"
          rows={entries}
          columns={columnsBy(isByOwnTime(selection))}
          keyOf={({ id }) => id}
          opened={parameter('open')}
          onOpen={({ id }) => openEntry(id)}
          empty={reachedAt === undefined ? <Nothing /> : null}
        />
      </div>
      {reachedAt !== undefined && <Cut count={entries.length} at={reachedAt} more={more} />}
      {reachedAt === undefined && entries.length > 0 && (
        <div class="row">
          <span class="quiet">
            {hasMore ? `The newest ${number(entries.length)} are listed.` : `All ${number(entries.length)}.`}
          </span>
          {hasMore && entries.length < rowsMax && (
            <Button onClick={more} isDisabled={isLoading}>
              More
            </Button>
          )}
          {hasMore && entries.length >= rowsMax && (
            <span class="quiet">Narrow the search, or export it, to see others.</span>
          )}
        </div>
      )}
    </>
  )
}

interface CutProps {
  readonly count: number
  readonly at: string
  readonly more: () => Promise<void>
}

/** The search has taken its time: what it has found, how far it came, how it goes on. */
const Cut = ({ count, at, more }: CutProps) => (
  <div class="row" role="status">
    <span>
      {count === 0 ? 'None found' : `${number(count)} found`} so far: looked through everything back to{' '}
      <Time at={at} />.
    </span>
    {count < rowsMax && (
      <Button kind="main" onClick={more}>
        Go on
      </Button>
    )}
    <span class="quiet">
      A shorter time, or a client, an edge or a decision to choose above, makes it faster.
    </span>
  </div>
)

/** The next steps if nothing was found. */
function Nothing() {
  const isNarrow = selectingNames.some((name) => parameter(name) !== '')
  const since = parameter('since') || defaultSince
  return (
    <Empty>
      <p>No decision of this time matches.</p>
      <div class="row">
        {since !== sinceEver && (
          <Button onClick={() => setParameters({ since: sinceEver, until: '' })}>
            Search as far as the log goes back
          </Button>
        )}
        {parameter('source') === '' && (
          <Button onClick={() => setParameters({ source: 'any' })}>Search what was asked for, too</Button>
        )}
        {isNarrow && (
          <Button onClick={() => setParameters(Object.fromEntries(selectingNames.map((name) => [name, ''])))}>
            Show all decisions
          </Button>
        )}
      </div>
      {!isNarrow && (
        <p>
          Publish records to see decisions:{' '}
          <Command text="weir publish --format nginx --file /var/log/nginx/access.log" />
        </p>
      )}
    </Empty>
  )
}
