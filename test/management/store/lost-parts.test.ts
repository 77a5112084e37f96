/** Stores whose parts were lost, swapped, or killed. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { all, newest, statusOf } from '../../harness/caller.js'
import { total } from '../../harness/metrics.js'
import { metricsOf, readyOf } from '../../harness/pages.js'
import { run } from '../../harness/processes.js'
import type { StoreApi } from '../../harness/store-fixture.js'
import { until } from '../../harness/weir.js'
import { everything, fill, openFixture, takesWrites } from './filled-store.js'

const lossLine = /^NATS lost what it stored .*undelivered events are gone; the books begin again/m

// One store for all tests, because starts take longest. Each begins with a running API and what the one before it left.
const fixture = await openFixture(t)
let api = await fixture.startApi()
await fill(api.client)

const losses = async ({ url }: StoreApi): Promise<number> =>
  total(await metricsOf(url), 'weir_nats_store_losses_total')

t.test('NATS wiped, ClickHouse kept', async (t) => {
  t.notMatch(api.process.output(), lossLine, 'a first start has lost nothing')
  const before = await everything(api)
  await api.process.kill()
  await fixture.killNats()
  fixture.wipeNats()
  await fixture.startNats()
  api = await fixture.startApi()
  await until('the start says what was lost', () => lossLine.test(api.process.output()))
  t.equal(await losses(api), 1, 'it is counted')
  t.equal(await everything(api), before, 'the same configuration')
  t.equal(await statusOf(api.client.tcpEdge.create({ hostports: ['a.example.com:22'] })), 400)
  const destination = await newest(api.client.eventDestination.list())
  t.ok(
    await api.client.eventDestination.update(destination.id, {
      description: 'sealed values are back',
    }),
  )
  t.ok(await takesWrites(api))
})

t.test('NATS wiped under a running API', async (t) => {
  const before = await everything(api)
  await fixture.killNats()
  const away = await api.client.raw.send('POST', '/ip_policies', { body: {} })
  t.equal(away.status, 503, 'while NATS is away')
  t.ok(away.headers['retry-after'])
  t.equal(await everything(api), before, 'reads go on')
  fixture.wipeNats()
  await fixture.startNats()
  await until('writes are accepted again', () => takesWrites(api))
  await until('the loss is counted', async () => (await losses(api)) > 0)
  await fixture.killNats()
  await fixture.startNats()
  await until('and after a restart', () => takesWrites(api))
  await t.test('ClickHouse hangs, fails, answers short, dies', clickhouseFails)
})

async function clickhouseFails(t: Test): Promise<void> {
  const { id } = await newest(api.client.ipPolicy.list())
  for (const mode of ['hang', 'fail', 'short', 'die'] as const) {
    await fixture.front.mode(mode)
    const answer = await api.client.raw.send('PATCH', `/ip_policies/${id}`, { body: { metadata: mode } })
    if (mode !== 'short') t.equal(answer.status, 503, mode)
    if (answer.status === 503) t.ok(answer.headers['retry-after'])
    t.equal((await all(api.client.ipPolicyRule.list())).length, 70, 'reads go on')
    if (mode === 'die') await fixture.startFront()
    else await fixture.front.mode('ok')
    await until('writes are accepted again', () => takesWrites(api))
  }
  t.equal(api.process.child.exitCode, null)
}

t.test('ClickHouse emptied, NATS kept: nothing is written until an operator decides', async (t) => {
  const before = await everything(api)
  await api.process.kill()
  await fixture.front.process.stop()
  await fixture.startFront('another')
  api = await fixture.startApi('one', {}, { answering: 503 })
  t.notMatch(api.process.output(), lossLine, 'a start after the loss of NATS was counted has lost nothing')
  t.equal(await losses(api), 0)
  t.equal(await statusOf(api.client.ipPolicy.create({})), 503)
  const ready = await readyOf(api.url)
  t.equal(ready.status, 503)
  t.match(JSON.stringify(ready.failing), /another ClickHouse database/)
  await api.process.kill()
  await fixture.front.process.stop()
  await fixture.startFront()
  api = await fixture.startApi()
  t.equal(await everything(api), before, 'with the right one, all is there')
  t.ok(await takesWrites(api))
})

t.test('another ClickHouse is adopted by the operator', async (t) => {
  await api.process.kill()
  await fixture.front.process.stop()
  await fixture.startFront('adopted')
  await fixture.killNats()
  fixture.wipeNats()
  await fixture.startNats()
  api = await fixture.startApi()
  await api.client.ipPolicy.create({ description: 'of the other' })
  await api.process.kill()
  await fixture.front.process.stop()
  await fixture.startFront()
  api = await fixture.startApi('one', {}, { answering: 503 })
  t.equal(await statusOf(api.client.ipPolicy.create({})), 503, 'refused until then')
  const adopt = run('programs/main.js', ['store', 'adopt'], { WEIR_DATA_DIR: join(fixture.dir, 'one') })
  await adopt.line(/rebuilt from ClickHouse/)
  await until('writes are accepted again', () => takesWrites(api))
  t.equal((await all(api.client.ipPolicyRule.list())).length, 70)
  const ip_policies = await all(api.client.ipPolicy.list())
  t.notOk(ip_policies.some(({ description }) => description === 'of the other'))
})

t.test('everything killed at once', async (t) => {
  const before = await everything(api)
  await Promise.all([api.process.kill(), fixture.killNats(), fixture.front.process.kill()])
  rmSync(join(fixture.dir, 'one', 'runtime.json'), { force: true })
  await Promise.all([fixture.startNats(), fixture.startFront()])
  api = await fixture.startApi()
  t.equal(await everything(api), before)
  t.ok(await takesWrites(api))

  await t.test('another secret key is refused', async (t) => {
    const other = Buffer.alloc(32, 9).toString('base64')
    await t.rejects(fixture.startApi('two', { WEIR_SECRET_KEY: other }), /secret key is not the one/)
  })
})
