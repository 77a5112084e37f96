/**
 * The traces that events of a pack belong to, as a header of its message: so they go on in the process that delivers it, and
 * neither its bytes nor its id change. Most packs have none.
 */
import { contextIn, type TraceContext } from '../../ground/core/telemetry/tracing.js'
import { packHeaders } from './names.js'

/** A pack may hold events of thousands of records; so many of them are followed. */
export const tracesPerPackMax = 32
/** A header of a pack has room for much more, but it is stored and moved with each pack. */
const headerCharsMax = 8 * 1024

/** The value of the header; undefined for no traces. Those that do not fit are left out. */
export function formatTraces(traces: readonly TraceContext[]): string | undefined {
  const texts: string[] = []
  let chars = 2
  for (const { traceparent, tracestate } of traces.slice(0, tracesPerPackMax)) {
    const text = JSON.stringify(tracestate === undefined ? [traceparent] : [traceparent, tracestate])
    chars += text.length + 1
    if (chars > headerCharsMax) break
    texts.push(text)
  }
  return texts.length === 0 ? undefined : `[${texts.join(',')}]`
}

/** The traces of a pack, from its headers; none if there are none, or they are malformed. */
export function tracesIn(headers: { get(name: string): string } | undefined): readonly TraceContext[] {
  const text = headers?.get(packHeaders.traces)
  if (!text || text.length > headerCharsMax) return []
  try {
    const entries: unknown = JSON.parse(text)
    return Array.isArray(entries) ? entries.slice(0, tracesPerPackMax).flatMap(traceOf) : []
  } catch {
    return []
  }
}

function traceOf(entry: unknown): TraceContext[] {
  if (!Array.isArray(entry) || entry.some((part) => typeof part !== 'string')) return []
  const [traceparent = '', tracestate = ''] = entry as string[]
  const context = contextIn({ get: (name) => ({ traceparent, tracestate })[name] ?? '' })
  return context === undefined ? [] : [context]
}
