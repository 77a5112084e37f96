/** The generated parts of `docs/performance.md`, from the recorded ratios. */
import { table } from '../../src/words/event/markdown.js'
import { isReached, type Measure } from './bench.js'
import { planFor, type ServiceTimes } from './plan.js'
import { type RecordedRow, readRecorded } from './recorded.js'
import { serviceTimesIn } from './rows/model.js'

const figure = (ratio: number): string => `${Number(ratio.toPrecision(3)).toLocaleString('en')} ×`

const boundOf = ({ bound }: Measure): string =>
  'atLeast' in bound
    ? `≥ ${bound.atLeast.toLocaleString('en')} ×`
    : `≤ ${bound.atMost.toLocaleString('en')} ×`

const rows = (): [string, RecordedRow][] => Object.entries(readRecorded())

/** A line per measure, the row's name in its first. */
const ratios = (): string =>
  table(
    ['Row', 'Measure', 'Must reach', 'Recorded', ''],
    rows().flatMap(([row, { measures }]) =>
      measures.map((measure, index) => [
        index === 0 ? `\`${row}\`` : '',
        measure.name,
        boundOf(measure),
        figure(measure.ratio),
        isReached(measure) ? '' : 'missed',
      ]),
    ),
  )

/** Rows by the machine that they were recorded on. */
const machines = (): string => {
  const names = [...new Set(rows().map(([, { machine }]) => machine))]
  const on = (name: string) => rows().filter(([, { machine }]) => machine === name)
  return table(
    ['Recorded on', 'Rows'],
    names.map((name) => [
      name,
      on(name)
        .map(([row]) => `\`${row}\``)
        .join(', '),
    ]),
  )
}

/** CPU per record of the rows of the whole path, by process. */
const costs = (): string =>
  table(
    ['Row', 'What', 'CPU per record, µs'],
    rows().flatMap(([row, { nsPerOperation }]) =>
      row === 'end-to-end' || row === 'destinations'
        ? Object.entries(nsPerOperation)
            .filter(([name]) => !name.endsWith('time per record'))
            .map(([name, ns]) => [`\`${row}\``, name, (ns / 1_000).toFixed(1)])
        : [],
    ),
  )

const plannedRates = [100_000, 300_000, 1_000_000]
const thousands = (value: number): string => Math.round(value).toLocaleString('en')

/** The model's plans for larger deployments, and by how much it was wrong about those that were measured. */
function plans(): string {
  const recorded = readRecorded()['model']
  if (recorded === undefined) return 'Not recorded.'
  const times: ServiceTimes = serviceTimesIn(recorded)
  const [wrongBy] = recorded.measures.toSorted((a, b) => b.ratio - a.ratio)
  const error = `${Math.round((wrongBy!.ratio - 1) * 100)} %`
  return table(
    [
      ...['Records/s', 'Partitions', 'NATS servers', 'Pipelines', 'Deliverers', 'Cores in all'],
      ...['Written per server, MB/s', 'Stored, GB', '$ per month', 'Wrong by, where measured'],
    ],
    plannedRates.map((rate) => {
      const plan = planFor(rate, times)
      const { partitions, natsServers, pipelines, deliverers, cores, writtenPerServer, stored, dollars } =
        plan
      const counts = [rate, partitions, natsServers, pipelines, deliverers, cores]
      const sizes = [writtenPerServer / 1e6, stored / 1e9, dollars]
      return [...[...counts, ...sizes].map(thousands), `up to ${error}`]
    }),
  )
}

export const performanceTables = { performance: ratios, machines, costs, plans }
