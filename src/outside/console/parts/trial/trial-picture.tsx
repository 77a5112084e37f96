/** The changes by a draft, over time: decisions now and with the draft, and which decision becomes which. */
import type { TrialDecisions } from '../../../../words/shape/trial.js'
import { type ChartSeries, TimeChart } from '../../kit/charts/time-chart.js'

const decisions = ['allow', 'block', 'deny'] as const

type Points = TrialDecisions['over_time']['points']

const height = 110

export function TrialPicture({ overTime }: { readonly overTime: TrialDecisions['over_time'] }) {
  const { interval_seconds, points } = overTime
  const timesMs = timesOf(points, interval_seconds * 1000)
  if (timesMs.length < 2) return null
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]))
  const decided = (when: 'before' | 'after'): ChartSeries[] =>
    decisions.map((name) => ({
      label: name,
      color: name,
      values: timesMs.map((ms) => byTime.get(ms)?.[when][name] ?? 0),
    }))
  const changed = changedSeries(timesMs, byTime)
  return (
    <div class="stack tight">
      {changed.length > 0 && (
        <>
          <h3>What would change</h3>
          <TimeChart
            label="Records that would be decided differently, over time"
            kind="stacked"
            {...{ timesMs, height }}
            series={changed}
          />
        </>
      )}
      <h3>Now</h3>
      <TimeChart label="Decisions now" kind="stacked" {...{ timesMs, height }} series={decided('before')} />
      <h3>With the draft</h3>
      <TimeChart
        label="Decisions with the draft"
        kind="stacked"
        {...{ timesMs, height }}
        series={decided('after')}
      />
    </div>
  )
}

/** All intervals from the first to the last, those without records included. */
function timesOf(points: Points, intervalMs: number): number[] {
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined) return []
  const from = Date.parse(first.at)
  const count = Math.round((Date.parse(last.at) - from) / intervalMs) + 1
  return Array.from({ length: count }, (_, index) => from + index * intervalMs)
}

/** A series for each pair of decisions, in the color of the one that it becomes. */
function changedSeries(
  timesMs: readonly number[],
  byTime: ReadonlyMap<number, Points[number]>,
): ChartSeries[] {
  const pairs = decisions.flatMap((after) => decisions.map((before) => ({ before, after })))
  return pairs.flatMap(({ before, after }) => {
    const values = timesMs.map(
      (ms) =>
        byTime.get(ms)?.changed.find((each) => each.before === before && each.after === after)?.records ?? 0,
    )
    return values.some((value) => value > 0) ? [{ label: `${before} → ${after}`, color: after, values }] : []
  })
}
