/** The events that were sent to a destination over time, how long that took, and how many waited. */
import type { BacklogHistory } from '../../../../words/shape/backlog-history.js'
import type { DeliveryStats } from '../../../../words/shape/stats.js'
import { useAnswer } from '../../data/asking/api.js'
import { intervalOf, ranges, timesBetween } from '../../data/decisions/ranges.js'
import { TimeChart } from '../../kit/charts/time-chart.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Answered } from '../../parts/states.js'

const askEveryMs = 10_000

export function DeliveryChart({ id }: { readonly id: string }) {
  const range = choiceIn('range', ranges)
  const interval = intervalOf(range)
  const answer = useAnswer(
    [id, range],
    (api) => api.deliveryStats({ since: range, interval, destinationId: id }),
    { everyMs: askEveryMs },
  )
  return (
    <section class="panel stack" aria-label="Deliveries over time">
      <div class="row apart">
        <h2>Events per {interval}</h2>
        <Choices label="Range" name="range" choices={ranges} />
      </div>
      <Answered answer={answer}>
        {(stats) => (
          <>
            <Outcomes stats={stats} />
            <div class="split even">
              <Percentiles stats={stats} of="took_ms" title="How long requests took" />
              <Percentiles stats={stats} of="age_ms" title="How old events were when they were accepted" />
            </div>
          </>
        )}
      </Answered>
      <Backlog id={id} />
    </section>
  )
}

type Point = DeliveryStats['counts'][number]

interface ChartProps {
  readonly stats: DeliveryStats
}

/** The points of all intervals: an answer leaves out those without requests. */
function pointsOf(stats: DeliveryStats): {
  readonly timesMs: number[]
  readonly points: (Point | undefined)[]
} {
  const known = new Map(stats.counts.map((point) => [Date.parse(point.at), point]))
  const timesMs = timesBetween(stats)
  return { timesMs, points: timesMs.map((ms) => known.get(ms)) }
}

function Outcomes({ stats }: ChartProps) {
  const { timesMs, points } = pointsOf(stats)
  const values = (of: 'delivered' | 'failed' | 'dead_lettered') => points.map((point) => point?.[of] ?? 0)
  return (
    <TimeChart
      label={`Events sent from ${stats.since} to ${stats.until}`}
      kind="stacked"
      timesMs={timesMs}
      series={[
        { label: 'delivered', color: 'allow', values: values('delivered') },
        { label: 'failed, to be sent again', color: 'block', values: values('failed') },
        { label: 'dead letters', color: 'deny', values: values('dead_lettered') },
      ]}
    />
  )
}

const smallHeight = 130

interface PercentilesProps extends ChartProps {
  readonly of: 'took_ms' | 'age_ms'
  readonly title: string
}

function Percentiles({ stats, of, title }: PercentilesProps) {
  const { timesMs, points } = pointsOf(stats)
  const values = (rank: 'p50' | 'p95' | 'p99') => points.map((point) => point?.[of]?.[rank] ?? null)
  return (
    <div>
      <h3>{title}</h3>
      <TimeChart
        label={title}
        kind="lines"
        unit="ms"
        height={smallHeight}
        timesMs={timesMs}
        series={[
          { label: 'half of them', color: 'first', values: values('p50') },
          { label: '95 %', color: 'second', values: values('p95') },
          { label: '99 %', color: 'third', values: values('p99') },
        ]}
      />
    </div>
  )
}

const minuteMs = 60_000

function Backlog({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.backlogHistory(id), { everyMs: minuteMs })
  return (
    <Answered answer={answer}>
      {(history) =>
        history.points.length === 0 ? (
          <p class="quiet">No event has waited for long since the last start, or within the last day.</p>
        ) : (
          <BacklogChart history={history} />
        )
      }
    </Answered>
  )
}

function BacklogChart({ history: { since, until, points } }: { readonly history: BacklogHistory }) {
  const minuteOf = (at: string): number => Math.floor(Date.parse(at) / minuteMs) * minuteMs
  const known = new Map(points.map(({ at, events }) => [minuteOf(at), events]))
  const timesMs: number[] = []
  for (let ms = minuteOf(since); ms <= Date.parse(until); ms += minuteMs) timesMs.push(ms)
  return (
    <div>
      <h3>Events that waited</h3>
      <TimeChart
        label="Events that waited"
        kind="lines"
        height={smallHeight}
        timesMs={timesMs}
        series={[{ label: 'backlog', color: 'block', values: timesMs.map((ms) => known.get(ms) ?? 0) }]}
      />
    </div>
  )
}
