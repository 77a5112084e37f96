/** Traffic events: their form, their fields, and which records make which. */
import { isDeepStrictEqual } from 'node:util'
import { Broken, type Json, shown } from '../answer.js'
import type { Chapter } from '../clause.js'
import { openTraffic, publish, untilArrived } from '../traffic.js'
import type { Visit } from '../visit.js'

const closed = 'tcp_connection_closed.v0'
const complete = 'http_request_complete.v0'

/** Demands something of an event. */
function same(event: Json, found: unknown, wanted: unknown, what: string): void {
  if (!isDeepStrictEqual(found, wanted))
    throw new Broken('the events that came', `${what} is ${shown(wanted)}, not ${shown(found)}`, shown(event))
}

const ofBytes = (events: readonly Json[], bytes: number): Json => {
  const event = events.find(
    ({ event_type, object }) => event_type === closed && object.conn.bytes_in === bytes,
  )
  if (event === undefined)
    throw new Broken('the events that came', `one with conn.bytes_in ${bytes}`, shown(events))
  return event
}

/** The dotted names of the members of an object, down to values that are none. */
const namesIn = (value: Json, maps: ReadonlySet<string>, path = ''): string[] =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !maps.has(path)
    ? Object.entries(value).flatMap(([name, each]) =>
        namesIn(each, maps, path === '' ? name : `${path}.${name}`),
      )
    : [path]

async function defaultFields({ ask }: Visit, kind: string): Promise<{ names: string[]; maps: Set<string> }> {
  const answer = (
    await ask.get('/fields', { headers: { authorization: undefined, 'service-version': undefined } })
  ).is(200)
  const { fields } = answer.body.events.find((each: Json) => each.kind === kind)
  const maps = fields.filter(({ type }: Json) => type === 'map' || type === 'headers')
  const chosen = fields.filter((each: Json) => each.default)
  return {
    names: chosen.map(({ name }: Json) => name).toSorted(),
    maps: new Set(maps.map(({ name }: Json) => name)),
  }
}

