/** The decisions that a search selects over time; a stretch that is selected becomes its time. */
import type { Stats } from '../../../shape/stats.js'
import { errorText, useAnswer } from '../../data/api.js'
import { setParameters } from '../../data/location.js'
import { rangeOf, type Selection, sumsFor } from '../../data/selection.js'
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

export function Histogram({ selection }: { readonly selection: Selection }) {
  const { sinceMs, untilMs } = rangeOf(selection)
  const [, interval, stepMs] = zoomFor(untilMs - sinceMs)
  const answer = useAnswer([JSON.stringify(selection)], (client) => sumsFor(client, selection, { interval }))
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
