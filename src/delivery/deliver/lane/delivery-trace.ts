/**
 * The spans of a pack in a deliverer, of which most have none: `deliver` for each trace that goes on in it, from its arrival
 * until each of its events has an outcome, and `request` for each request that holds some of its events.
 *
 * A request can hold events of many packs, and a pack those of many traces. It is a part of the first of them and linked to
 * the others, both ways: from each trace one comes to its requests.
 */
import {
  beginTogether,
  type Span,
  type SpanAttributes,
  tracing,
} from '../../../ground/core/telemetry/tracing.js'
import type { PulledMessage } from '../../../ground/nats/pulled-message.js'
import { tracesIn, tracesPerPackMax } from '../../wire/pack-trace.js'
import type { DestinationConfig } from '../kind/destination.js'
import { faultIn } from '../kind/outcomes.js'
import type { SendOutcome } from '../kind/sender.js'

/** The spans `deliver` of a pack, and what they and its requests say of the destination. */
export interface DeliveryTrace {
  readonly spans: readonly Span[]
  readonly destination: SpanAttributes
}

/** Undefined if none of its traces goes on. */
export function deliveryTrace(
  { headers, deliveries }: PulledMessage,
  { id, kind }: Pick<DestinationConfig, 'id' | 'kind'>,
  pack: string,
  events: number,
): DeliveryTrace | undefined {
  const traces = tracing()
  if (traces === undefined) return undefined
  const destination = { 'weir.destination.id': id, 'weir.destination.kind': kind }
  const attributes = {
    ...destination,
    'messaging.system': 'nats',
    'messaging.operation.type': 'process',
    'weir.pack.id': pack,
    'weir.pack.events': events,
    'weir.attempt': deliveries,
  }
  const spans = tracesIn(headers).flatMap(
    (parent) => traces.begin('deliver', { kind: 'consumer', parent, attributes }) ?? [],
  )
  return spans.length === 0 ? undefined : { spans, destination }
}

export function endDelivery(
  trace: DeliveryTrace | undefined,
  attributes: SpanAttributes,
  fault?: string,
): void {
  for (const span of trace?.spans ?? []) {
    span.set(attributes)
    span.end(fault)
  }
}

/** What became of the events of a pack. */
export const outcomesOf = (
  { delivered, dead_lettered, retried }: Readonly<Record<'delivered' | 'dead_lettered' | 'retried', number>>,
  dropped: number,
): SpanAttributes => ({
  'weir.events.delivered': delivered,
  'weir.events.dead_lettered': dead_lettered,
  'weir.events.retried': retried,
  'weir.events.dropped': dropped,
})

interface Requested {
  readonly job: { readonly trace: DeliveryTrace | undefined }
}

/** The span of a request with these events; undefined if none of them is traced. */
export function beginRequest(batch: readonly Requested[]): Span | undefined {
  if (tracing() === undefined) return undefined
  const packs = new Set(batch.flatMap(({ job }) => (job.trace === undefined ? [] : [job.trace])))
  const [pack] = packs
  if (pack === undefined) return undefined
  const spans = [...packs].flatMap((trace) => trace.spans).slice(0, tracesPerPackMax)
  return beginTogether(spans, 'request', {
    kind: 'client',
    attributes: { ...pack.destination, 'weir.request.events': batch.length },
  })
}

/** The message of a fault may repeat what a server says, so only its class and code are kept. */
export function endRequest(span: Span | undefined, outcome: SendOutcome): void {
  if (span === undefined) return
  const fault = faultIn(outcome)
  span.set({ 'weir.request.outcome': outcome.outcome, ...(fault && { 'weir.fault.class': fault.class }) })
  span.end(fault?.code)
}
