/** The one file that knows prom-client: registries, and what one registry or several say in Prometheus' text. */
import { version as nodeVersion } from 'node:process'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { version } from './version.js'

export type { Registry }

/** What a process says of itself, in a form that travels to the process that adds them up. */
export type MetricsSnapshot = readonly object[]

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE

/** A registry with the metrics every Node process has: memory, processor time, event loop lag. */
export function createRegistry(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  registry.registerMetric(buildInfo())
  return registry
}

/** Always 1, also where several processes are added up. */
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

/** A counter of this name, made when first asked for: several occurrences may share one. */
export function counterOf(
  registry: Registry,
  name: string,
  help: string,
  labels: readonly string[],
): Counter {
  const known = registry.getSingleMetric(name)
  if (known instanceof Counter) return known
  const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] })
  if (labels.length === 0) counter.inc(0)
  return counter
}

/** A gauge of this name, made when first asked for. */
export function gaugeOf(registry: Registry, name: string, help: string, labels: readonly string[]): Gauge {
  const known = registry.getSingleMetric(name)
  if (known instanceof Gauge) return known
  return new Gauge({ name, help, labelNames: [...labels], registers: [registry] })
}

export const metricsText = (registry: Registry): Promise<string> => registry.metrics()

export const metricsSnapshot = (registry: Registry): Promise<MetricsSnapshot> => registry.getMetricsAsJSON()

/** The metrics of several processes as one text: counters and gauges of equal labels are added up. */
export const sumMetrics = (snapshots: readonly MetricsSnapshot[]): Promise<string> =>
  AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot])).metrics()
