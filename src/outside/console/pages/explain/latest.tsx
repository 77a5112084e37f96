/** Decisions to explain, for someone without an id: the last ones that let nothing in. */
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { decisionColumns, main, wide } from '../../parts/decision-cells.js'
import { Answered, Empty } from '../../parts/states.js'

const listed = 15

const { time, decision, client, from, endpoint, decidedBy } = decisionColumns

const columns: readonly Column<LoggedDecision>[] = [
  ...[time, decision, main(client), from, endpoint, wide(decidedBy)],
  {
    title: 'Record',
    cell: ({ record_id }) => (
      <Link to={['explain', record_id]} class="mono cut" title={record_id}>
        {record_id}
      </Link>
    ),
  },
]

export function Latest() {
  const answer = useAnswer([], (client) =>
    firstOf(client.decisions({ decision: 'block,deny', since: '24h', limit: listed }), listed),
  )
  return (
    <section class="stack" aria-labelledby="latest">
      <p class="quiet">
        The id stands in your log, in the event (<code>event_id</code>) and in each row of{' '}
        <Link to={['search']}>Search</Link> and <Link to={['live']}>Live</Link>.
      </p>
      <h2 id="latest">Or one of those that were stopped last</h2>
      <Answered answer={answer}>
        {({ entries }) => (
          <Table
            label="What was stopped last, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id, record_id }) => go(hrefTo(['explain', record_id], { decision: id }))}
            empty={
              <Empty>
                <p>Nothing was stopped within the last day.</p>
                <Link to={['explain']} with={{ about: 'question' }}>
                  Ask what would be decided
                </Link>
              </Empty>
            }
          />
        )}
      </Answered>
    </section>
  )
}
