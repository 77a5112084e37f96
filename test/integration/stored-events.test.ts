/**
 * Destinations of the kinds `clickhouse`, with a table as `weir ddl` prints it, and `file`: nothing is lost while one is
 * away.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ddlText } from '../../src/outside/cli/ddl.js'
import { eventSchemas } from '../../src/words/event/event-schemas.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { untilInUse } from '../harness/in-use.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

const kind = 'tcp_connection_closed.v0'
const fields = [
  'conn.server_name',
  'conn.bytes_in',
  'conn.start_ts',
  'conn.geo.country_code',
  'decision',
  'warnings',
]

const record = (id: string): string =>
  JSON.stringify({
    record_id: id,
    type: 'tcp_connection',
    conn: {
      client_ip: '192.0.2.1',
      server_name: 'stored.example.com',
      server_port: 22,
      bytes_in: 7,
      start_ts: '2026-11-22T02:20:51.378123Z',
    },
  })

t.test('events are stored, also those of an outage and of a pause', async (t) => {
  const { weir, env } = await openAccount(t)
  const { api, accountId } = weir
  const front = await startClickhouseFront(tempDir(t))
  t.teardown(() => front.process.stop())
  const { origin, username, password: encoded } = new URL(front.url)
  const auth = { username, password: decodeURIComponent(encoded) }
  const sql = async (statement: string): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`
    const response = await fetch(origin, { method: 'POST', headers: { authorization }, body: statement })
    return (await response.text()).trimEnd()
  }
  t.equal(await sql(ddlText(eventSchemas(), { dialect: 'clickhouse', kind: [kind], table: 'events' })), '')
  const inTable = async () =>
    new Set((await sql('SELECT event_id FROM events')).split('\n').filter((id) => id))
  const inFiles = () => {
    const directory = join(env['WEIR_FILE_DIRECTORY']!, accountId)
    const lines = readdirSync(directory).flatMap((file) =>
      readFileSync(join(directory, file), 'utf8').trimEnd().split('\n'),
    )
    return new Set(lines.map((line) => JSON.parse(line).event_id as string))
  }

  const table = await api.eventDestination.create({
    target: { clickhouse: { url: origin, table: 'events', auth } },
  })
  t.strictSame(table.target.clickhouse?.auth, { username, password: null }, 'the password is not shown')
  const file = await api.eventDestination.create({ target: { file: { name: 'events.ndjson' } } })
  const tests = new Set<string>()
  for (const { id } of [table, file]) {
    tests.add((await api.sendTestEvent(id)).event_id)
    t.match(await api.checkDestination(id), { result: 'passed' })
  }
  t.strictSame(
    new Set([...(await inTable()), ...inFiles()]),
    tests,
    'test events arrive, and checks write nothing',
  )

  await api.tcpEdge.create({ hostports: ['stored.example.com:22'] })
  const destination_ids = [table.id, file.id]
  await api.eventSubscription.create({ sources: [{ type: kind, fields }], destination_ids })
  const nats = await weir.nats()
  const publish = (...ids: string[]) => nats.publish('weir.records.eu.node-1', ids.map(record).join('\n'))
  const statusOf = (id: string) => api.deliveryStatus(id)
  await untilInUse(weir)
  await publish('first')
  for (const id of destination_ids) {
    let last: unknown
    await until(
      () => `it arrives (last: ${JSON.stringify(last)})`,
      async () => {
        const status = await statusOf(id)
        last = status
        return status.counts.delivered > 0
      },
    )
  }

  await front.mode('fail')
  await api.pauseDestination(file.id)
  await until('it is paused', async () => (await statusOf(file.id)).state === 'paused')
  await publish(...Array.from({ length: 50 }, (_, index) => `away-${index}`))
  await until('the events wait', async () => {
    const [failing, paused] = await Promise.all(destination_ids.map(statusOf))
    return failing!.state === 'failing' && paused!.backlog.events >= 50
  })
  await front.mode('ok')
  await api.resumeDestination(file.id)
  await until('all are delivered', async () => {
    const states = await Promise.all(destination_ids.map(statusOf))
    return states.every(({ backlog }) => backlog.events === 0)
  })
  for (const [id, stored] of [
    [table.id, await inTable()],
    [file.id, inFiles()],
  ] as const) {
    const { counts } = await statusOf(id)
    t.equal(counts.delivered, counts.produced, 'the books balance')
    t.equal(stored.size, counts.delivered + 1, 'every event, and the test event')
  }
  const row =
    "SELECT object.conn.bytes_in, object.conn.start_ts, object.decision FROM events WHERE event_type = '"
  t.match(await sql(`${row}${kind}' LIMIT 1 FORMAT CSV`), /^7,"2026-11-22 02:20:51.378123","allow"$/)
})
