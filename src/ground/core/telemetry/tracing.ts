/**
 * Traces, as the rooms see them: spans that begin and end, and positions in a trace, which travel in headers as the Trace
 * Context of W3C says. Who makes spans is installed once for the process, as its clock is; while no one is, `tracing()` is
 * undefined, and that look is all that a trace costs.
 */

/** A position in a trace, as its headers say it. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export interface SpanStart {
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** Undefined: it begins a trace, if the sampler says so. */
  readonly parent: TraceContext | undefined
  readonly links?: readonly TraceContext[]
  readonly attributes?: SpanAttributes
}

/** A span that is kept. */
export interface Span {
  readonly context: TraceContext
  readonly traceId: string
  readonly spanId: string
  set(attributes: SpanAttributes): void
  link(context: TraceContext): void
  /** `fault`: it failed for this reason, a word or a code. Ends it once; later calls do nothing. */
  end(fault?: string): void
}

export interface Tracing {
  /** Undefined if the span is not kept: nothing that follows it is, either. */
  begin(name: string, start: SpanStart): Span | undefined
  /** The span of the work that calls; see `within`. */
  current(): Span | undefined
  /** Does work whose span, and that of all it waits for, is this one. */
  within<T>(span: Span, work: () => T): T
}

let installed: Tracing | undefined

export const tracing = (): Tracing | undefined => installed

/** Undefined: no traces from now on. */
export function installTracing(tracing: Tracing | undefined): void {
  installed = tracing
}

/** Reads headers; empty for one that a message does not have. */
interface Headers {
  get(name: string): string
}

/** Version 00, or a later one that says more: https://www.w3.org/TR/trace-context/#traceparent-header */
const traceparentForm =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(-[!-~]{1,60})?$/
/** https://www.w3.org/TR/trace-context/#tracestate-limits */
const tracestateForm = /^[\t -~]{1,512}$/

/**
 * The position that headers name; undefined if they name none, or it is malformed. Whoever sends a message chooses its headers,
 * and these go on. Go's clients of NATS write their names with a capital.
 */
export function contextIn(headers: Headers | undefined): TraceContext | undefined {
  const traceparent = headers?.get('traceparent') || headers?.get('Traceparent')
  if (!traceparent || !traceparentForm.test(traceparent)) return undefined
  const tracestate = headers?.get('tracestate') || headers?.get('Tracestate')
  return tracestate && tracestateForm.test(tracestate) ? { traceparent, tracestate } : { traceparent }
}

/** Headers of an HTTP request, as Node has them; of one that was sent twice it makes one that is none. */
type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The position that an HTTP request names. */
export const contextOfRequest = (headers: HttpHeaders): TraceContext | undefined =>
  headers['traceparent'] === undefined ? undefined : contextIn({ get: (name) => String(headers[name] ?? '') })

/** The position as headers of a message; none if there is none. */
export const contextHeaders = (context: TraceContext | undefined): Readonly<Record<string, string>> =>
  context === undefined ? {} : { ...context }

/** Does work whose span, and that of all it waits for, is this one; as it is, if traces ended meanwhile or there is none. */
export const inSpan = <T>(span: Span | undefined, work: () => T): T =>
  span === undefined || installed === undefined ? work() : installed.within(span, work)

/** Does work as a part of the caller's span, if there is one. */
export function traced<T>(
  name: string,
  start: Omit<SpanStart, 'parent'>,
  work: () => Promise<T>,
): Promise<T> {
  const span = beginBelow(installed?.current(), name, start)
  return span === undefined ? work() : spanning(span, work)
}

/** Begins a span below another one; undefined if there is none. */
export const beginBelow = (
  parent: Span | undefined,
  name: string,
  start: Omit<SpanStart, 'parent'>,
): Span | undefined => parent && installed?.begin(name, { ...start, parent: parent.context })

/**
 * Begins a span of work that is done for several others at once: it is below the first and linked to the others, both ways, so
 * that one comes to it from each of their traces.
 */
export function beginTogether(
  spans: readonly Span[],
  name: string,
  start: Omit<SpanStart, 'parent' | 'links'>,
): Span | undefined {
  const [first, ...others] = spans
  const span =
    first &&
    installed?.begin(name, {
      ...start,
      parent: first.context,
      links: others.map(({ context }) => context),
    })
  if (span !== undefined) for (const other of others) other.link(span.context)
  return span
}

/** Does work that is all of this span, if there is one. */
export async function spanning<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work()
  try {
    const result = await inSpan(span, work)
    span.end()
    return result
  } catch (error) {
    // Its code alone: a message may hold what a client sent.
    span.end(faultOf(error))
    throw error
  }
}

const faultOf = (error: unknown): string => {
  const { code } = error as { readonly code?: unknown }
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'Error'
}
