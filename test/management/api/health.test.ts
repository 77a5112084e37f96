/** The health pages that load balancers and monitoring request from every role. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { unavailable } from '../../../src/ground/core/errors.js'
import {
  createRegistry,
  metricsSnapshot,
  metricsText,
  sumMetrics,
} from '../../../src/ground/core/telemetry/metrics.js'
import { openOpsServer } from '../../../src/management/process/ops-server.js'
import { openTestStore } from '../../harness/api.js'
import { run } from '../../harness/processes.js'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

const states = [
  { name: 'ready', failing: {}, status: 200 },
  { name: 'not ready', failing: { nats: 'JetStream does not answer.' }, status: 503 },
]

t.test('health pages are the same before and after the API takes the other requests', async (t) => {
  const store = await openTestStore(t)
  for (const { name, failing, status } of states) {
    const health = { failing: () => failing, metrics: async () => 'weir_x 1\n' }
    const otherwise = () => unavailable('The API is starting.')
    const server = await openOpsServer({ host: '127.0.0.1', port: 0, otherwise, ...health })
    t.teardown(() => server.close())
    const ask = (path: string, init?: RequestInit) => fetch(server.url + path, init)
    const check = async (t: Test) => {
      const alive = await ask('/healthz')
      t.strictSame(await alive.json(), { status: 'ok', version }, 'alive all the same')
      const ready = await ask('/readyz?verbose')
      t.strictSame(await ready.json(), { status: name, failing })
      t.equal(ready.status, status)
      t.equal(ready.headers.get('cache-control'), 'no-store')
      t.equal(await (await ask('/metrics')).text(), 'weir_x 1\n')
      const head = await ask('/readyz', { method: 'HEAD' })
      t.strictSame([head.status, await head.text()], [status, ''])
      t.equal(head.headers.get('content-length'), ready.headers.get('content-length'))
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const refused = await ask('/readyz', { method, ...(method === 'POST' ? { body: '{' } : {}) })
        t.equal(refused.status, 405, method)
        t.equal(refused.headers.get('allow'), 'GET, HEAD', method)
      }
    }
    await t.test(`${name}, while the API starts`, check)
    t.equal((await ask('/openapi.json')).status, 503)
    await store.api({ listening: server })
    await t.test(`${name}, with the API`, check)
    t.equal((await ask('/openapi.json')).status, 200)
    t.equal((await ask('/nowhere')).status, 401)
  }
})

t.test('the version', async (t) => {
  const running = run('programs/main.js', ['--version'])
  t.match(await running.ended, { code: 0 })
  t.equal(running.output().split(' ')[0], version)
  const registry = createRegistry()
  const line = `weir_build_info{version="${version}",node="${process.versions.node}"} 1\n`
  t.match(await metricsText(registry), line)
  const snapshot = await metricsSnapshot(registry)
  t.match(await sumMetrics([snapshot, snapshot]), line, 'processes that are added up are of one version')
})
