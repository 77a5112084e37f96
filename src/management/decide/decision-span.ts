/** The span of a decision that someone asked for, if it is traced: it goes on with the trace that the request names. */
import { contextIn, type Span, tracing } from '../../ground/core/telemetry/tracing.js'

export const beginDecision = (
  over: 'http' | 'nats',
  headers: { get(name: string): string },
): Span | undefined =>
  tracing()?.begin('decide', {
    kind: 'server',
    parent: contextIn(headers),
    attributes: { 'weir.over': over },
  })
