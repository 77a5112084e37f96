/** Decisions over time, stacked: what was let in and what not. */
import type { Stats } from '../../../../words/shape/stats.js'
import { timesBetween } from '../../data/decisions/ranges.js'
import { type ChartMark, type ChartSeries, TimeChart } from '../../kit/charts/time-chart.js'

const decisions = ['allow', 'block', 'deny'] as const

interface DecisionsChartProps {
  readonly label: string
  readonly stats: Stats
  readonly marks?: readonly ChartMark[]
  readonly onMark?: (mark: ChartMark) => void
  readonly onRange?: (fromMs: number, toMs: number) => void
  readonly height?: number
}

export function DecisionsChart({ stats, ...others }: DecisionsChartProps) {
  const timesMs = timesBetween(stats)
  const indexOf = new Map(timesMs.map((ms, index) => [ms, index]))
  const series = decisions.map((decision): ChartSeries => {
    const values = timesMs.map(() => 0)
    for (const point of stats.counts) {
      const index = indexOf.get(Date.parse(point.at))
      if (index !== undefined) values[index] = (values[index] ?? 0) + point[decision]
    }
    return { label: decision, color: decision, values }
  })
  return <TimeChart kind="stacked" timesMs={timesMs} series={series} {...others} />
}

/** How many in all. */
export const totalOf = (stats: Stats, decision: (typeof decisions)[number]): number =>
  stats.counts.reduce((sum, point) => sum + point[decision], 0)
