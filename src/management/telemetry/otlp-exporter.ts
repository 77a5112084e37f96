/**
 * Exports over OTLP/HTTP. Whatever becomes of them, Weir goes on: what can't be exported is lost and counted, the first
 * failure in a row is logged, and so is its end.
 */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http'
import {
  type IExporterMetricsHelper,
  type ISerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer'
import { messageOf } from '../../ground/core/errors.js'
import { version } from '../../ground/core/package.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Signal, Target, TelemetrySettings } from './signals.js'

export type ExportOccurrences = Pick<
  Occurrences,
  'exportFailed' | 'exportFailedAgain' | 'exportWorksAgain' | 'exportDropped'
>

export interface ExportOptions {
  readonly telemetry: Pick<TelemetrySettings['telemetry'], 'timeoutMs' | 'compression'>
  readonly occurrences: ExportOccurrences
}

const formats = {
  traces: [ProtobufTraceSerializer, TraceExporterMetricsHelper],
  metrics: [ProtobufMetricsSerializer, MetricsExporterMetricsHelper],
  logs: [ProtobufLogsSerializer, LogsExporterMetricsHelper],
} as const

type Exported<S extends Signal> =
  (typeof formats)[S][0] extends ISerializer<infer Items, unknown> ? Items : never

/** Requests of one signal at a time; another one fails at once. */
const requestsAtOnce = 4

/** Sends what it is given, once; the library tries again within the timeout. */
export class OtlpExporter<S extends Signal> {
  readonly #signal: S
  readonly #occurrences: ExportOccurrences
  readonly #exporter: OTLPExporterBase<Exported<S>>
  readonly #countOf: (items: Exported<S>) => number
  #isFailing = false

  constructor(signal: S, { url, headers }: Target, { telemetry, occurrences }: ExportOptions) {
    const [serializer, helper] = formats[signal] as unknown as readonly [
      ISerializer<Exported<S>, unknown>,
      IExporterMetricsHelper<Exported<S>>,
    ]
    this.#signal = signal
    this.#occurrences = occurrences
    this.#countOf = (items) => helper.countItems(items)
    const options = {
      url,
      headers: async () => ({ ...headers, 'Content-Type': 'application/x-protobuf' }),
      timeoutMillis: telemetry.timeoutMs,
      compression: telemetry.compression,
      concurrencyLimit: requestsAtOnce,
      agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
      userAgent: `weir/${version}`,
    }
    this.#exporter = new OTLPExporterBase(
      createOtlpHttpExportDelegate(options, serializer, 'otlp_http_exporter', helper, undefined),
    )
  }

  export(items: Exported<S>, done: (result: ExportResult) => void): void {
    const ended = (result: ExportResult): void => {
      if (result.code === ExportResultCode.SUCCESS) this.#succeeded()
      else this.#failed(this.#countOf(items), result.error)
      done(result)
    }
    try {
      this.#exporter.export(items, ended)
    } catch (error) {
      ended({ code: ExportResultCode.FAILED, error: new Error(messageOf(error)) })
    }
  }

  #succeeded(): void {
    if (this.#isFailing) this.#occurrences.exportWorksAgain({ signal: this.#signal })
    this.#isFailing = false
  }

  #failed(lost: number, error: unknown): void {
    const signal = this.#signal
    if (this.#isFailing) this.#occurrences.exportFailedAgain({ signal })
    else this.#occurrences.exportFailed({ signal, reason: reasonOf(error) })
    this.#isFailing = true
    this.dropped(lost)
  }

  /** Counts items that are lost. */
  dropped(count: number): void {
    this.#occurrences.exportDropped({ signal: this.#signal }, count)
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}

/** Without the body of an answer, which is the collector's to choose. */
function reasonOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return [messageOf(error ?? 'no answer').slice(0, 200), ...(code === undefined ? [] : [`(${code})`])].join(
    ' ',
  )
}

interface BatchExporter<Item> {
  export(items: Item[], done: (result: ExportResult) => void): void
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
}

/** How many items of a signal may wait for their export: what comes beyond it is lost. */
export class WaitingItems {
  readonly max: number
  readonly #dropped: () => void
  #waiting = 0

  constructor(max: number, dropped: () => void) {
    this.max = max
    this.#dropped = dropped
  }

  /** Is there room for one more? It then waits until it is exported. */
  admit(): boolean {
    if (this.#waiting < this.max) this.#waiting += 1
    else {
      this.#dropped()
      return false
    }
    return true
  }

  /** The exporter, whose items do not wait any more when their export has ended. */
  counted<Item>(exporter: BatchExporter<Item>): BatchExporter<Item> {
    return {
      export: (items, done) =>
        exporter.export(items, (result) => {
          this.#waiting -= items.length
          done(result)
        }),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    }
  }
}
