/** What load balancers and monitoring ask every role: the API and a role without it answer alike. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createRegistry, metricsSnapshot, metricsText, sumMetrics } from '../../src/core/metrics.js'
import { openOpsServer } from '../../src/process/ops-server.js'
import { openTestStore } from '../harness/api.js'
import { run } from '../harness/processes.js'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

const asked = ['/healthz', '/readyz', '/metrics', '/healthz?verbose'].flatMap((path) =>
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => ({ method, path })),
)
const states = [
  { name: 'ready', failing: {}, status: 200 },
  { name: 'not ready', failing: { nats: 'JetStream does not answer.' }, status: 503 },
]

t.test('the API and a role without it answer alike', async (t) => {
  const store = await openTestStore(t)
  for (const { name, failing, status } of states) {
    const health = { failing: () => failing, metrics: async () => 'weir_x 1\n' }
    const { app } = await store.api({ health })
    const ops = await openOpsServer({ host: '127.0.0.1', port: 0, ...health })
    t.teardown(() => ops.close())
    for (const { method, path } of asked) {
      const inApi = await app.inject({ method: method as 'GET', url: path })
      const elsewhere = await fetch(ops.url + path, { method })
      t.strictSame(
        shapeOf(elsewhere.status, Object.fromEntries(elsewhere.headers), await elsewhere.text()),
        shapeOf(inApi.statusCode, inApi.headers, method === 'HEAD' ? '' : inApi.payload),
        `${name}: ${method} ${path}`,
      )
    }
    const alive = await app.inject('/healthz')
    t.strictSame(alive.json(), { status: 'ok', version }, 'alive all the same')
    const ready = await app.inject('/readyz')
    t.strictSame(ready.json(), { status: name, failing })
    t.equal(ready.statusCode, status)
    const refused = await app.inject({ method: 'POST', url: '/readyz', payload: '{' })
    t.match(refused, { statusCode: 405, headers: { allow: 'GET, HEAD' } })
  }
})

/** An operation's id is its own. */
function shapeOf(status: number, headers: Readonly<Record<string, unknown>>, body: string) {
  const { 'content-type': type, 'cache-control': cache, allow } = headers
  const length = Number(headers['content-length'])
  return { status, type, cache, allow, length, body: body.replace(/op_\w+/, 'op_') }
}

t.test('the version', async (t) => {
  const running = run('src/main.js', ['--version'])
  t.match(await running.ended, { code: 0 })
  t.equal(running.output(), version)
  const registry = createRegistry()
  const line = `weir_build_info{version="${version}",node="${process.versions.node}"} 1\n`
  t.match(await metricsText(registry), line)
  const snapshot = await metricsSnapshot(registry)
  t.match(await sumMetrics([snapshot, snapshot]), line, 'processes that are added up are of one version')
})
