/** A command that finds no service says where it looked, and what to do. */
import t from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import { listenHttp } from '../../../src/ground/core/http-listen.js'
import { loadSettings } from '../../../src/management/process/settings.js'
import { clientOf } from '../../../src/outside/cli/connection/api-client.js'

const clientAt = (url: string) =>
  clientOf(
    loadSettings({ environment: { WEIR_API_URL: url, WEIR_API_KEY: 'weir_0123456789abcdef' } }).settings,
  )

t.test('nothing listens', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const says = `${url} does not answer (ECONNREFUSED): start Weir there (npm start, or weir serve), or set WEIR_API_URL to where it runs.`
  await t.rejects(clientAt(url).stats(), { message: says })
  await t.rejects(clientAt(`${url}/base`).decisions().next(), { message: says })
})

t.test('a name that does not exist', async (t) => {
  await t.rejects(clientAt('http://weir.invalid').stats(), {
    message: /^http:\/\/weir\.invalid does not answer \(E\w+\): /,
  })
})

t.test('what listens is no HTTP server for long', async (t) => {
  const server = await listenHttp('127.0.0.1', 0, (request) => request.socket.destroy())
  t.teardown(() => server.close())
  await t.rejects(clientAt(server.url).stats(), { message: /^http:.* does not answer \(\w+\): / })
})
