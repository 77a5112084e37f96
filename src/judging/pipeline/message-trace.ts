/**
 * The spans of a message in a pipeline, of which most have none: `receive`, from its arrival until it is acknowledged or
 * given back, and below it `evaluate`, the walk of its records, and `produce` for each pack that got some of its events, until
 * that is stored.
 */
import { now } from '../../ground/core/clock.js'
import { beginBelow, contextIn, type Span, tracing } from '../../ground/core/telemetry/tracing.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { CountVector } from './counts.js'

/** Undefined if it is not kept: its publisher does not keep it, and the sampler begins no trace. */
export function messageTrace(message: PulledMessage, stream: string): MessageTrace | undefined {
  const traces = tracing()
  if (traces === undefined) return undefined
  const { subject, data, sequence, deliveries, storedAtMs, headers } = message
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'messaging.destination.name': subject,
    'messaging.message.body.size': data.length,
    'weir.stream': stream,
    'weir.sequence': sequence,
    'weir.attempt': deliveries,
    'weir.waited_ms': Math.max(0, now() - storedAtMs),
  }
  const span = traces.begin('receive', { kind: 'consumer', parent: contextIn(headers), attributes })
  return span && new MessageTrace(span)
}

export class MessageTrace {
  readonly span: Span
  #evaluating: Span | undefined

  constructor(span: Span) {
    this.span = span
  }

  evaluating(): void {
    this.#evaluating = beginBelow(this.span, 'evaluate', { kind: 'internal' })
  }

  evaluated({ records, bad }: Pick<CountVector, 'records' | 'bad'>): void {
    this.#evaluating?.set({ 'weir.records': records, 'weir.records.bad': bad })
    this.#evaluating?.end()
  }

  /** A pack of this destination has some of its events. */
  producing(destination: string): Span | undefined {
    const attributes = { 'messaging.system': 'nats', 'weir.destination.id': destination }
    return beginBelow(this.span, 'produce', { kind: 'producer', attributes })
  }

  end(fault?: string): void {
    this.#evaluating?.end(fault)
    this.span.end(fault)
  }
}
