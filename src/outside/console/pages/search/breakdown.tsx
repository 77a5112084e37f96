/** How many decisions a search selects: over time, and by country, rule, client. What is chosen there narrows the search. */
import type { Stats } from '../../../../words/shape/stats.js'
import { useAnswer } from '../../data/asking/api.js'
import { useShown } from '../../data/asking/questions.js'
import { rangeOf, type Selection, sumsFor } from '../../data/decisions/selection.js'
import { setParameters } from '../../data/location.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { number } from '../../data/texts/format.js'
import { Ranking } from '../../kit/charts/ranking.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Time } from '../../kit/time.js'
import { DecisionsChart } from '../../parts/charts/decisions-chart.js'
import { Countries } from '../../parts/charts/world-map.js'
import { Answered, Failure, Waits } from '../../parts/states.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The finest interval for a length of time that makes at most some 170 bars. */
const zooms: readonly (readonly [upToMs: number, interval: Stats['interval'], ms: number])[] = [
  [3 * hourMs, 'minute', minuteMs],
  [12 * hourMs, '5m', 5 * minuteMs],
  [36 * hourMs, '15m', 15 * minuteMs],
  [8 * dayMs, 'hour', hourMs],
  [40 * dayMs, '6h', 6 * hourMs],
]

const chartHeight = 120

const zoomFor = (lengthMs: number) =>
  zooms.find(([upToMs]) => lengthMs <= upToMs) ?? ([Infinity, 'day', dayMs] as const)

export function Histogram({ selection }: { readonly selection: Selection }) {
  const { sinceMs, untilMs } = rangeOf(selection)
  const [, interval, stepMs] = zoomFor(untilMs - sinceMs)
  const answer = useAnswer([JSON.stringify(selection)], (client) => sumsFor(client, selection, { interval }))
  useShown(answer)
  if (answer.error !== undefined) return <Failure error={answer.error} again={answer.again} />
  if (answer.data === undefined)
    return (
      <div class="chart-room">
        <Waits />
      </div>
    )
  return (
    <>
      <DecisionsChart
        label="Decisions over time"
        stats={answer.data}
        height={chartHeight}
        onRange={(fromMs, toMs) =>
          setParameters(
            {
              since: new Date(Math.floor(fromMs / stepMs) * stepMs).toISOString(),
              until: new Date(Math.ceil(toMs / stepMs) * stepMs).toISOString(),
              open: '',
            },
            { replace: false },
          )
        }
      />
      <Reached stats={answer.data} />
    </>
  )
}

/** Counting has taken its time: how far it came. */
function Reached({ stats: { reached_at } }: { readonly stats: Stats }) {
  if (reached_at === null) return null
  return (
    <p class="quiet" role="status">
      Counted back to <Time at={reached_at} />: there was no time for more. A shorter time, or a client, an
      edge or a decision to choose above, makes it whole.
    </p>
  )
}

const dimensions = [
  ['none', 'nothing'],
  ['country', 'country'],
  ['asn', 'AS'],
  ['rule', 'rule'],
  ['policy', 'policy'],
  ['edge', 'edge'],
  ['server_name', 'name'],
  ['client_ip', 'client'],
] as const

type Dimension = (typeof dimensions)[number][0]

/** How a search is narrowed to a value. */
const parameters: Readonly<Record<Exclude<Dimension, 'none'>, string>> = {
  country: 'country',
  asn: 'asn',
  rule: 'rule_id',
  policy: 'policy',
  edge: 'edge_id',
  server_name: 'filter',
  client_ip: 'client',
}

/** As many as the API lists; of countries all, because the map shows them, if an answer may have so many for each day. */
const listedMax = 20
const countriesMax = 250
const entriesMax = 20_000

function listedOf(by: Dimension, selection: Selection): number {
  if (by !== 'country') return listedMax
  const { sinceMs, untilMs } = rangeOf(selection)
  // A range is extended to whole days.
  const days = Math.ceil((untilMs - sinceMs) / dayMs) + 1
  return Math.max(1, Math.min(countriesMax, Math.floor(entriesMax / days)))
}

export function Breakdown({ selection }: { readonly selection: Selection }) {
  const by = choiceIn('by', dimensions) as Dimension
  return (
    <section class="stack" aria-label="Counts">
      <div class="row">
        <span class="quiet">Count by</span>
        <Choices label="Count by" name="by" choices={dimensions} />
      </div>
      {by !== 'none' && <Counts key={by} by={by} selection={selection} />}
    </section>
  )
}

interface CountsProps {
  readonly by: Exclude<Dimension, 'none'>
  readonly selection: Selection
}

function Counts({ by, selection }: CountsProps) {
  const answer = useAnswer([by, JSON.stringify(selection)], (client) =>
    sumsFor(client, selection, { interval: 'day', by, values: listedOf(by, selection) }),
  )
  const choose = (value: string): void =>
    setParameters(
      {
        [parameters[by]]:
          by === 'server_name' ? `server_name == '${value.replace(/['\\]/g, '\\$&')}'` : value,
        open: '',
      },
      { replace: false },
    )
  return (
    <Answered answer={answer}>
      {(stats) => {
        const counts = summed(stats)
        if (counts.length === 0 && stats.reached_at === null)
          return <p class="quiet">Nothing in this time.</p>
        return (
          <>
            <Reached stats={stats} />
            {by === 'country' ? (
              <Countries counts={counts.map(([code, count]) => ({ code, count }))} onChoose={choose} />
            ) : (
              <Ranking
                label={`Decisions by ${by}`}
                entries={counts.map(([value, count]) => ({
                  key: value,
                  count,
                  label: (
                    <button type="button" class="as-link" title={value} onClick={() => choose(value)}>
                      {labelOf(by, value, stats)}
                    </button>
                  ),
                }))}
              />
            )}
            {stats.values_left_out > 0 && (
              <p class="quiet">{number(stats.values_left_out)} more with fewer decisions are not listed.</p>
            )}
          </>
        )
      }}
    </Answered>
  )
}

function labelOf(by: Dimension, value: string, { names }: Stats): string {
  if (by === 'rule' || by === 'edge') return nameOf(value).text
  if (by === 'asn') return [`AS${value}`, names?.[value]].filter(Boolean).join(' ')
  return value
}

/** Each value with its sum over the time, the highest first; those without a value are left out. */
function summed({ counts }: Stats): [value: string, count: number][] {
  const sums = new Map<string, number>()
  for (const { value, allow, block, deny } of counts)
    if (value !== null) sums.set(value, (sums.get(value) ?? 0) + allow + block + deny)
  return [...sums].filter(([, sum]) => sum > 0).sort(([, one], [, other]) => other - one)
}
