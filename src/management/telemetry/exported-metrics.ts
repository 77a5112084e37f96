/**
 * The metrics of `/metrics` as those of OpenTelemetry, read from Prometheus' text: so both always say the same. A name, its
 * labels and its description stay as they are. A counter becomes a monotonic cumulative sum, a gauge a gauge, a histogram a
 * histogram with explicit bounds; a name that ends in seconds or bytes gives the unit.
 */
import { type HrTime, ValueType } from '@opentelemetry/api'
import { hrTime } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { version } from '../../ground/core/package.js'
import { type ExportOptions, OtlpExporter } from './otlp-exporter.js'
import { type Family, familiesIn, type Sample } from './prometheus-text.js'
import type { Target, TelemetrySettings } from './signals.js'

interface MetricsOptions extends ExportOptions {
  readonly telemetry: ExportOptions['telemetry'] & Pick<TelemetrySettings['telemetry'], 'metricsEveryMs'>
}

export class ExportedMetrics {
  readonly #provider: MeterProvider

  /** `text`: Prometheus' text. */
  constructor(target: Target, resource: Resource, options: MetricsOptions, text: () => Promise<string>) {
    const { metricsEveryMs, timeoutMs } = options.telemetry
    const exporter = new OtlpExporter('metrics', target, options)
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: metricsEveryMs,
      exportTimeoutMillis: Math.min(metricsEveryMs, timeoutMs),
      metricProducers: [new TextProducer(resource, text)],
    })
    this.#provider = new MeterProvider({ resource, readers: [reader] })
  }

  /** Exports them a last time. */
  close(): Promise<void> {
    return this.#provider.shutdown()
  }
}

class TextProducer implements MetricProducer {
  readonly #resource: Resource
  readonly #text: () => Promise<string>
  /** Of sums: the processes whose counters they are may be younger. */
  readonly #startTime = hrTime()

  constructor(resource: Resource, text: () => Promise<string>) {
    this.#resource = resource
    this.#text = text
  }

  async collect(): Promise<CollectionResult> {
    const metrics = metricsIn(await this.#text(), this.#startTime, hrTime())
    const scopeMetrics = [{ scope: { name: 'weir', version }, metrics }]
    return { resourceMetrics: { resource: this.#resource, scopeMetrics }, errors: [] }
  }
}

export const metricsIn = (text: string, startTime: HrTime, endTime: HrTime): MetricData[] =>
  familiesIn(text).map((family) => metricOf(family, startTime, endTime))

function metricOf(family: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const common = {
    descriptor: {
      name: family.name,
      description: family.help,
      unit: unitOf(family.name),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const times = { startTime, endTime }
  if (family.type === 'histogram')
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(family, times) }
  const dataPoints = family.samples.map(({ labels, value }) => ({ ...times, attributes: labels, value }))
  return family.type === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
}

/** As UCUM spells them. */
const units = { seconds: 's', bytes: 'By' } as const

function unitOf(name: string): string {
  const [, unit] = /_(seconds|bytes)(?:_total)?$/.exec(name) ?? []
  return unit === undefined ? '' : units[unit as keyof typeof units]
}

/** Prometheus counts what is at most a bound; OpenTelemetry what is between two. */
function histogramsOf({ name, samples }: Family, times: { startTime: HrTime; endTime: HrTime }) {
  const series = new Map<string, Sample[]>()
  for (const sample of samples) {
    const { le, ...labels } = sample.labels
    const key = JSON.stringify(Object.entries(labels).toSorted())
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  return [...series.values()].map((parts) => {
    const buckets = parts.filter((part) => part.name === `${name}_bucket`)
    const finite = buckets.filter(({ labels }) => labels['le'] !== '+Inf')
    const counts = buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0))
    const ofSuffix = (suffix: string): number =>
      parts.find((part) => part.name === `${name}_${suffix}`)?.value ?? 0
    const { le, ...attributes } = parts[0]!.labels
    const boundaries = finite.map(({ labels }) => Number(labels['le']))
    const value = { buckets: { boundaries, counts }, sum: ofSuffix('sum'), count: ofSuffix('count') }
    return { ...times, attributes, value }
  })
}
