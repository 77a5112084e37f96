/**
 * Start here: what a process exports to a collector of OpenTelemetry: its spans, its log, and the metrics if it is the one
 * that serves them. This file and those that it imports, but for `signals.ts`, are loaded only if a signal is on.
 */
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { sleep, uuid } from '../../ground/core/clock.js'
import { version } from '../../ground/core/package.js'
import type { LogLines } from '../../ground/core/telemetry/log.js'
import { installTracing } from '../../ground/core/telemetry/tracing.js'
import { ExportedLogs } from './exported-logs.js'
import { ExportedMetrics } from './exported-metrics.js'
import { SdkTracing } from './exported-spans.js'
import type { ExportOccurrences } from './otlp-exporter.js'
import { type TelemetrySettings, targetsOf } from './signals.js'

/** A process that stops waits this long for what was not exported yet. */
const closeWithinMs = 2_000

interface TelemetryOptions {
  readonly settings: TelemetrySettings
  readonly role: string
  readonly lines: LogLines
  readonly occurrences: ExportOccurrences
}

export class Telemetry {
  readonly #options: TelemetryOptions
  readonly #open: { close(): Promise<void> }[] = []
  readonly #instance = uuid()

  constructor(options: TelemetryOptions) {
    this.#options = options
    const { settings, role, lines, occurrences } = options
    const { telemetry } = settings
    const { traces, logs } = targetsOf(settings)
    const resource = this.#resource(role)
    if (traces !== undefined) {
      const tracing = new SdkTracing(traces, resource, { telemetry, occurrences })
      this.#open.push(tracing)
      installTracing(tracing)
    }
    if (logs !== undefined) {
      const exported = new ExportedLogs(logs, resource, { telemetry, occurrences })
      this.#open.push(exported)
      lines.copyTo(exported.take)
    }
  }

  /** `text`: what the process answers at `/metrics`. `of`: the processes whose metrics these are. */
  exportMetrics(of: string, text: () => Promise<string>): void {
    const { settings, occurrences } = this.#options
    const { metrics } = targetsOf(settings)
    if (metrics === undefined) return
    const options = { telemetry: settings.telemetry, occurrences }
    this.#open.push(new ExportedMetrics(metrics, this.#resource(of), options, text))
  }

  /** Exports what is left, if that is quick. */
  async close(): Promise<void> {
    installTracing(undefined)
    // What fails now is lost, and the process that could say so ends.
    const closing = Promise.allSettled(this.#open.map((each) => each.close()))
    const late = new AbortController()
    await Promise.race([closing, sleep(closeWithinMs, late.signal)])
    late.abort()
  }

  #resource(role: string): Resource {
    const { serviceName, resource = {} } = this.#options.settings.telemetry
    return resourceFromAttributes({
      'service.name': 'weir',
      'service.version': version,
      'service.instance.id': this.#instance,
      'weir.role': role,
      ...resource,
      ...(serviceName !== undefined && { 'service.name': serviceName }),
    })
  }
}
