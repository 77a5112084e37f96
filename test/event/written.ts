/** What serializers and envelopes write, as text. */
import { JsonBytes } from '../../src/core/json-bytes.js'
import type { ShownDecision, TrafficEventKind } from '../../src/event/define.js'
import { compileEnvelope, compileSerializer, envelopeEnd } from '../../src/event/envelope.js'

/** The event's `object`. */
export function objectJson<R>(kind: TrafficEventKind<R>, fields?: readonly string[]) {
  const serialize = compileSerializer(kind, fields)
  return (record: R, decided: ShownDecision): string => {
    const out = new JsonBytes()
    serialize(record, decided, out)
    return Buffer.from(out.take()).toString()
  }
}

/** The event without its line feed. */
export function eventJson(
  { kindName, accountId, eventId }: Readonly<Record<'kindName' | 'accountId' | 'eventId', string>>,
  timestamp: string,
  object: string,
): string {
  const out = new JsonBytes()
  out.text(`{"event_id":"${eventId}`)
  compileEnvelope(kindName, accountId)(timestamp, out)
  out.text(object)
  out.bytes(envelopeEnd)
  return Buffer.from(out.take()).toString().slice(0, -1)
}
