/** Events that are changed on their way to a destination. */
import { type BrokenPromise, inBody, inEvent, withHeader } from './break-forms.js'

let turn = 0

export const eventBreaks: readonly BrokenPromise[] = [
  {
    number: 1102,
    name: 'another member of events',
    at: 'events',
    by: inEvent((event) => ({ ...event, more: 1 })),
  },
  {
    number: 1103,
    name: 'a lost field of events',
    at: 'events',
    by: inEvent((event) => {
      const { end_ts: _, ...conn } = event.object.conn ?? {}
      return { ...event, object: { ...event.object, ...(event.object.conn && { conn }) } }
    }),
  },
  {
    number: 1107,
    name: 'times with three digits',
    at: 'events',
    by: inBody('.123456Z', '.123Z'),
  },
  {
    number: 1108,
    name: 'names of headers as they were sent',
    at: 'events',
    by: inBody('"User-Agent"', '"user-agent"'),
  },
  {
    number: 1109,
    name: 'another id each time',
    at: 'events',
    by: inEvent((event) => {
      turn += 1
      return { ...event, event_id: `ev_${turn}` }
    }),
  },
  {
    number: 1202,
    name: 'changed bytes of an event',
    at: 'events',
    by: inBody('{"event_id"', '{ "event_id"'),
  },
  {
    number: 1203,
    name: 'another content type of a delivery',
    at: 'events',
    by: withHeader('content-type', 'text/plain'),
  },
  {
    number: 1205,
    name: 'a repeat with other bytes',
    at: 'events',
    by: inEvent((event) => {
      turn += 1
      return { ...event, turn }
    }),
  },
  {
    number: 1304,
    name: 'two events with one id',
    at: 'events',
    by: inEvent((event) => ({ ...event, event_id: 'ev_1' })),
  },
  {
    number: 1401,
    name: 'another verb of an audit event',
    at: 'events',
    by: inBody('_updated.v0', '_created.v0'),
  },
  {
    number: 1402,
    name: 'a missing principal',
    at: 'events',
    by: inEvent(({ principal: _, ...event }) => event),
  },
  {
    number: 1405,
    name: 'a token in an event',
    at: 'events',
    by: inBody('"token":null', '"token":"weir_shown"'),
  },
]
