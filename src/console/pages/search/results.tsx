/** The decisions that a search found, newest first. */
import type { LoggedDecision } from '../../../shape/logged-decision.js'
import type { Listed } from '../../data/asking/more.js'
import { defaultSince, selectingNames, sinceEver } from '../../data/decisions/selection.js'
import { openEntry, parameter, setParameters } from '../../data/location.js'
import { bytes, number } from '../../data/texts/format.js'
import { Button } from '../../parts/button.js'
import { Command, Empty } from '../../parts/states.js'
import { DecisionCell, decisionColumns, extra } from '../../parts/tables/decision-cells.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { StateWord } from '../../parts/words.js'

const { time, client, from, endpoint, request, decidedBy } = decisionColumns

const columns: readonly Column<LoggedDecision>[] = [
  time,
  {
    title: 'Decision',
    cell: (entry) => (
      <>
        <DecisionCell entry={entry} />
        {entry.source === 'asked' && (
          <>
            {' '}
            <StateWord tone="quiet" text="asked" />
          </>
        )}
      </>
    ),
  },
  // Before the client, because both do not fit on a narrow screen.
  ...[decidedBy, client, from, extra(endpoint), request],
  { title: 'Out', cell: ({ bytes_out }) => bytes(bytes_out), isNumber: true, isExtra: true },
]

/** More rows make the browser slow; a narrower search or an export has the rest. */
const rowsMax = 1_000

interface ResultsProps {
  readonly listed: Listed<LoggedDecision>
  readonly isLoading: boolean
  readonly more: () => Promise<void>
}

export function Results({ listed: { entries, hasMore }, isLoading, more }: ResultsProps) {
  return (
    <>
      <Table
        label="Decisions, newest first"
        rows={entries}
        columns={columns}
        keyOf={({ id }) => id}
        opened={parameter('open')}
        onOpen={({ id }) => openEntry(id)}
        empty={<Nothing />}
      />
      {entries.length > 0 && (
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

/** What to do if nothing was found. */
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
          Publish records to see decisions: <Command text="npx weir publish access.log" />
        </p>
      )}
    </Empty>
  )
}
