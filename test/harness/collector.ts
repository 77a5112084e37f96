/** The collector of OpenTelemetry, which writes what it takes to files: what Weir exports is read by a program of others. */
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePorts } from './free-ports.js'
import { goProgram } from './go-program.js'
import { runProgram } from './processes.js'
import { tempDir } from './temp-dir.js'
import { until } from './weir.js'

/** A value of an attribute, in the JSON of OTLP. */
type AnyValue = Readonly<Record<string, unknown>>
interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

type Attributes = Readonly<Record<string, unknown>>

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly attributes: Attributes
  readonly resource: Attributes
  readonly startMs: number
  readonly endMs: number
  readonly isError: boolean
}

export interface CollectedPoint {
  readonly name: string
  readonly type: 'sum' | 'gauge' | 'histogram'
  readonly unit: string
  readonly description: string
  readonly attributes: Attributes
  readonly resource: Attributes
  readonly timeNs: string
  readonly value: number
  readonly count?: number
  readonly bounds?: readonly number[]
  readonly counts?: readonly number[]
}

interface CollectedLog {
  readonly body: string
  readonly severity: string
  readonly severityNumber: number
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Attributes
  readonly resource: Attributes
}

export interface Collector {
  readonly url: string
  spans(): CollectedSpan[]
  points(): CollectedPoint[]
  logs(): CollectedLog[]
  /** All that it took, as text. */
  text(): string
  stop(): Promise<unknown>
}

const signals = ['traces', 'metrics', 'logs'] as const

/** `port`: of one that was stopped. Or why this machine can't build it. */
export async function startCollector(
  t: { teardown(close: () => unknown): void },
  port?: number,
): Promise<Collector | { readonly missing: string }> {
  const found = goProgram('test/integration/otel-collector')
  if ('missing' in found) return found
  const [free = 0] = port === undefined ? await freePorts(1) : [port]
  const dir = tempDir(t)
  const fileOf = (signal: string): string => join(dir, `${signal}.json`)
  const running = runProgram(found.program, [JSON.stringify(configuration(free, fileOf))])
  t.teardown(() => running.stop())
  await until(
    () => `the collector listens:\n${running.output()}`,
    () => isListening(free),
  )
  const linesOf = (signal: string): unknown[] => linesIn(fileOf(signal))
  return {
    url: `http://127.0.0.1:${free}`,
    spans: () => linesOf('traces').flatMap(spansIn),
    points: () => linesOf('metrics').flatMap(pointsIn),
    logs: () => linesOf('logs').flatMap(logsIn),
    text: () => signals.map((signal) => textOf(fileOf(signal))).join('\n'),
    stop: () => running.stop(),
  }
}

const configuration = (port: number, fileOf: (signal: string) => string): object => ({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
  exporters: Object.fromEntries(
    signals.map((signal) => [`file/${signal}`, { path: fileOf(signal), flush_interval: '100ms' }]),
  ),
  service: {
    pipelines: Object.fromEntries(
      signals.map((signal) => [signal, { receivers: ['otlp'], exporters: [`file/${signal}`] }]),
    ),
  },
})

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/** The last line may not be complete yet. */
const linesIn = (file: string): unknown[] =>
  textOf(file)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

// The JSON of OTLP, as far as it is looked at; a member that is missing has its default.

type Grouped<Name extends string, Scope extends string, Item> = {
  readonly [N in Name]: readonly ({
    readonly resource?: { readonly attributes?: readonly KeyValue[] }
  } & { readonly [S in Scope]: readonly Item[] })[]
}

interface SpanJson extends Pick<CollectedSpan, 'traceId' | 'spanId' | 'name' | 'kind'> {
  readonly parentSpanId?: string
  readonly links?: CollectedSpan['links']
  readonly attributes?: readonly KeyValue[]
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status?: { readonly code?: number }
}

interface PointJson {
  readonly attributes?: readonly KeyValue[]
  readonly timeUnixNano: string
  readonly asDouble?: number
  readonly asInt?: string
  readonly sum?: number
  readonly count?: string
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly string[]
}

interface MetricJson {
  readonly name: string
  readonly unit?: string
  readonly description?: string
  readonly sum?: { readonly dataPoints: readonly PointJson[] }
  readonly gauge?: { readonly dataPoints: readonly PointJson[] }
  readonly histogram?: { readonly dataPoints: readonly PointJson[] }
}

interface LogJson {
  readonly body: AnyValue
  readonly severityText: string
  readonly severityNumber: number
  readonly traceId?: string
  readonly spanId?: string
  readonly attributes?: readonly KeyValue[]
}

const attributesOf = (pairs: readonly KeyValue[] = []): Attributes =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plainValue(value)]))

function plainValue({ intValue, ...others }: AnyValue): unknown {
  return intValue === undefined ? Object.values(others)[0] : Number(intValue)
}

const msOf = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000

const spansIn = (line: unknown): CollectedSpan[] =>
  (
    line as Grouped<'resourceSpans', 'scopeSpans', { readonly spans: readonly SpanJson[] }>
  ).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ traceId, spanId, name, kind, ...span }) => ({
        traceId,
        spanId,
        name,
        kind,
        parentSpanId: span.parentSpanId ?? '',
        links: (span.links ?? []).map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource?.attributes),
        startMs: msOf(span.startTimeUnixNano),
        endMs: msOf(span.endTimeUnixNano),
        isError: span.status?.code === 2,
      })),
  )

const pointTypes = ['sum', 'gauge', 'histogram'] as const

const pointsIn = (line: unknown): CollectedPoint[] =>
  (
    line as Grouped<'resourceMetrics', 'scopeMetrics', { readonly metrics: readonly MetricJson[] }>
  ).resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .flatMap((metric) =>
        pointTypes.flatMap((type) =>
          (metric[type]?.dataPoints ?? []).map((point) => ({
            name: metric.name,
            type,
            unit: metric.unit ?? '',
            description: metric.description ?? '',
            attributes: attributesOf(point.attributes),
            resource: attributesOf(resource?.attributes),
            timeNs: point.timeUnixNano,
            value: Number(point.asDouble ?? point.asInt ?? point.sum ?? 0),
            ...(type === 'histogram' && {
              count: Number(point.count),
              bounds: point.explicitBounds ?? [],
              counts: (point.bucketCounts ?? []).map(Number),
            }),
          })),
        ),
      ),
  )

const logsIn = (line: unknown): CollectedLog[] =>
  (
    line as Grouped<'resourceLogs', 'scopeLogs', { readonly logRecords: readonly LogJson[] }>
  ).resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs
      .flatMap(({ logRecords }) => logRecords)
      .map((record) => ({
        body: String(plainValue(record.body)),
        severity: record.severityText,
        severityNumber: record.severityNumber,
        traceId: record.traceId ?? '',
        spanId: record.spanId ?? '',
        attributes: attributesOf(record.attributes),
        resource: attributesOf(resource?.attributes),
      })),
  )
