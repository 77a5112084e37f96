/** Destinations of the kind `nats`: on the NATS of Weir, and on another one, which is away for a while. */
import { join } from 'node:path'
import { jetstreamManager, type StreamAPI } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

async function streamsAt(t: Test, url: string): Promise<StreamAPI> {
  const { host, username: user, password: pass } = new URL(url)
  const connection = await connect({ servers: host, ...(user !== '' && { user, pass }) })
  t.teardown(() => connection.close())
  return (await jetstreamManager(connection)).streams
}

/** A stream on a server; the result reads the ids of its events. */
async function openStream(t: Test, url: string, subject: string): Promise<() => Promise<Set<string>>> {
  const name = subject.replaceAll('.', '-')
  await (await streamsAt(t, url)).add({ name, subjects: [subject], max_bytes: 1024 * 1024 })
  return async () => {
    const streams = await streamsAt(t, url)
    const { messages } = (await streams.info(name)).state
    const sequences = Array.from({ length: messages }, (_, index) => index + 1)
    const stored = await Promise.all(sequences.map((seq) => streams.getMessage(name, { seq })))
    return new Set(stored.map((message) => message!.json<{ event_id: string }>().event_id))
  }
}

const record = (id: string): string =>
  JSON.stringify({
    record_id: id,
    type: 'tcp_connection',
    conn: { client_ip: '192.0.2.1', server_name: 'nats.example.com', server_port: 22 },
  })

t.test('events go to both, and none is lost when one is away', async (t) => {
  const dir = tempDir(t)
  const { weir, dataDir } = await openAccount(t)
  const { api, accountId } = weir
  const other = new OwnNats(dir)
  await other.start()
  t.teardown(() => other.stop())
  const own = await openStream(
    t,
    readUserUrl(join(dataDir, 'nats'), 'events')!,
    `events.${accountId}.traffic`,
  )
  const outside = await openStream(t, other.url, 'traffic')

  const made = await Promise.all([
    api.eventDestination.create({ target: { nats: { subject: 'traffic' } } }),
    api.eventDestination.create({ target: { nats: { subject: 'traffic', servers: [other.url] } } }),
  ])
  for (const { id } of made) {
    const { event_id } = await api.sendTestEvent(id)
    t.ok([...(await own()), ...(await outside())].includes(event_id), 'a test event arrives')
  }
  t.match(await api.checkDestination(made[1].id), { proved: { 1: /The stream traffic/ } })

  await api.tcpEdge.create({ hostports: ['nats.example.com:22'] })
  const sources = [{ type: 'tcp_connection_closed.v0', fields: ['conn.server_name'] }]
  await api.eventSubscription.create({ sources, destination_ids: made.map(({ id }) => id) })
  const nats = await weir.nats()
  const publish = (...ids: string[]) => nats.publish('weir.records.eu.node-1', ids.map(record).join('\n'))
  const delivered = async (index: 0 | 1) => (await api.deliveryStatus(made[index].id)).counts.delivered
  // A pipeline may not know the subscription yet: its records are judged, and make no event.
  await until('a subscribed record arrives', async () => {
    await publish(`try-${Date.now()}`)
    return (await delivered(0)) > 0 && (await delivered(1)) > 0
  })

  await other.kill()
  await publish(...Array.from({ length: 50 }, (_, index) => `away-${index}`))
  await until('the events wait', async () => (await api.deliveryStatus(made[1].id)).state === 'failing')
  await other.start()
  await until('all are delivered', async () => {
    const states = await Promise.all(made.map(({ id }) => api.deliveryStatus(id)))
    return states.every(({ backlog }) => backlog.events === 0)
  })
  for (const [index, stored] of [own, outside].entries()) {
    const { counts } = await api.deliveryStatus(made[index as 0 | 1].id)
    t.equal(counts.delivered, counts.produced, 'the books balance')
    t.equal((await stored()).size, counts.delivered + 1, 'every event, and the test event')
  }
})
