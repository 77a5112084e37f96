/** The decisions that a search selects over time; a stretch that is selected becomes its time. */
import type { Stats } from '../../../shape/stats.js'
import { errorText, useAnswer } from '../../data/api.js'
import { now } from '../../data/clock.js'
import { setParameters } from '../../data/location.js'
import { optionsOf, type Selection, timeOf } from '../../data/selection.js'
import { DecisionsChart } from '../../parts/decisions-chart.js'

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

/** Of a search without a beginning: as long as logs are kept by default. */
const everMs = 30 * dayMs

export function Histogram({ selection }: { readonly selection: Selection }) {
  const { since, until, source } = selection
  const untilMs = until === '' ? now() : timeOf(until)
  const [, interval, stepMs] = zoomFor(untilMs - (since === '' ? untilMs - everMs : timeOf(since)))
  const answer = useAnswer([JSON.stringify(selection)], async (client) => {
    const { source: _, ...options } = optionsOf(selection)
    const range = { interval, ...(since === '' && { since: '30d' }) }
    const sources = source === 'any' ? (['record', 'asked'] as const) : [source]
    const [first, second] = await Promise.all(
      sources.map((each) => client.stats({ ...options, ...range, source: each })),
    )
    return { ...first!, counts: [...first!.counts, ...(second?.counts ?? [])] }
  })
  if (answer.error !== undefined) return <p class="quiet">There is no histogram: {errorText(answer.error)}</p>
  if (answer.data === undefined) return <div class="chart-room" />
  return (
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
  )
}
