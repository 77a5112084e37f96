/** Spans by the SDK of OpenTelemetry: what `core/telemetry/tracing.ts` asks for. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type {
  Span,
  SpanAttributes,
  SpanStart,
  TraceContext,
  Tracing,
} from '../../ground/core/telemetry/tracing.js'
import { type ExportOptions, OtlpExporter, WaitingItems } from './otlp-exporter.js'
import type { SamplerName, Target, TelemetrySettings } from './signals.js'

/** Spans that wait, of at most some kilobytes each: a long attribute is cut, and further links are left out. */
const spansWaitingMax = 4_096
const spansPerRequest = 512
const spanLimits = { attributeValueLengthLimit: 512, attributeCountLimit: 32, linkCountLimit: 64 }
/** How long a span waits for others. */
const exportEveryMs = 2_000

interface SpansOptions extends ExportOptions {
  readonly telemetry: ExportOptions['telemetry'] &
    Pick<TelemetrySettings['telemetry'], 'sampler' | 'samplerArgument'>
}

const samplers: Readonly<Record<SamplerName, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
}

/** The library's queue, with a bound that counts what is beyond it. */
class BoundedProcessor extends BatchSpanProcessor {
  readonly #waiting: WaitingItems

  constructor(exporter: OtlpExporter<'traces'>, timeoutMs: number) {
    const waiting = new WaitingItems(spansWaitingMax, () => exporter.dropped(1))
    super({
      exporter: waiting.counted(exporter),
      maxQueueSize: waiting.max,
      maxExportBatchSize: spansPerRequest,
      scheduledDelayMillis: exportEveryMs,
      exportTimeoutMillis: timeoutMs,
    })
    this.#waiting = waiting
  }

  override onEnd(span: ReadableSpan): void {
    if (this.#waiting.admit()) super.onEnd(span)
  }
}

const propagator = new W3CTraceContextPropagator()

const carrierOf = {
  get: (context: TraceContext, key: string) => context[key as keyof TraceContext],
  keys: (context: TraceContext) => Object.keys(context),
}

/** A position that can't be read is none: the span begins a trace, or there is none. */
const contextOf = (position: TraceContext | undefined): Context =>
  position === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, position, carrierOf)

const kinds: Readonly<Record<SpanStart['kind'], SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

class KeptSpan implements Span {
  readonly context: TraceContext
  readonly #span: SdkSpan
  #isEnded = false

  constructor(span: SdkSpan) {
    this.#span = span
    const carrier: Record<string, string> = {}
    propagator.inject(trace.setSpan(ROOT_CONTEXT, span), carrier, {
      set: (headers, key, value) => {
        headers[key] = value
      },
    })
    this.context = carrier as unknown as TraceContext
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  get spanId(): string {
    return this.#span.spanContext().spanId
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  link(position: TraceContext): void {
    for (const link of linksOf([position])) this.#span.addLink(link)
  }

  end(fault?: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (fault !== undefined)
      this.#span.setAttribute('error.type', fault).setStatus({ code: SpanStatusCode.ERROR })
    this.#span.end()
  }
}

const linksOf = (positions: readonly TraceContext[]) =>
  positions.flatMap((position) => {
    const context = trace.getSpanContext(contextOf(position))
    return context === undefined ? [] : [{ context }]
  })

export class SdkTracing implements Tracing {
  readonly #provider: TracerProvider
  readonly #current = new AsyncLocalStorage<Span>()

  constructor(target: Target, resource: Resource, options: SpansOptions) {
    const { sampler, samplerArgument, timeoutMs } = options.telemetry
    this.#provider = new TracerProvider({
      resource,
      sampler: samplers[sampler](samplerArgument),
      spanLimits,
      spanProcessors: [new BoundedProcessor(new OtlpExporter('traces', target, options), timeoutMs)],
    })
  }

  begin(name: string, { kind, parent, links = [], attributes = {} }: SpanStart): Span | undefined {
    const options = { kind: kinds[kind], attributes, links: linksOf(links) }
    const span = this.#provider.getTracer('weir').startSpan(name, options, contextOf(parent))
    return span.isRecording() ? new KeptSpan(span) : undefined
  }

  current(): Span | undefined {
    return this.#current.getStore()
  }

  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work)
  }

  close(): Promise<void> {
    return this.#provider.shutdown()
  }
}