export const events: Chapter = {
  title: 'Events',
  clauses: [
    {
      number: 1101,
      page: 'guarantees.md#writes-of-the-api',
      says: 'Records published over the API are judged with all changes that were answered before them.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { published, texts } = await visit.once(openTraffic)
        published.is(200).same(published.body, { stored: 5, refused_count: 0, refused: [] }, 'the answer')
        same(texts, texts.length, 10, 'the number of events')
      },
    },
    {
      number: 1102,
      page: 'events.md#envelope',
      says: 'A traffic event has exactly `event_id`, `event_type`, `event_timestamp` in milliseconds, `account_id` and `object`.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events, selected } = await visit.once(openTraffic)
        for (const event of [...events, ...selected]) {
          const members = ['event_id', 'event_type', 'event_timestamp', 'account_id', 'object']
          same(event, Object.keys(event), members, 'the list of members')
          same(event, /^ev_[0-9A-Za-z_-]{1,64}$/.test(event.event_id), true, 'event_id in its form')
          same(event, /^ac_/.test(event.account_id), true, 'account_id in its form')
          same(
            event,
            /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(event.event_timestamp),
            true,
            'the time in milliseconds',
          )
        }
        const ids = [...events, ...selected].map(({ event_id }) => event_id)
        same(ids, new Set(ids).size, ids.length, 'the number of different ids')
      },
    },
    {
      number: 1103,
      page: 'events.md#fields',
      says: 'Without `fields`, exactly the default fields of the kind are there, nested; one without a value is null.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events } = await visit.once(openTraffic)
        for (const kind of [closed, complete]) {
          const { names, maps } = await defaultFields(visit, kind)
          for (const event of events.filter(({ event_type }) => event_type === kind))
            same(event, namesIn(event.object, maps).toSorted(), names, 'the list of fields')
        }
        const { conn } = ofBytes(events, 2).object
        same(conn, [conn.bytes_out, conn.start_ts, conn.server_ip], [null, null, null], 'what has no value')
      },
    },
    {
      number: 1104,
      page: 'events.md#fields',
      says: 'With `fields`, exactly these are there; with `filter`, only events for which it is true.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { selected, sent } = await visit.once(openTraffic)
        const objects = selected.map(({ object }) => object)
        const wanted = [
          {
            conn: { server_ip: null },
            decided_by: { name: null, type: 'ip_restriction' },
            decision: 'block',
            record_id: sent.blocked.record_id,
          },
          {
            conn: { server_ip: null },
            decided_by: { name: 'not this port', type: 'traffic_policy' },
            decision: 'deny',
            record_id: sent.denied.record_id,
          },
        ]
        const sorted = objects.toSorted((a, b) => (a.decision < b.decision ? -1 : 1))
        same(objects, sorted, wanted, 'the objects of the second subscription')
      },
    },
    {
      number: 1105,
      page: 'events.md#traffic-events',
      says: 'Each connection makes one `tcp_connection_closed.v0`, blocked and denied ones too, and each log action a `log.v0`.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events } = await visit.once(openTraffic)
        const connections = events.filter(({ event_type }) => event_type === closed)
        same(
          connections,
          connections.map(({ object }) => object.conn.bytes_in).toSorted(),
          [1, 2, 3, 4],
          'bytes_in of the events',
        )
        const verdicts = [1, 2, 3, 4].map((bytes) => ofBytes(events, bytes).object.ip_policy.decision)
        same(connections, verdicts, ['allow', 'block', 'allow', 'allow'], 'ip_policy.decision')
      },
    },
    {
      number: 1106,
      page: 'policies.md#order-of-evaluation',
      says: 'Log actions before a deny have run; outbound policies run only if the connection was let in; `metadata` is that of the action.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events } = await visit.once(openTraffic)
        const logs = events.filter(({ event_type }) => event_type === 'log.v0').map(({ object }) => object)
        const wanted = [
          { metadata: { parity: 'even' } },
          { metadata: { parity: 'even' } },
          { metadata: { size: 'much' } },
        ]
        same(
          logs,
          logs.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
          wanted,
          'the logs',
        )
      },
    },
    {
      number: 1107,
      page: 'ingress.md#records',
      says: 'Times are shown in UTC with six digits, mapped addresses as IPv4, and the server name as it was given.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events, host } = await visit.once(openTraffic)
        const { conn } = ofBytes(events, 1).object
        same(
          conn,
          [conn.start_ts, conn.end_ts],
          ['2026-11-20T10:00:00.123456Z', '2026-11-20T10:03:00.000000Z'],
          'the times',
        )
        const respelled = ofBytes(events, 4).object.conn
        same(respelled, respelled.client_ip, '203.0.113.7', 'client_ip')
        same(respelled, respelled.server_name, `${host.toUpperCase()}.`, 'server_name')
      },
    },
    {
      number: 1108,
      page: 'events.md#fields',
      says: 'Names of headers are capitalized, their values in lower case and joined in order; so is the method; the URL is as sent.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events } = await visit.once(openTraffic)
        const event = events.find(({ event_type }) => event_type === complete)
        const { request, response } = event.object.http
        same(event, request.method, 'get', 'the method')
        same(event, request.headers, { 'User-Agent': ['curl/8.5.0'], 'X-Two': ['a', 'b'] }, 'the headers')
        same(event, [request.url.path, request.url.raw], ['/a/b', '/a//b?c=d'], 'path and raw')
        same(event, [response.status_code, response.body_length], [200, 5_120], 'the response')
      },
    },
    {
      number: 1109,
      page: 'events.md#envelope',
      says: 'The same record makes events with the same ids again, whenever and however it is published.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { events, sent, path, texts } = await visit.once(openTraffic)
        const before = ofBytes(events, 1)
        const logs = events
          .filter(({ event_type }) => event_type === 'log.v0')
          .map(({ event_id }) => event_id)
        ;(await publish(visit, { ...sent.blocked, record_id: visit.recordId('other') }, sent.allowed)).is(200)
        const all = await untilArrived(visit, path, texts.length + 5)
        const later = all.slice(texts.length)
        const again = later.find(
          ({ event_type, object }) => event_type === closed && object.conn?.bytes_in === 1,
        )
        same(later, again?.event_id, before.event_id, 'the id of the same event')
        same(again, again.object, before.object, 'the object of the same event')
        const repeated = later.filter(({ event_type }) => event_type === 'log.v0')
        same(
          repeated,
          repeated.every(({ event_id }) => logs.includes(event_id)),
          true,
          'each log with an id from before',
        )
      },
    },
    {
      number: 1110,
      page: 'events.md#envelope',
      says: "The schema of every kind is served, names the members that its events have, and is in the API's document, too.",
      check: async ({ ask }) => {
        const anonymous = { headers: { authorization: undefined, 'service-version': undefined } }
        for (const kind of [closed, complete, 'log.v0', 'ip_policy_created.v0', 'events_dropped.v0']) {
          const answer = (await ask.get(`/schemas/${kind}.json`, anonymous)).is(200)
          const name = answer.body.$ref.split('/').at(-1)
          const { required, properties } = answer.body.$defs[name]
          answer.same(properties.event_type.const, kind, 'event_type')
          answer.must(
            ['event_id', 'event_timestamp', 'account_id', 'object'].every((each) => required.includes(each)),
            'required members',
          )
        }
      },
    },
  ],
}
