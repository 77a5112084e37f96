/** What was decided at an edge in the last day, over time. */
import type { Stats } from '../../../shape/stats.js'
import { useAnswer } from '../../data/api.js'
import type { Edge } from '../../data/edges.js'
import { go, hrefTo } from '../../data/location.js'
import { Link } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { TimeChart } from '../../parts/time-chart.js'

const decisions = ['allow', 'block', 'deny'] as const
const hourMs = 3_600_000

export function EdgeTraffic({ edge: { id, hostports } }: { readonly edge: Edge }) {
  const stats = useAnswer(
    [id],
    (client) => client.stats({ interval: 'hour', since: '24h', filter: `edge_id == '${id}'` }),
    { everyMs: 20_000 },
  )
  return (
    <section class="stack tight" aria-label="Decisions in the last 24 hours">
      <div class="row apart">
        <h2>Decisions, 24 h</h2>
        <span class="row">
          <Link to={['live']} with={{ edge: id }}>
            live
          </Link>
          <Link to={['search']} with={{ edge_id: id, since: '24h' }}>
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
            <Chart id={id} stats={found} />
          )
        }
      </Answered>
    </section>
  )
}

function Chart({ id, stats: { since, until, counts } }: { readonly id: string; readonly stats: Stats }) {
  const [from, to] = [Date.parse(since), Date.parse(until)]
  const timesMs = Array.from({ length: Math.ceil((to - from) / hourMs) }, (_, index) => from + index * hourMs)
  const byTime = new Map(counts.map((each) => [Date.parse(each.at), each]))
  return (
    <TimeChart
      label="Decisions by hour"
      kind="stacked"
      height={130}
      timesMs={timesMs}
      series={decisions.map((name) => ({
        label: name,
        color: name,
        values: timesMs.map((ms) => byTime.get(ms)?.[name] ?? 0),
      }))}
      onRange={(fromMs, toMs) =>
        go(
          hrefTo(['search'], {
            edge_id: id,
            since: new Date(fromMs).toISOString(),
            until: new Date(toMs).toISOString(),
          }),
        )
      }
    />
  )
}
