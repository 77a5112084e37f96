/** Metrics registries and their Prometheus text, of one process or several. The only file that uses prom-client. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { version as nodeVersion } from 'node:process'
import { type Aggregator, AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'
import gc from 'prom-client/lib/metrics/gc.js'
import heapSize from 'prom-client/lib/metrics/heapSizeAndUsed.js'
import heapSpaces from 'prom-client/lib/metrics/heapSpacesSizeAndUsed.js'
import memory from 'prom-client/lib/metrics/osMemoryHeap.js'
import processorTime from 'prom-client/lib/metrics/processCpuTotal.js'
import filesMax from 'prom-client/lib/metrics/processMaxFileDescriptors.js'
import openFiles from 'prom-client/lib/metrics/processOpenFileDescriptors.js'
import startTime from 'prom-client/lib/metrics/processStartTime.js'
import nodeInfo from 'prom-client/lib/metrics/version.js'
import { every, monotonicMs } from '../clock.js'
import { version } from '../package.js'

export type { Registry }

/** Metrics of one process, in a form that can be sent to the process that adds them up. */
export type MetricsSnapshot = readonly object[]

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE

/**
 * The metrics of `collectDefaultMetrics`, except for the event loop's lag: to measure that, it wakes the process 100 times a
 * second, which was most of the work of an idle Weir. And except for three about handles, requests and resources: each has
 * a gauge that ends in `_total`, as only counters may.
 */
const ofEveryProcess = [
  processorTime,
  startTime,
  memory,
  openFiles,
  filesMax,
  heapSize,
  heapSpaces,
  nodeInfo,
  gc,
]

/** A registry with the metrics every Node process has: memory, processor time, event loop lag. */
export function createRegistry(): Registry {
  const registry = new Registry()
  for (const add of ofEveryProcess) add(registry, {})
  addActiveResources(registry)
  addEventLoopLag(registry)
  registry.registerMetric(buildInfo())
  return registry
}

function addActiveResources(registry: Registry): void {
  const gauge = new Gauge({
    name: 'nodejs_active_resources',
    help: 'Resources that keep the event loop alive: sockets, timers, requests to the system, by their type.',
    labelNames: ['type'],
    registers: [registry],
    collect() {
      gauge.reset()
      for (const type of process.getActiveResourcesInfo()) gauge.inc({ type })
    },
  })
}

const lagEveryMs = 1_000
/** How the values of several processes become one, and the value of one process in nanoseconds. */
const lagStatistics: Readonly<Record<string, readonly [Aggregator, (lag: RecordableHistogram) => number]>> = {
  min: ['min', ({ min }) => min],
  max: ['max', ({ max }) => max],
  mean: ['average', ({ mean }) => mean],
  stddev: ['average', ({ stddev }) => stddev],
  p50: ['average', (lag) => lag.percentile(50)],
  p90: ['average', (lag) => lag.percentile(90)],
  p99: ['average', (lag) => lag.percentile(99)],
}

/** How late a timer runs that is due every second. */
function addEventLoopLag(registry: Registry): void {
  const lag = createHistogram()
  let lastMs = monotonicMs()
  every(lagEveryMs, () => {
    const nowMs = monotonicMs()
    // A histogram takes nothing below 1.
    lag.record(Math.max(1, Math.round((nowMs - lastMs - lagEveryMs) * 1e6)))
    lastMs = nowMs
  })
  for (const [name, [aggregator, nanosOf]] of Object.entries(lagStatistics))
    new Gauge({
      name: `nodejs_eventloop_lag_${name}_seconds`,
      help: `Lag of the event loop, measured every second: ${name} since the process started.`,
      aggregator,
      registers: [registry],
      collect() {
        if (lag.count > 0) this.set(nanosOf(lag) / 1e9)
      },
    })
}

/** Always 1, also in the sum over several processes. */
function buildInfo(): Gauge {
  const labels = { version, node: nodeVersion.slice(1) }
  const info = new Gauge({
    name: 'weir_build_info',
    help: 'The version of Weir, and of the Node.js that runs it.',
    labelNames: Object.keys(labels),
    aggregator: 'first',
    registers: [],
  })
  info.set(labels, 1)
  return info
}

/** The counter of this name, created on first use: several occurrences may share one. */
export function counterOf(
  registry: Registry,
  name: string,
  help: string,
  labels: readonly string[],
): Counter {
  const known = registry.getSingleMetric(name)
  if (known instanceof Counter) return known
  const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] })
  return counter
}

/** How the values of several processes with equal labels become one. */
export type Combine = 'sum' | 'min' | 'max'

interface GaugeOptions {
  readonly metric: string
  readonly help: string
  readonly labels: readonly string[]
  readonly combine: Combine
}

/** The gauge of this name, created on first use. */
export function gaugeOf(registry: Registry, { metric, help, labels, combine }: GaugeOptions): Gauge {
  const known = registry.getSingleMetric(metric)
  if (known instanceof Gauge) return known
  return new Gauge({
    name: metric,
    help,
    labelNames: [...labels],
    aggregator: combine,
    registers: [registry],
  })
}

/** A value with its labels. */
export type Level<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number]

/** A gauge whose series are read whenever the metrics are: one that is not there any more disappears. */
export function levelsOf(
  registry: Registry,
  options: GaugeOptions,
): (read: () => Iterable<Level<string>>) => void {
  let readLevels: () => Iterable<Level<string>> = () => []
  const { metric, help, labels, combine } = options
  new Gauge({
    name: metric,
    help,
    labelNames: [...labels],
    aggregator: combine,
    registers: [registry],
    collect() {
      this.reset()
      // Without labels, a reset sets it to 0.
      if (labels.length === 0) this.remove()
      for (const [labels, value] of readLevels()) this.set(labels, value)
    },
  })
  return (read) => {
    readLevels = read
  }
}

/** The histogram of this name, of durations in seconds. */
export function histogramOf(
  registry: Registry,
  { metric, help, labels, buckets }: Omit<GaugeOptions, 'combine'> & { readonly buckets: readonly number[] },
): Histogram {
  return new Histogram({
    name: metric,
    help,
    labelNames: [...labels],
    buckets: [...buckets],
    registers: [registry],
  })
}

export const metricsText = (registry: Registry): Promise<string> => registry.metrics()

export const metricsSnapshot = (registry: Registry): Promise<MetricsSnapshot> => registry.getMetricsAsJSON()

/** Metrics of several processes as one text: counters and gauges with equal labels are added up. */
export const sumMetrics = (snapshots: readonly MetricsSnapshot[]): Promise<string> =>
  AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot])).metrics()
