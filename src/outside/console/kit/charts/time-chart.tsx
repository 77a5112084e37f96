/**
 * Values over time: bars that are stacked, or lines. A stretch can be selected with the mouse (`onRange`), and marks on the
 * time axis lead to what happened then.
 */
import { useEffect, useRef } from 'preact/hooks'
import uPlot, { type AlignedData, type Options, type Series } from 'uplot'
import { shortNumber } from '../../data/texts/format.js'

/** Colors by what they mean; `style.css` has them for both themes. */
type SeriesColor = 'allow' | 'block' | 'deny' | 'first' | 'second' | 'third'

export interface ChartSeries {
  readonly label: string
  readonly color: SeriesColor
  /** One for each time; null: not known. */
  readonly values: readonly (number | null)[]
}

export interface ChartMark {
  readonly atMs: number
  readonly text: string
}

interface TimeChartProps {
  /** The subject of the chart, for those who can't see it. */
  readonly label: string
  readonly kind: 'stacked' | 'lines'
  /** The beginnings of the intervals, in milliseconds, ascending. */
  readonly timesMs: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly unit?: string
  readonly marks?: readonly ChartMark[]
  readonly onMark?: ((mark: ChartMark) => void) | undefined
  /** Called with the stretch that was selected. */
  readonly onRange?: (fromMs: number, toMs: number) => void
  readonly height?: number
}

const defaultHeight = 180

