/** The metrics of requests: each whole answer once, by status and by the pattern of its path. */

import t from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openTestStore } from '../../harness/api.js'
import { portOf, RawConnection } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

t.test('requests in the metrics', async (t) => {
  const registry = createRegistry()
  const store = await openTestStore(t)
  const api = await store.api({
    occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry }),
  })
  const me = await api.account()
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const lines = async (metric: string): Promise<string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(`${metric}{`))
      .toSorted()
  const head = (request: string, token = me.token): string[] => [
    `${request} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Service-Version: 2',
  ]
  const raw = new RawConnection(portOf(api.app))
  t.teardown(() => raw.destroy())
  const paths = ['/ip_policies', '/ip_policies/ipp_x', '/nothing', '/%ff']
  for (const [index, path] of paths.entries()) {
    raw.send(...head(`GET ${path}`), '', '')
    await raw.answered(index + 1)
  }
  raw.send(...head('GET /ip_policies', 'wrong'), '', '')
  await raw.answered(paths.length + 1)
  t.strictSame(raw.statuses, [200, 404, 404, 404, 401])

  const counted = [
    'weir_api_requests_total{method="GET",status="200"} 1',
    'weir_api_requests_total{method="GET",status="401"} 1',
    'weir_api_requests_total{method="GET",status="404"} 3',
  ]
  const timed = [
    'weir_api_request_seconds_count{method="GET",route="/ip_policies"} 2',
    'weir_api_request_seconds_count{method="GET",route="/ip_policies/:id"} 1',
    'weir_api_request_seconds_count{method="GET",route="none"} 2',
  ]
  await until(
    'all are counted',
    async () => (await lines('weir_api_requests_total')).join() === counted.join(),
  )
  t.strictSame(await lines('weir_api_request_seconds_count'), timed, 'by pattern')

  const cut = new RawConnection(portOf(api.app))
  cut.send(...head('POST /ip_policies'), 'Content-Type: application/json', 'Content-Length: 20', '', '{"des')
  await cut.sent()
  const connections = (): Promise<number> =>
    new Promise((resolve) => api.app.server.getConnections((_, count) => resolve(count)))
  await until('both are connected', async () => (await connections()) === 2)
  cut.destroy()
  await until('one is closed', async () => (await connections()) === 1)
  raw.send(...head('GET /ip_policies'), '', '')
  await raw.answered(paths.length + 2)
  const [first, ...others] = counted
  const then = [first!.replace(/1$/, '2'), ...others]
  await until('the last is counted', async () => (await lines('weir_api_requests_total'))[0] === then[0])
  t.strictSame(await lines('weir_api_requests_total'), then, 'a request without an answer is not counted')
})
