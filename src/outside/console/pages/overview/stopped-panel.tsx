/** The connections and requests that were stopped last. A click says why. */
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import type { GoesBy } from '../../data/decisions/row-times.js'
import { openEntry, parameter } from '../../data/location.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { ClientCell, decisionColumns, main } from '../../parts/decision-cells.js'
import { OpenedWhy } from '../../parts/opened-why.js'
import { Answered, Empty } from '../../parts/states.js'
import { DecisionWord } from '../../parts/words.js'

const stoppedMax = 10

const { time, began, endpoint, request, decidedBy } = decisionColumns

/** The request is below its endpoint: a column of its own would leave no room for the cause of the decision. */
const asked: Column<LoggedDecision> = {
  title: endpoint.title,
  cell: (entry) => (
    <>
      {endpoint.cell(entry)} <span class="quiet below">{request.cell(entry)}</span>
    </>
  ),
}

const columnsBy = (by: GoesBy): readonly Column<LoggedDecision>[] => [
  by.time === 'own' ? began : time,
  {
    title: 'Client',
    cell: (entry) => (
      <>
        <ClientCell entry={entry} /> <span class="quiet">{entry.country}</span>
      </>
    ),
  },
  asked,
  main({
    title: 'Decision',
    cell: (entry) => (
      <>
        <DecisionWord decision={entry.decision} /> <span class="below">{decidedBy.cell(entry)}</span>
      </>
    ),
  }),
]

export function StoppedPanel({ range, by }: { readonly range: string; readonly by: GoesBy }) {
  const opened = parameter('open')
  const answer = useAnswer(
    [range, by.time],
    (api) =>
      firstOf(api.decisions({ decision: 'block,deny', since: range, limit: stoppedMax, ...by }), stoppedMax),
    { everyMs: 15_000 },
  )
  return (
    <section class="panel stack" aria-labelledby="stopped">
      <div class="row apart">
        <h2 id="stopped">
          <Link to={['search']} with={{ decision: 'block,deny', since: range, ...by }}>
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
            columns={columnsBy(by)}
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
