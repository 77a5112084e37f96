/** Records and the subscriptions that they make events for, as several checks look at them. */
import { type Answer, type Json, NotChecked } from './answer.js'
import { client, deny, log, policyOf } from './questions.js'
import type { Visit } from './visit.js'

export const signingSecret = `whsec_${Buffer.from('a secret of the conformance run.').toString('base64')}`

/** Publishes records as one body. */
export const publish = (visit: Visit, ...records: readonly object[]): Promise<Answer> =>
  visit.ask.post('/records', records.map((each) => JSON.stringify(each)).join('\n'), {
    headers: { 'content-type': 'application/x-ndjson' },
  })

/** A record of a connection, with the account's name for it. */
export const connection = (record_id: string, server_name: string, conn: object = {}): Json => ({
  record_id,
  type: 'tcp_connection',
  conn: { client_ip: client, client_port: 4_242, server_name, server_port: 22, ...conn },
})

/** A destination of this program; `http` has the other members of its target. */
export async function destinationAt(
  visit: Visit,
  name: string,
  http: object = {},
): Promise<{ id: string; path: string }> {
  const path = `/${visit.label}/${name}`
  const url = (await visit.collector).urlOf(path)
  const { id } = await visit.make('/event_destinations', {
    target: { http: { url, body: 'single', ...http } },
  })
  return { id, path }
}

/** A subscription of a destination; filters keep events of others away. */
export const subscribed = (
  visit: Visit,
  destination_id: string,
  ...sources: readonly object[]
): Promise<Json> => visit.make('/event_subscriptions', { destination_ids: [destination_id], sources })

/** A destination that gets the connections to one name, which no edge serves. */
export async function watched(visit: Visit, name: string, target: object = {}) {
  const host = visit.host(name)
  const { id, path } = await destinationAt(visit, name, target)
  const filter = `conn.server_name == '${host}'`
  const subscription = await subscribed(visit, id, {
    type: 'tcp_connection_closed.v0',
    fields: ['record_id'],
    filter,
  })
  return { host, id, path, subscription }
}

/** The ids of the records whose events were accepted, of events with the field `record_id`. */
export async function arrivedAt(visit: Visit, path: string): Promise<string[]> {
  return (await visit.collector).events(path).map(({ object }) => object.record_id)
}

/** Waits until so many events were accepted at a path. */
export const untilArrived = (visit: Visit, path: string, count: number, seconds = 20): Promise<Json[]> =>
  visit.within(seconds, `${count} events at ${path}`, async () => {
    const events = (await visit.collector).events(path)
    return events.length >= count ? events : undefined
  })

/** What the log has of a search, once it has so many. A log that is turned off is no broken promise. */
export const logged = (visit: Visit, query: string, count: number): Promise<Answer> =>
  visit.within(20, `${count} decisions in the log`, async () => {
    const answer = await visit.ask.get(`/decisions?since=1h&${query}`)
    if (answer.body.error_code === 'ERR_LOG_OFF')
      throw new NotChecked('the deployment keeps no log of decisions')
    return answer.is(200).body.decisions.length >= count ? answer : undefined
  })

const closed = 'tcp_connection_closed.v0'

/** The records of `openTraffic`, by what becomes of them. */
interface Sent {
  readonly allowed: Json
  readonly blocked: Json
  readonly denied: Json
  readonly respelled: Json
  readonly requested: Json
}

interface Traffic {
  readonly sent: Sent
  readonly host: string
  readonly destinationId: string
  readonly path: string
  /** Of the first subscription, which names no fields. */
  readonly events: readonly Json[]
  /** Of the second, which names fields and has only what was not allowed. */
  readonly selected: readonly Json[]
  /** Each event as it came. */
  readonly texts: readonly string[]
  readonly published: Answer
}

/** An edge with policies of every kind, two subscriptions, five records, and the ten events that they must make. */
export async function openTraffic(visit: Visit): Promise<Traffic> {
  const [host, site] = [visit.host('ssh'), visit.host('www')]
  const policy = await policyOf(visit, 'allow 203.0.113.0/24')
  const inbound = [
    { name: 'even', expressions: ['conn.client_port % 2 == 0'], actions: [log({ parity: 'even' })] },
    { name: 'not this port', expressions: ['conn.client_port == 4444'], actions: [deny] },
  ]
  const outbound = [
    { name: 'much', expressions: ['conn.bytes_out > 1000'], actions: [log({ size: 'much' })] },
  ]
  const ip_restriction = { ip_policy_ids: [policy.id] }
  await visit.make('/edges/tcp', {
    hostports: [`${host}:22`],
    ip_restriction,
    policies: { inbound, outbound },
  })
  await visit.make('/edges/https', { hostports: [`${site}:443`] })
  const { id, path } = await destinationAt(visit, 'traffic', { signing: { secret: signingSecret } })
  const filter = `conn.server_name|endsWith('.${visit.label}.example')`
  const of = (type: string) => ({ type, filter: `(${filter}) && conn.server_name in ['${host}', '${site}']` })
  await subscribed(visit, id, of(closed), of('log.v0'), of('http_request_complete.v0'))
  const fields = ['record_id', 'decision', 'decided_by.type', 'decided_by.name', 'conn.server_ip']
  await subscribed(visit, id, {
    type: closed,
    fields,
    filter: `conn.server_name == '${host}' && decision != 'allow'`,
  })
  const sent = recordsOf(visit, host, site)
  const published = await publish(visit, ...Object.values(sent))
  await untilArrived(visit, path, 10)
  const collector = await visit.collector
  const events = collector.events(path)
  const isSelected = ({ object }: Json): boolean => 'record_id' in object
  return {
    sent,
    host,
    destinationId: id,
    path,
    events: events.filter((event) => !isSelected(event)),
    selected: events.filter(isSelected),
    texts: collector.texts(path),
    published,
  }
}

/** `bytes_in` tells the events of connections apart. */
function recordsOf(visit: Visit, host: string, site: string): Sent {
  const one = (name: string, server_name: string, conn: object) =>
    connection(visit.recordId(name), server_name, conn)
  const times = { start_ts: '2026-11-20T11:00:00.1234567+01:00', end_ts: '2026-11-20T10:03:00Z' }
  const requested = {
    ...one('requested', site, { server_port: 443 }),
    type: 'http_request',
    http: {
      request: {
        method: 'GET',
        url: { scheme: 'https', host: site, path: '/a/b', raw: '/a//b?c=d' },
        headers: { 'user-agent': ['Curl/8.5.0'], 'X-Two': ['A'], 'x-two': ['B'] },
      },
      response: { status_code: 200, body_length: 5_120 },
    },
  }
  return {
    allowed: one('allowed', host, { ...times, server_ip: '198.51.100.2', bytes_in: 1, bytes_out: 2_000 }),
    blocked: one('blocked', host, { client_ip: '198.51.100.7', client_port: 2, bytes_in: 2 }),
    denied: one('denied', host, { client_port: 4_444, bytes_in: 3, bytes_out: 5_000 }),
    respelled: one('respelled', `${host.toUpperCase()}.`, {
      client_ip: '::ffff:203.0.113.7',
      client_port: 1,
      bytes_in: 4,
    }),
    requested,
  }
}

/** Records of a name, each with an id of its own. */
export const several = (visit: Visit, host: string, count: number): Json[] =>
  Array.from({ length: count }, (_, at) => connection(visit.recordId(`n${at}`), host))

export const statusOf = async ({ ask }: Visit, id: string): Promise<Json> =>
  (await ask.get(`/event_destinations/${id}/status`)).is(200).body
