/** What was stopped last. A click says why. */
import type { LoggedDecision } from '../../../shape/logged-decision.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { openEntry, parameter } from '../../data/location.js'
import { Link } from '../../parts/link.js'
import { OpenedWhy } from '../../parts/opened-why.js'
import { Answered, Empty } from '../../parts/states.js'
import { ClientCell, decisionColumns, extra, wide } from '../../parts/tables/decision-cells.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { DecisionWord } from '../../parts/words.js'

const stoppedMax = 10

const { time, endpoint, request, decidedBy } = decisionColumns

const columns: readonly Column<LoggedDecision>[] = [
  time,
  { title: 'Decision', cell: ({ decision }) => <DecisionWord decision={decision} /> },
  {
    title: 'Client',
    cell: (entry) => (
      <>
        <ClientCell entry={entry} /> <span class="quiet">{entry.country}</span>
      </>
    ),
  },
  ...[extra(endpoint), request, wide(decidedBy)],
]

export function StoppedPanel({ range }: { readonly range: string }) {
  const opened = parameter('open')
  const answer = useAnswer(
    [range],
    (api) => firstOf(api.decisions({ decision: 'block,deny', since: range, limit: stoppedMax }), stoppedMax),
    { everyMs: 15_000 },
  )
  return (
    <section class="panel stack" aria-labelledby="stopped">
      <div class="row apart">
        <h2 id="stopped">
          <Link to={['search']} with={{ decision: 'block,deny', since: range }}>
            Stopped last
          </Link>
        </h2>
        <span class="quiet">open one to see why</span>
      </div>
      <Answered answer={answer}>
        {({ entries }) => (
          <Table
            label="What was stopped last, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            opened={opened}
            onOpen={({ id }) => openEntry(id)}
            empty={<Empty>Nothing was stopped in this time.</Empty>}
          />
        )}
      </Answered>
      <OpenedWhy id={opened} known={answer.data?.entries.find(({ id }) => id === opened)} />
    </section>
  )
}
