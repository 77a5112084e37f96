/**
 * The first page: is it working, what is let in and what not, is a destination stuck, what changed, what needs a hand.
 * Each number leads to the list behind it.
 */
import type { Change } from '../../shape/change-schema.js'
import type { Stats } from '../../shape/stats.js'
import { firstOf, useAnswer } from '../data/asking/api.js'
import { intervalOf, ranges, startOf } from '../data/decisions/ranges.js'
import { go, hrefTo } from '../data/location.js'
import { number, percent } from '../data/texts/format.js'
import { DecisionsChart, totalOf } from '../parts/charts/decisions-chart.js'
import type { ChartMark } from '../parts/charts/time-chart.js'
import { Choices, choiceIn } from '../parts/forms/choices.js'
import { Link } from '../parts/link.js'
import { Answered } from '../parts/states.js'
import { DecisionWord } from '../parts/words.js'
import { AttentionPanel, StateBar } from './overview/attention.js'
import { authorOf, ChangesPanel } from './overview/changes-panel.js'
import { DestinationsPanel } from './overview/destinations-panel.js'
import { Leaders } from './overview/leaders.js'
import { StoppedPanel } from './overview/stopped-panel.js'

const changesMax = 50

export function Overview() {
  const range = choiceIn('range', ranges)
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
      <div class="split">
        <DecisionsPanel range={range} changes={changed} />
        <Answered answer={overview}>
          {({ destinations, destinations_left_out }) => (
            <DestinationsPanel statuses={destinations} leftOut={destinations_left_out} />
          )}
        </Answered>
      </div>
      <div class="split">
        <StoppedPanel range={range} />
        <div class="stack">
          <Answered answer={overview}>
            {({ attention, attention_left_out }) => (
              <AttentionPanel attention={attention} leftOut={attention_left_out} />
            )}
          </Answered>
          <ChangesPanel answer={changes} />
        </div>
      </div>
      <Leaders range={range} />
    </div>
  )
}

interface DecisionsPanelProps {
  readonly range: string
  readonly changes: readonly Change[]
}

function DecisionsPanel({ range, changes }: DecisionsPanelProps) {
  const answer = useAnswer([range], (api) => api.stats({ since: range, interval: intervalOf(range) }), {
    everyMs: 10_000,
  })
  return (
    <section class="panel stack" aria-labelledby="decisions">
      <div class="row apart">
        <h2 id="decisions">Decisions</h2>
        <Choices label="Time" name="range" choices={ranges} />
      </div>
      <Answered answer={answer}>
        {(stats) => (
          <>
            <Totals stats={stats} range={range} />
            <DecisionsChart
              label="Decisions over time"
              stats={stats}
              marks={changes.map(markOf)}
              onMark={({ atMs }) => go(hrefTo(['changes'], { until: new Date(atMs + 1000).toISOString() }))}
              onRange={(fromMs, toMs) =>
                go(
                  hrefTo(['search'], {
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

function Totals({ stats, range }: { readonly stats: Stats; readonly range: string }) {
  const decisions = ['allow', 'block', 'deny'] as const
  const all = decisions.reduce((sum, decision) => sum + totalOf(stats, decision), 0)
  return (
    <div class="row totals">
      {decisions.map((decision) => (
        <Link key={decision} to={['search']} with={{ decision, since: range }}>
          <DecisionWord decision={decision} /> <strong>{number(totalOf(stats, decision))}</strong>{' '}
          <span class="quiet">{percent(totalOf(stats, decision), all)}</span>
        </Link>
      ))}
    </div>
  )
}
