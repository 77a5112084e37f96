/** The text that objects and templates of events write. */

import { EventTime } from '../../../src/delivery/wire/event-template.js'
import { TemplatedEvent } from '../../../src/delivery/wire/packed-event.js'
import { JsonBytes } from '../../../src/ground/core/text/json-bytes.js'
import type { ShownDecision, TrafficEventKind } from '../../../src/words/event/define.js'
import { compileObject, templateOf } from '../../../src/words/event/envelope.js'

/** The event's `object`. */
export function objectJson<R>(kind: TrafficEventKind<R>, fields?: readonly string[]) {
  const { writeValues, pieces } = compileObject(kind, fields)
  return (record: R, decided: ShownDecision): string => {
    const out = new JsonBytes()
    writeValues(record, decided, out)
    const [nothing, ...values] = Buffer.from(out.take()).toString().slice(0, -1).split('\t')
    if (nothing !== '' || values.length !== pieces.length - 1) throw new Error('A value is missing.')
    return pieces.map((piece, index) => piece + (values[index] ?? '')).join('')
  }
}

/** The event without its line feed; its object is given as JSON. */
export function eventJson(
  { kindName, accountId, eventId }: Readonly<Record<'kindName' | 'accountId' | 'eventId', string>>,
  timestamp: string,
  object: string,
): string {
  const [recordPart, purposePart] = [eventId.slice('ev_'.length, -1), eventId.slice(-1)]
  const template = templateOf({ kindName, accountId, purposePart }, { writeValues() {}, pieces: [object] })
  const bytes = Buffer.from(`${recordPart}\n`)
  const line = { bytes, start: 0, idEnd: bytes.length - 1, end: bytes.length }
  const event = new TemplatedEvent(line, template, EventTime.of(Date.parse(timestamp))!)
  return event.data.toString().slice(0, -1)
}
