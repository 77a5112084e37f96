/** A deliverer, or the local nats-server, that is stopped with SIGSTOP, as on an overloaded machine. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isReady, readyOf } from '../harness/pages.js'
import { processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { expectedEvents, publish, statusOf, untilArrived } from './deployment.js'
import { openService, openShared } from './service.js'

/** Without an answer for this long, no deliverer answers. */
const silenceMs = 10_000

t.test(
  'a frozen deliverer: first the last known state with its time, then "no deliverer answers"',
  async (t) => {
    const deployment = await openShared(t)
    const ask = async () => {
      const { as_of, since, ...status } = await statusOf(deployment, 'all')
      return { ...status, as_of: as_of ?? 'never', since: since ?? 'never' }
    }
    const nats = await deployment.weir.nats()
    await publish(nats, 'frozen', 0, 100)
    await untilArrived(deployment, expectedEvents(100))
    const before = await ask()
    t.match(before, { state: 'healthy', cause: null, as_of: /^2/ })

    const deliverers = processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'deliver')
    t.equal(deliverers.length, 1)
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => deliverers.map(({ pid }) => process.kill(pid, name))
    signal('SIGSTOP')
    const stoppedAt = new Date().toISOString()
    try {
      await publish(nats, 'frozen', 100, 200)
      let status = await ask()
      const lastKnown = status
      let asks = 0
      for (; status.cause !== 'no deliverer answers'; asks += 1) {
        t.match(status, { state: 'healthy', cause: null, since: before.since }, 'no false alarm')
        t.ok(status.as_of >= before.as_of && status.as_of <= stoppedAt, 'with the time of the report')
        status = await ask()
      }
      t.ok(asks > 0, `${asks} times`)
      t.match(status, { state: 'paused', as_of: lastKnown.as_of }, 'with the time of the last report')
      t.ok(Date.now() - Date.parse(status.since) >= silenceMs, 'only after a long silence')
      t.match(await ask(), { state: 'paused', cause: 'no deliverer answers' })
    } finally {
      signal('SIGCONT')
    }

    await until('it answers again', async () => (await ask()).cause === null)
    const after = await ask()
    t.equal(after.state, 'healthy')
    t.ok(after.as_of > stoppedAt)
    await untilArrived(deployment, expectedEvents(200))
  },
)

t.test('its own nats-server frozen: readiness says so, and it recovers', async (t) => {
  const { weir, dataDir } = await openService()
  await until('it is ready', () => isReady(weir.url))
  const { pid } = JSON.parse(readFileSync(join(dataDir, 'nats/server.json'), 'utf8'))
  process.kill(pid, 'SIGSTOP')
  try {
    const says = async () => Object.values((await readyOf(weir.url)).failing).join(' ')
    // The promise is 5 s; a machine with other work takes longer.
    await until('it is noticed', async () => /JetStream does not answer/.test(await says()))
    t.equal((await readyOf(weir.url)).status, 503)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await until('it is ready again', () => isReady(weir.url))
})
