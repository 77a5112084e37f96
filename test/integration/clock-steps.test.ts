/**
 * The clock of the machine is set two hours ahead and right again, and two hours back, under running roles: destinations
 * that fail are tried again in time, nothing is dropped, and writes, sessions of the console and decisions go on.
 * nats-server keeps the right time, as on a machine of its own.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { openWebServer } from '../harness/web-server.js'
import { startWeir, until } from '../harness/weir.js'

const library = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
const skip = existsSync(library) ? false : 'there is no libfaketime (apt-get install libfaketime)'
/** A probe comes every 15 to 30 s, on a busy machine a little later. */
const patienceMs = 300_000

t.test('steps of the clock', { skip, timeout: 600_000 }, async (t) => {
  const dataDir = tempDir(t)
  const step = join(tempDir(t), 'step')
  const set = (by: string): void => writeFileSync(step, `${by}\n`)
  set('+0')
  let isDown = true
  const failing = await openWebServer(t, (_, response) => response.writeHead(isDown ? 503 : 200).end())
  const healthy = await openWebServer(t)
  const weir = await startWeir(dataDir, {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: step,
    // Seconds; without one, each look at the clock reads the file.
    FAKETIME_CACHE_DURATION: '1',
    DONT_FAKE_MONOTONIC: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8',
    WEIR_RETENTION: '1h',
  })
  t.teardown(() => weir.stop())
  const { api } = weir
  await api.tcpEdge.create({ hostports: ['steps.example:22'] })
  const ids = await Promise.all(
    [failing, healthy].map(async ({ url }) => {
      const { id } = await api.eventDestination.create({ target: { http: { url } } } as never)
      const sources = [{ type: 'tcp_connection_closed.v0' }]
      await api.eventSubscription.create({ sources, destination_ids: [id] })
      return id
    }),
  )
  let published = 0
  const publish = async (): Promise<void> => {
    const records = Array.from({ length: 20 }, () => {
      published += 1
      const conn = { client_ip: '203.0.113.7', server_name: 'steps.example', server_port: 22 }
      return { record_id: `step-${published}`, type: 'tcp_connection' as const, conn }
    })
    // Unlike nodes, the API waits until pipelines know what was configured before.
    await api.publishRecords(records)
  }
  const arrivedAt = ({ requests }: typeof failing): number =>
    new Set(requests.flatMap(({ body }) => body.match(/ev_\w+/g) ?? [])).size
  const everythingWorks = async (when: string): Promise<void> => {
    await publish()
    const { description } = await api.ipPolicy.create({ description: when })
    t.equal(description, when, 'a write')
    await until(`${when}: events arrive`, () => arrivedAt(healthy) === published, patienceMs)
  }
  const triedAgain = async (when: string): Promise<void> => {
    const before = failing.requests.length
    await until(`${when}: it is tried again`, () => failing.requests.length > before, patienceMs)
  }

  await everythingWorks('before')
  for (const by of ['+2h', '-2h']) {
    set(by)
    const seen = /The clock of this machine was set to another time/
    await until('the step is seen', () => seen.test(weir.process.output()), patienceMs)
    await everythingWorks(`with ${by}`)
    set('+0')
    await everythingWorks(`after ${by}`)
    await triedAgain(`after ${by}`)
  }
  isDown = false
  await until('what waited arrives', () => arrivedAt(failing) === published, patienceMs)
  for (const id of ids)
    await until(`the books of ${id} balance`, async () => {
      const { counts, backlog } = await api.deliveryStatus(id)
      return counts.produced === published && counts.delivered === published && backlog.events === 0
    })
  t.equal(total(await metricsOf(weir.url), 'weir_events_dropped_total'), 0)
})
