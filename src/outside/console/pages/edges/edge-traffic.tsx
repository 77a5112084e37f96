/** The decisions at an edge in the last day, over time. */
import { useAnswer } from '../../data/asking/api.js'
import { goesByNow, timeChoices } from '../../data/decisions/row-times.js'
import { go, hrefTo } from '../../data/location.js'
import type { Edge } from '../../data/resources/edges.js'
import { Choices } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { DecisionsChart } from '../../parts/charts/decisions-chart.js'
import { Answered, Empty } from '../../parts/states.js'

export function EdgeTraffic({ edge: { id, hostports } }: { readonly edge: Edge }) {
  const by = goesByNow()
  const stats = useAnswer(
    [id, by.time],
    (client) => client.stats({ interval: '30m', since: '24h', edgeId: id, ...by }),
    { everyMs: 20_000 },
  )
  return (
    <section class="stack tight" aria-label="Decisions in the last 24 hours">
      <div class="row apart">
        <h2>Decisions, 24 h</h2>
        <span class="row">
          <Choices label="Goes by" name="time" choices={timeChoices} />
          <Link to={['live']} with={{ edge: id }}>
            live
          </Link>
          <Link to={['search']} with={{ edge_id: id, since: '24h', ...by }}>
            search
          </Link>
        </span>
      </div>
      <Answered answer={stats}>
        {(found) =>
          found.counts.length === 0 ? (
            <Empty>
              No record of the last 24 hours was about {hostports[0] ?? 'this edge'}. Records come from your
              ingress: see docs/ingress.md.
            </Empty>
          ) : (
            <DecisionsChart
              label="Decisions by half an hour"
              stats={found}
              height={130}
              onRange={(fromMs, toMs) =>
                go(
                  hrefTo(['search'], {
                    edge_id: id,
                    ...by,
                    since: new Date(fromMs).toISOString(),
                    until: new Date(toMs).toISOString(),
                  }),
                )
              }
            />
          )
        }
      </Answered>
    </section>
  )
}