export function TimeChart(props: TimeChartProps) {
  const { label, series, unit = '', height = defaultHeight, marks = [], onMark } = props
  const frame = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  const { kind, timesMs } = props
  useEffect(() => {
    if (frame.current === null) return
    const chart = drawn(frame.current, latest)
    const resized = new ResizeObserver(() => chart.setSize({ width: widthOf(frame.current), height }))
    resized.observe(frame.current)
    const theme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = (): void => chart.redraw()
    theme.addEventListener('change', redraw)
    return () => {
      theme.removeEventListener('change', redraw)
      resized.disconnect()
      chart.destroy()
    }
  }, [kind, height, JSON.stringify([timesMs, series])])
  return (
    <figure class="chart">
      <div ref={frame} role="img" aria-label={`${label}. ${summary(series, unit)}`} />
      {marks.length > 0 && <Marks marks={marks} timesMs={timesMs} onMark={onMark} />}
      <figcaption>
        {series.map((each) => (
          <span key={each.label} class={`legend ${each.color}`}>
            {each.label}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

interface MarksProps {
  readonly marks: readonly ChartMark[]
  readonly timesMs: readonly number[]
  readonly onMark: TimeChartProps['onMark']
}

/** Happenings below the time axis, at their place; those that would cover each other are one. */
function Marks({ marks, timesMs, onMark }: MarksProps) {
  const [from = 0, last = 1] = [timesMs[0], timesMs.at(-1)]
  const to = last + stepOf(timesMs)
  const groups = new Map<number, ChartMark[]>()
  for (const mark of marks) {
    const place = Math.round(((mark.atMs - from) / (to - from)) * placesOfMarks)
    if (place >= 0 && place <= placesOfMarks) groups.set(place, [...(groups.get(place) ?? []), mark])
  }
  return (
    <div class="marks">
      {[...groups].map(([place, group]) => (
        <button
          key={place}
          type="button"
          title={group.map(({ text }) => text).join('\n')}
          aria-label={group.length === 1 ? group[0]!.text : `${group.length} at this time`}
          style={{ left: `${(place / placesOfMarks) * 100}%` }}
          onClick={() => onMark?.(group[0]!)}
        >
          {group.length > 1 ? group.length : ''}
        </button>
      ))}
    </div>
  )
}

const placesOfMarks = 40

/** The length of an interval. */
const stepOf = (timesMs: readonly number[]): number => (timesMs[1] ?? 1) - (timesMs[0] ?? 0)

const widthOf = (element: HTMLElement | null): number => Math.max(120, element?.clientWidth ?? 0)

const summary = (series: readonly ChartSeries[], unit: string): string =>
  series
    .map(
      ({ label, values }) =>
        `${label}: ${shortNumber(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}${unit && ` ${unit}`}`,
    )
    .join(', ')

const tickTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
const tickSecond = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const tickDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

/** Local: the day at midnight and where ticks are days apart, else the time, with seconds if it needs them. */
function tickText(ms: number, stepSeconds: number): string {
  const date = new Date(ms)
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0
  if (stepSeconds >= 86_400 || isMidnight) return tickDay.format(date)
  return (stepSeconds < 60 ? tickSecond : tickTime).format(date)
}

/** The room for values at the left of the plot, and the free room at its right. */
const valuesPx = 62
const endPx = 10
const halfCharacterPx = 3.2

/** Would the end of the chart cut the text of a tick of the time axis? */
function isCut({ width, scales }: uPlot, tick: number, text: string): boolean {
  const { min = 0, max = 1 } = scales['x'] ?? {}
  const leftPx = ((max! - tick) / (max! - min!)) * (width - valuesPx - endPx) + endPx
  return leftPx < text.length * halfCharacterPx
}

/** The value of a color of `style.css` now, in the theme that holds. */
const colorOf = (element: Element, name: string): string =>
  getComputedStyle(element).getPropertyValue(`--${name}`).trim() || 'gray'

function drawn(frame: HTMLElement, latest: { readonly current: TimeChartProps }): uPlot {
  const { kind, timesMs, series, height = defaultHeight, onRange, unit = '' } = latest.current
  const isStacked = kind === 'stacked'
  // Drawn from the whole stack down, so that each bar covers the rest of those before it.
  const shown = isStacked ? stacked(series).toReversed() : series
  const data = [
    timesMs.map((ms) => ms / 1000),
    ...shown.map(({ values }) => values),
  ] as unknown as AlignedData
  const axis = {
    stroke: () => colorOf(frame, 'quiet'),
    grid: { stroke: () => colorOf(frame, 'line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  const options: Options = {
    width: widthOf(frame),
    height,
    padding: [8, endPx, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: onRange !== undefined, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: {
        range: () => [
          (timesMs[0] ?? 0) / 1000,
          ((timesMs.at(-1) ?? 0) + (isStacked ? stepOf(timesMs) : 0)) / 1000,
        ],
      },
      y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        // Most ticks of seconds are as wide.
        space: 64,
        values: (chart, ticks, _axis, _space, step) =>
          ticks.map((tick) => {
            const text = tickText(tick * 1000, step)
            return isCut(chart, tick, text) ? '' : text
          }),
      },
      {
        ...axis,
        size: valuesPx,
        values: (_chart, ticks) => ticks.map((tick) => `${shortNumber(tick)}${unit && ` ${unit}`}`),
      },
    ],
    series: [{}, ...shown.map((each) => seriesOf(frame, each, isStacked))],
    hooks: {
      setSelect: [
        (chart) => {
          const { left, width } = chart.select
          if (width < 4) return
          latest.current.onRange?.(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000)
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
      setCursor: [(chart) => showValues(frame, chart, latest.current)],
    },
  }
  return new uPlot(options, data, frame)
}

const seriesOf = (frame: HTMLElement, { label, color }: ChartSeries, isStacked: boolean): Series =>
  isStacked
    ? {
        label,
        fill: () => colorOf(frame, color),
        width: 0,
        paths: uPlot.paths.bars!({ size: [0.9], align: 1 }),
        points: { show: false },
      }
    : { label, stroke: () => colorOf(frame, color), width: 1.5, points: { show: false } }

/** Each series with the sum of those before it. */
function stacked(series: readonly ChartSeries[]): ChartSeries[] {
  const sums: number[] = []
  return series.map((each) => ({
    ...each,
    values: each.values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0)
      return sums[index]
    }),
  }))
}

/** The time and values under the mouse, as the chart's title. */
function showValues(
  frame: HTMLElement,
  { cursor: { idx } }: uPlot,
  { timesMs, series, unit = '' }: TimeChartProps,
): void {
  const ms = idx == null ? undefined : timesMs[idx]
  if (ms === undefined) {
    frame.removeAttribute('title')
    return
  }
  const lines = series.map(({ label, values }) =>
    `${label}: ${shortNumber(values[idx!] ?? 0)} ${unit}`.trim(),
  )
  frame.title = [new Date(ms).toLocaleString(), ...lines].join('\n')
}
