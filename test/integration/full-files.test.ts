/**
 * A destination of the kind `file` fills its disk, and another program the rest of it: status, event and advice say so, and
 * once there is room, every event is in the files, once.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { untilInUse } from '../harness/in-use.js'
import { mountSmallDisk } from '../harness/small-disk.js'
import { tempDir } from '../harness/temp-dir.js'
import { openWebServer } from '../harness/web-server.js'
import { type RunningWeir, startWeir, until } from '../harness/weir.js'

t.setTimeout(600_000)

/** A batch of events has about 2 MB. */
const perBatch = 250
const longPath = `/${'p'.repeat(8_000)}`
const recordOf = (number: number) =>
  ({
    record_id: `r${number}`,
    type: 'http_request',
    conn: { client_ip: '203.0.113.7', server_name: 'www.example.com', server_port: 443 },
    http: { request: { method: 'get', url: { path: `${longPath}/${number}` } } },
  }) as const

interface FileEvent {
  readonly event_id: string
  readonly event_type: string
  readonly object: { readonly http: { readonly request: { readonly url: { readonly path: string } } } }
}

/** All lines of the files of the account, each of which is whole. */
const eventsIn = (directory: string): FileEvent[] =>
  readdirSync(directory).flatMap((file) =>
    readFileSync(join(directory, file), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as FileEvent)
      .filter(({ event_type }) => event_type !== 'test.v0'),
  )

/** With the files on a disk of their own; a reason instead, if this user may mount none. */
async function open(t: Test, size: string) {
  const disk = mountSmallDisk(t, size)
  if (typeof disk === 'string') return disk
  const networks = { WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8', WEIR_LOG_LEVEL: 'warn' }
  const weir = await startWeir(tempDir(t), { WEIR_FILE_DIRECTORY: disk.dir, ...networks })
  t.teardown(() => weir.stop())
  await weir.api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  return { disk, weir }
}

/** Subscribed: what changes at destinations. */
async function changesOf(t: Test, { api }: RunningWeir) {
  const changes: { new_state: string; advice: string | null }[] = []
  const server = await openWebServer(t, ({ body }, response) => {
    changes.push(...JSON.parse(body).map(({ object }: { object: never }) => object))
    response.writeHead(204).end()
  })
  const { id } = await api.eventDestination.create({ target: { http: { url: server.url, body: 'array' } } })
  await api.eventSubscription.create({
    sources: [{ type: 'event_destination_state_changed.v0' }],
    destination_ids: [id],
  })
  return changes
}

const full =
  /^The disk is full, or nearly, .* Make room on it.* Weir repeats the requests, and loses nothing\.$/

t.test('a disk that the events fill', async (t) => {
  const opened = await open(t, '16m')
  if (typeof opened === 'string') return void t.pass(opened, { skip: opened })
  const { disk, weir } = opened
  const { api } = weir
  const changes = await changesOf(t, weir)
  const target = { file: { name: 'events.ndjson', size: 4 * 1024 * 1024, keep: 50 } }
  const { id } = await api.eventDestination.create({ target })
  await api.eventSubscription.create({
    sources: [{ type: 'http_request_complete.v0', fields: ['http.request.url.path'] }],
    destination_ids: [id],
  })
  await untilInUse(weir)
  const status = () => api.deliveryStatus(id)
  let published = 0
  await until('the disk is full', async () => {
    await api.publishRecords(Array.from({ length: perBatch }, (_, index) => recordOf(published + index)))
    published += perBatch
    return (await status()).state === 'failing'
  })

  const isFull = async (about: string) => {
    const shown = await status()
    t.match(shown, { cause: 'transient', last_error: { code: 'DiskAlmostFull' }, advice: full }, about)
    t.match(shown.actions, [{ action: 'try_now' }])
    return shown
  }
  const shown = await isFull('by its events')
  await until('it is announced', () => changes.some(({ new_state }) => new_state === 'failing'))
  t.equal(changes[0]?.advice, shown.advice)
  t.match(await api.checkDestination(id), {
    result: 'failed',
    error: { code: 'DiskAlmostFull' },
    advice: full,
  })
  t.match((await api.overview()).attention, [
    { type: 'destination_failing', actions: [{ action: 'try_now' }] },
  ])
  disk.fill()
  await isFull('by another program, to the last byte')
  await t.rejects(api.sendTestEvent(id), /DiskAlmostFull: The disk is almost full/)
  const written = eventsIn(join(disk.dir, weir.accountId)).length
  t.ok(written > 0 && written < published, `${written} of ${published} are written`)

  rmSync(join(disk.dir, 'filling'))
  disk.resize('256m')
  await until('all are delivered', async () => {
    const { backlog, counts } = await status()
    return backlog.events === 0 && counts.delivered === published
  })
  t.match(await status(), { state: 'healthy', advice: null, counts: { dead_lettered: 0, dropped: 0 } })
  const events = eventsIn(join(disk.dir, weir.accountId))
  const paths = new Set(events.map(({ object }) => object.http.request.url.path))
  t.equal(paths.size, published, 'nothing is lost')
  t.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length, 'and nothing is there twice')
})
