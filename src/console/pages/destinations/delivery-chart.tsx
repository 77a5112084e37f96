/** What was sent to a destination over time. */
import type { DeliveryStats } from '../../../shape/stats.js'
import { useAnswer } from '../../data/api.js'
import { Choices, choiceIn } from '../../parts/choices.js'
import { Answered } from '../../parts/states.js'
import { TimeChart } from '../../parts/time-chart.js'

const ranges = [
  ['1h', 'Hour'],
  ['24h', 'Day'],
  ['7d', 'Week'],
] as const

interface Grain {
  readonly interval: DeliveryStats['interval']
  readonly ms: number
}

const grains: Readonly<Record<string, Grain>> = {
  '1h': { interval: 'minute', ms: 60_000 },
  '24h': { interval: 'hour', ms: 3_600_000 },
  '7d': { interval: 'hour', ms: 3_600_000 },
}

const askEveryMs = 10_000

export function DeliveryChart({ id }: { readonly id: string }) {
  const range = choiceIn('range', ranges)
  const { interval, ms } = grains[range]!
  const answer = useAnswer([id, range], (api) => api.deliveryStats({ since: range, interval, values: 20 }), {
    everyMs: askEveryMs,
  })
  return (
    <section class="panel stack" aria-label="Deliveries over time">
      <div class="row apart">
        <h2>Events per {interval}</h2>
        <Choices label="Range" name="range" choices={ranges} />
      </div>
      <Answered answer={answer}>{(stats) => <Chart stats={stats} id={id} ms={ms} />}</Answered>
    </section>
  )
}

interface ChartProps {
  readonly id: string
  readonly stats: DeliveryStats
  readonly ms: number
}

function Chart({ id, stats, ms }: ChartProps) {
  const { since, until, counts, values_left_out: leftOut } = stats
  const own = new Map(counts.filter(({ value }) => value === id).map((each) => [Date.parse(each.at), each]))
  const timesMs: number[] = []
  for (let at = Date.parse(since); at < Date.parse(until); at += ms) timesMs.push(at)
  const values = (of: 'delivered' | 'failed' | 'dead_lettered') => timesMs.map((at) => own.get(at)?.[of] ?? 0)
  if (own.size === 0 && leftOut > 0)
    return <p class="quiet">Other destinations have more events, and only 20 are counted here.</p>
  return (
    <TimeChart
      label={`Events sent from ${since} to ${until}`}
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
