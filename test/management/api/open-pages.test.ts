/** The cost of pages without a key is bounded: anyone can ask for them, as often as they like. */
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { boundsAtOnce } from '../../../src/management/http/bounds/at-once.js'
import { openOpsServer } from '../../../src/management/process/ops-server.js'
import { openTestStore } from '../../harness/api.js'
import { portOf } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

const pages = ['/openapi.json', '/docs', '/docs/doctor.md', '/fields', '/schemas/tcp_connection.json']

t.test('documents are sent compressed, and not at all to a client that has them', async (t) => {
  const store = await openTestStore(t)
  const { app } = await store.api()
  for (const page of pages) {
    const plain = await app.inject({ url: page })
    const zipped = await app.inject({ url: page, headers: { 'accept-encoding': 'gzip' } })
    t.equal(zipped.headers['content-encoding'], 'gzip', page)
    t.strictSame(gunzipSync(zipped.rawPayload), plain.rawPayload, page)
    const tag = String(plain.headers['etag'])
    const again = await app.inject({ url: page, headers: { 'if-none-match': tag } })
    t.strictSame([again.statusCode, again.payload], [304, ''], page)
    t.equal((await app.inject({ url: page, method: 'HEAD' })).payload, '', page)
  }
})

t.test('requests of one address at the same time are bounded', async (t) => {
  const store = await openTestStore(t)
  const { app } = await store.api()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { perAccount } = boundsAtOnce.open_page
  const origin = `http://127.0.0.1:${portOf(app)}`
  const ask = () => fetch(`${origin}/docs`)
  t.equal((await ask()).status, 200)
  // A client that begins requests and does not end them.
  const slow = Array.from({ length: perAccount + 5 }, () => connect({ host: '127.0.0.1', port: portOf(app) }))
  const leave = (): void => {
    for (const connection of slow) connection.destroy()
  }
  t.teardown(leave)
  const head = 'GET /docs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n'
  for (const connection of slow) connection.on('error', () => {}).write(head)
  await until('it has used its places', async () => {
    const { status, headers } = await ask()
    return status === 503 && headers.get('retry-after') === '1'
  })
  leave()
  await until('it has gone', async () => (await ask()).status === 200)
})

t.test('metrics are compressed', async (t) => {
  const text = 'weir_x 1\n'.repeat(1_000)
  const server = await openOpsServer({
    host: '127.0.0.1',
    port: 0,
    failing: () => ({}),
    metrics: async () => text,
  })
  t.teardown(() => server.close())
  for (const coding of ['gzip', 'identity']) {
    const answer = await fetch(`${server.url}/metrics`, { headers: { 'accept-encoding': coding } })
    t.equal(answer.headers.get('content-encoding') ?? 'identity', coding)
    t.equal(await answer.text(), text)
  }
})
