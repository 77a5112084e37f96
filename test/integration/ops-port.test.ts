/** Health and metrics of `weir serve` on a port of their own: the public one does not know them. */
import t from 'tap'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'

const pages = ['/healthz', '/readyz', '/metrics']
const statusOf = (url: string): Promise<number> =>
  fetch(url).then(
    async (answer) => {
      await answer.text()
      return answer.status
    },
    () => 0,
  )

t.test('two ports', async (t) => {
  const weir = await startWeir(tempDir(t), {
    WEIR_API_OPS_PORT: '0',
    WEIR_OPS_HOST: '127.0.0.2',
    WEIR_DECISION_LOG: 'off',
  })
  t.teardown(() => weir.stop())
  const [, ops = ''] = await weir.process.line(/^metrics: (http:\/\/127\.0\.0\.2:\d+)\/metrics$/)
  for (const page of pages) {
    await until(`${page} is answered`, async () => (await statusOf(ops + page)) === 200)
    t.equal(await statusOf(weir.url + page), 404, `${page} of the public port`)
  }
  t.equal(await statusOf(`${ops}/api_keys`), 404)
  const unknown = await fetch(`${ops}/api_keys`, { headers: { authorization: `Bearer ${weir.token}` } })
  t.match(await unknown.json(), { msg: /Only \/healthz, \/readyz, \/metrics are answered here/ })
  t.equal(await statusOf(`${weir.url}/docs`), 200)
  const metrics = await (await fetch(`${ops}/metrics`)).text()
  t.match(metrics, /^weir_build_info/m)
  t.match(metrics, /weir_processes\{role="deliver"\} 1/, 'of all processes')

  const api = processesBelow(weir.process.pid).find(({ role }) => role === 'api')
  process.kill(api!.pid, 'SIGKILL')
  await until('the API is away', async () => (await statusOf(`${ops}/healthz`)) === 0)
  await until('it is back on both ports', async () => (await statusOf(`${ops}/readyz`)) === 200)
  t.equal(await statusOf(`${weir.url}/healthz`), 404)
})
