/** Events go to web servers: nothing is lost while one fails, and `weir listen` shows them. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { untilInUse } from '../harness/in-use.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { openWebServer } from '../harness/web-server.js'
import { startWeir, until } from '../harness/weir.js'

const requestTo = (path: string, id: string) =>
  ({
    record_id: id,
    type: 'http_request',
    conn: { client_ip: '203.0.113.7', server_name: 'www.example.com', server_port: 443 },
    http: { request: { method: 'get', url: { path } }, response: { status_code: 200 } },
  }) as const

t.test('events arrive at web servers', async (t) => {
  const dataDir = tempDir(t)
  const env = { WEIR_BOOTSTRAP_TOKEN: `token-${randomBytes(12).toString('hex')}`, WEIR_LOG_LEVEL: 'warn' }
  let weir = await startWeir(dataDir, env)
  t.teardown(() => weir.stop())
  const listener = () =>
    run('programs/main.js', ['listen', '--create', '--port', '0', '--json'], {
      WEIR_DATA_DIR: dataDir,
      WEIR_API_KEY: weir.token,
    })

  const refused = listener()
  t.match(await refused.ended, { code: 1 }, 'loopback is not allowed')
  t.match(refused.output(), 'start it with WEIR_HTTP_PRIVATE_NETWORKS=127.0.0.0/8')
  for await (const { id } of weir.api.eventDestination.list()) t.fail(`${id} is left behind`)
  await weir.stop()
  weir = await startWeir(dataDir, { ...env, WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8' })

  const { api } = weir
  const server = await openWebServer(t)
  const auth = { bearer: { token: 'hush' } }
  const url = `${server.url}/in`
  const { id, target } = await api.eventDestination.create({ target: { http: { url, auth, gzip: true } } })
  t.match(target.http, { url, gzip: true, auth: { bearer: { token: null } } }, 'shown without the secret')
  t.notMatch(JSON.stringify(target), 'hush')
  t.match(await api.checkDestination(id), { result: 'unproved', proved: [/can be reached/] })
  await api.sendTestEvent(id)
  const { http } = target
  await api.eventDestination.update(id, { target: { http: { ...http!, body: 'array' } } })

  await api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  await api.eventSubscription.create({
    sources: [{ type: 'http_request_complete.v0', fields: ['http.request.url.path'] }],
    destination_ids: [id],
  })
  const watching = listener()
  t.teardown(() => watching.stop())
  await watching.line(/"event_type":"test\.v0"/)
  await untilInUse(weir)

  const arrived: string[] = []
  let failures = 3
  server.answer = ({ method, headers, body }, response) => {
    if (method !== 'POST') return response.writeHead(404).end()
    if (headers.authorization !== 'Bearer hush') return response.writeHead(401).end()
    if (body.includes('/poison')) return response.writeHead(422).end('no poison here')
    failures -= 1
    if (failures === 1) return response.socket?.destroy()
    if (failures >= 0) return response.writeHead(503).end()
    arrived.push(
      ...(JSON.parse(body) as { object: { http: { request: { url: { path: string } } } } }[]).map(
        ({ object }) => object.http.request.url.path,
      ),
    )
    return response.writeHead(204).end()
  }
  const paths = [...Array.from({ length: 200 }, (_, n) => `/${n}`), '/poison']
  await api.publishRecords(paths.map((path) => requestTo(path, `r${path}`)))
  await until('all but the poison arrived, and nothing waits', async () => {
    const { counts, backlog } = await api.deliveryStatus(id)
    return counts.dead_lettered === 1 && counts.delivered === 200 && backlog.events === 0
  })
  t.strictSame(new Set(arrived), new Set(paths.slice(0, -1)))
  t.ok((await api.deliveryStatus(id)).counts.retried > 0, 'sent again after the failures')
  for await (const dead of api.deadLetters.list())
    t.match(dead.reason, 'Http422: The server answered 422 Unprocessable Entity: no poison here')

  await watching.line(/"path":"\/poison"/)
  watching.child.kill('SIGINT')
  t.match(await watching.ended, { code: 0 })
  const left: string[] = []
  for await (const destination of api.eventDestination.list()) left.push(destination.id)
  t.strictSame(left, [id], 'what `weir listen` made is deleted')
  await weir.stop()
})

t.test('the event that a state has changed gives the advice of the status', async (t) => {
  const networks = { WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8' }
  const weir = await startWeir(tempDir(t), { WEIR_LOG_LEVEL: 'warn', ...networks })
  t.teardown(() => weir.stop())
  const { api } = weir
  const changes: { event_destination: { id: string }; advice: string; actions: unknown }[] = []
  const server = await openWebServer(t, ({ path, body }, response) => {
    const status = Number(path.slice(1))
    if (status === 204) changes.push(...JSON.parse(body).map(({ object }: { object: never }) => object))
    response.writeHead(status).end()
  })
  const create = (status: number) =>
    api.eventDestination.create({ target: { http: { url: `${server.url}/${status}`, body: 'array' } } })
  const announced = await create(204)
  await api.eventSubscription.create({
    sources: [{ type: 'event_destination_state_changed.v0' }],
    destination_ids: [announced.id],
  })
  const advised = [
    { status: 401, advice: /^The server refuses the credentials \(401\)\. .* tries again/, actions: 2 },
    { status: 429, advice: /\(429\)/, actions: 0 },
    { status: 404, advice: /nothing at this path \(404\)/, actions: 2 },
  ]
  const destinations = await Promise.all(
    advised.map(async (each) => ({ ...each, id: (await create(each.status)).id })),
  )
  await api.httpsEdge.create({ hostports: ['www.example.com:443'] })
  await api.eventSubscription.create({
    sources: [{ type: 'http_request_complete.v0' }],
    destination_ids: destinations.map(({ id }) => id),
  })
  await untilInUse(weir)
  await api.publishRecords([requestTo('/', 'r1')])
  for (const { status, id, advice, actions } of destinations) {
    const found = () => changes.find((change) => change.event_destination.id === id)
    await until(`${status} is announced`, async () => found() !== undefined)
    const shown = await api.deliveryStatus(id)
    t.match(shown.advice, advice)
    t.equal(found()!.advice, shown.advice)
    t.strictSame(found()!.actions, shown.actions)
    t.equal(shown.actions.length, actions)
  }
  await weir.stop()
})
