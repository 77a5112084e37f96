/**
 * The first page: is it working, what is let in and what not, is a destination stuck, what changed, what needs a hand.
 * Each number leads to the list behind it.
 */
import type { Change } from '../../../words/shape/decisions/change-schema.js'
import type { Stats } from '../../../words/shape/stats.js'
import { maySeeDeployment } from '../data/access/session.js'
import { firstOf, useAnswer } from '../data/asking/api.js'
import { intervalOf, ranges, startOf } from '../data/decisions/ranges.js'
import { type GoesBy, goesByNow, timeChoices } from '../data/decisions/row-times.js'
import { go, hrefTo, parameter } from '../data/location.js'
import { number, percent } from '../data/texts/format.js'
import type { ChartMark } from '../kit/charts/time-chart.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { Link } from '../kit/link.js'
import { DecisionsChart, totalOf } from '../parts/charts/decisions-chart.js'
import { onDemand } from '../parts/on-demand.js'
import { Answered } from '../parts/states.js'
import { DecisionWord } from '../parts/words.js'
import { AttentionPanel, StateBar } from './overview/attention.js'
import { authorOf, ChangesPanel } from './overview/changes-panel.js'
import { DestinationsPanel } from './overview/destinations-panel.js'
import { Leaders } from './overview/leaders.js'
import { StoppedMap } from './overview/stopped-map.js'
import { StoppedPanel } from './overview/stopped-panel.js'

const DoctorDrawer = onDemand(async () => (await import('./overview/doctor-drawer.js')).DoctorDrawer)

const changesMax = 50

export function Overview() {
  const range = choiceIn('range', ranges)
  const by = goesByNow()
  const overview = useAnswer([], (api) => api.overview(), { everyMs: 5_000 })
  const changes = useAnswer(
    [range],
    (api) => firstOf(api.changes({ since: startOf(range), limit: changesMax }), changesMax),
    {
      everyMs: 60_000,
    },
  )
  const changed = changes.data?.entries ?? []
  return (
    <div class="stack">
      <h1 class="hidden">Overview</h1>
      <Answered answer={overview}>{(data) => <StateBar overview={data} />}</Answered>
      {/* Each column by itself, so that a long card leaves no gap next to it. */}
      <div class="split overview">
        <div class="stack">
          <DecisionsPanel range={range} by={by} changes={changed} />
          <StoppedPanel range={range} by={by} />
          <StoppedMap {...{ range, by }} />
        </div>
        <div class="stack">
          <AttentionPanel answer={overview} />
          <DestinationsPanel answer={overview} />
          <ChangesPanel answer={changes} />
        </div>
      </div>
      <Leaders {...{ range, by }} />
      {parameter('open') === 'deployment' && maySeeDeployment() && <DoctorDrawer />}
    </div>
  )
}

interface DecisionsPanelProps {
  readonly range: string
  readonly by: GoesBy
  readonly changes: readonly Change[]
}

function DecisionsPanel({ range, by, changes }: DecisionsPanelProps) {
  const answer = useAnswer(
    [range, by.time],
    (api) => api.stats({ since: range, interval: intervalOf(range), ...by }),
    { everyMs: 10_000 },
  )
  return (
    <section class="panel stack" aria-labelledby="decisions">
      <div class="row apart">
        <h2 id="decisions">Decisions</h2>
        <div class="row">
          <Choices label="Goes by" name="time" choices={timeChoices} />
          <Choices label="Time" name="range" choices={ranges} />
        </div>
      </div>
      <Answered answer={answer}>
        {(stats) => (
          <>
            <Totals stats={stats} range={range} by={by} />
            <DecisionsChart
              label="Decisions over time"
              stats={stats}
              marks={changes.map(markOf)}
              onMark={({ atMs }) => go(hrefTo(['changes'], { until: new Date(atMs + 1000).toISOString() }))}
              onRange={(fromMs, toMs) =>
                go(
                  hrefTo(['search'], {
                    ...by,
                    since: new Date(fromMs).toISOString(),
                    until: new Date(toMs).toISOString(),
                  }),
                )
              }
            />
          </>
        )}
      </Answered>
    </section>
  )
}

const markOf = (change: Change): ChartMark => ({
  atMs: Date.parse(change.changed_at),
  text: `${authorOf(change)}: ${change.verb} ${change.kind.replaceAll('_', ' ')} ${change.id}`,
})

interface TotalsProps extends Pick<DecisionsPanelProps, 'range' | 'by'> {
  readonly stats: Stats
}

function Totals({ stats, range, by }: TotalsProps) {
  const decisions = ['allow', 'block', 'deny'] as const
  const all = decisions.reduce((sum, decision) => sum + totalOf(stats, decision), 0)
  return (
    <div class="row totals">
      {decisions.map((decision) => (
        <Link key={decision} to={['search']} with={{ decision, since: range, ...by }}>
          <DecisionWord decision={decision} /> <strong>{number(totalOf(stats, decision))}</strong>{' '}
          <span class="quiet">{percent(totalOf(stats, decision), all)}</span>
        </Link>
      ))}
    </div>
  )
}
