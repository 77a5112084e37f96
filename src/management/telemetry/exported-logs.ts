/** Log lines as log records of OpenTelemetry. They have what the log shows: what is hidden there is hidden here. */
import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { type ExportOptions, OtlpExporter, WaitingItems } from './otlp-exporter.js'
import type { Target } from './signals.js'

/** Lines that wait, of at most some kilobytes each: a longer member is cut, and further ones are left out. */
const linesWaitingMax = 2_048
const linesPerRequest = 512
const logRecordLimits = { attributeValueLengthLimit: 1_024, attributeCountLimit: 32 }
const bodyCharsMax = 2_048
const exportEveryMs = 1_000

/** pino's levels as severities: https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const severities: Readonly<Record<number, readonly [number, string]>> = {
  20: [5, 'DEBUG'],
  30: [9, 'INFO'],
  40: [13, 'WARN'],
  50: [17, 'ERROR'],
  60: [21, 'FATAL'],
}

interface Line {
  readonly level: number
  readonly time: string
  readonly msg?: string
  readonly trace_id?: string
  readonly span_id?: string
}

export class ExportedLogs {
  readonly #provider: LoggerProvider
  readonly #waiting: WaitingItems

  constructor(target: Target, resource: Resource, options: ExportOptions) {
    const exporter = new OtlpExporter('logs', target, options)
    this.#waiting = new WaitingItems(linesWaitingMax, () => exporter.dropped(1))
    const processor = new BatchLogRecordProcessor({
      exporter: this.#waiting.counted(exporter),
      maxQueueSize: this.#waiting.max,
      maxExportBatchSize: linesPerRequest,
      scheduledDelayMillis: exportEveryMs,
      exportTimeoutMillis: options.telemetry.timeoutMs,
    })
    this.#provider = new LoggerProvider({ resource, logRecordLimits, processors: [processor] })
  }

  /** Takes a line of JSON, as it was written. */
  readonly take = (text: string): void => {
    if (this.#waiting.admit()) this.#provider.getLogger('weir').emit(logRecordOf(text))
  }

  close(): Promise<void> {
    return this.#provider.shutdown()
  }
}

export function logRecordOf(text: string) {
  const { level, time, msg = '', trace_id: traceId, span_id: spanId, ...members } = JSON.parse(text) as Line
  const [severityNumber, severityText] = severities[level] ?? [0, String(level)]
  const context =
    traceId === undefined || spanId === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
  return {
    timestamp: new Date(time),
    severityNumber,
    severityText,
    body: msg.slice(0, bodyCharsMax),
    attributes: Object.fromEntries(
      Object.entries(members).map(([name, value]) => [name, attributeOf(value)]),
    ),
    context,
  }
}

const attributeOf = (value: unknown): string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : JSON.stringify(value)
