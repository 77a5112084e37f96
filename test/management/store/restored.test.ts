/** One part of a store restored from an old backup, next to the other parts as they are. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sleep } from '../../../src/ground/core/clock.js'
import { all, newest, refused, statusOf } from '../../harness/caller.js'
import { readyOf } from '../../harness/pages.js'
import { run } from '../../harness/processes.js'
import type { StoreApi } from '../../harness/store-fixture.js'
import { until } from '../../harness/weir.js'
import { everything, fill, openFixture, takesWrites } from './filled-store.js'

/** A running API compares the parts every ten seconds, and sweeps changes left behind every second. */
const comparedMs = 12_000

// One store for all tests, because starts take longest. Each begins with a running API and what the one before it left.
const fixture = await openFixture(t)
let api = await fixture.startApi()
await fill(api.client)

/** A copy of ClickHouse's directory, taken while no process uses it; the API does without it until then. */
async function copyClickhouse(from: string, to: string): Promise<void> {
  await fixture.front.process.stop()
  cpSync(join(fixture.dir, from), join(fixture.dir, to), { recursive: true })
  await fixture.startFront(from)
  await until('writes are taken', async () => {
    const { id } = await newest(api.client.ipPolicy.list())
    return (await statusOf(api.client.ipPolicy.update(id, {}))) === 'ok'
  })
}

async function useClickhouse(name: string): Promise<void> {
  await fixture.front.process.stop()
  await fixture.startFront(name)
}

async function copyNats(): Promise<void> {
  await fixture.killNats()
  cpSync(join(fixture.dir, 'nats'), join(fixture.dir, 'nats of yesterday'), { recursive: true })
  await fixture.startNats()
}

async function putNatsBack(): Promise<void> {
  await fixture.killNats()
  fixture.wipeNats()
  cpSync(join(fixture.dir, 'nats of yesterday'), join(fixture.dir, 'nats'), { recursive: true })
  await fixture.startNats()
}

const secret = (aws_secret_access_key: string) => ({
  target: {
    kinesis: {
      stream_arn: 'arn:aws:kinesis:eu-central-1:123456789012:stream/events',
      auth: { creds: { aws_access_key_id: 'AKIAAAAAAAAAAAAAAAAA', aws_secret_access_key } },
    },
  },
})

/** A change of every sort: made, changed, deleted, a hostport given to another edge, a secret replaced, a rule removed. */
async function changeAll({ client }: StoreApi, hostport: string): Promise<void> {
  const { id } = await newest(client.ipPolicy.list())
  await client.ipPolicy.update(id, { description: 'changed today' })
  await client.ipPolicy.create({ description: 'made today' })
  const rules = await all(client.ipPolicyRule.list())
  await client.ipPolicyRule.delete(rules[5]!.id)
  const edge = await newest(client.tcpEdge.list())
  await client.tcpEdge.update(edge.id, { hostports: [hostport] })
  await client.tcpEdge.create({ hostports: edge.hostports })
  await client.httpsEdge.delete((await newest(client.httpsEdge.list())).id)
  const destination = await newest(client.eventDestination.list())
  await client.eventDestination.update(destination.id, secret('replaced-today'))
}

async function checkRefused(t: Test, { client, url }: StoreApi): Promise<void> {
  t.match(await refused(503, client.ipPolicy.create({})), /is ahead of ClickHouse/)
  const ready = await readyOf(url)
  t.equal(ready.status, 503)
  t.match(JSON.stringify(ready.failing), /restore a newer backup of ClickHouse, or run .*weir store adopt/)
}

t.test('an old NATS with an unfinished change, ClickHouse as it is', async (t) => {
  const { id } = await newest(api.client.ipPolicy.list())
  await fixture.front.mode('fail')
  t.equal(await statusOf(api.client.ipPolicy.update(id, { description: 'in hand' })), 503)
  await api.process.kill()
  await copyNats()
  await fixture.front.mode('ok')
  api = await fixture.startApi()
  await until('it is finished', async () => (await api.client.ipPolicy.get(id)).description === 'in hand')
  await changeAll(api, 'd.example.com:22')
  const today = await everything(api)
  await api.process.kill()

  await putNatsBack()
  api = await fixture.startApi()
  await until('writes are taken', async () => (await statusOf(api.client.ipPolicy.update(id, {}))) === 'ok')
  t.equal(await everything(api), today, 'nothing of today is lost')
  t.equal(await statusOf(api.client.tcpEdge.create({ hostports: ['a.example.com:22'] })), 400)
  t.ok((await api.client.httpsEdge.create({ hostports: ['b.example.com:443'] })).id, 'given up today')
  const destination = await newest(api.client.eventDestination.list())
  t.ok(
    await api.client.eventDestination.update(destination.id, {
      description: 'its secret is there',
    }),
  )
  const latest = await everything(api)

  await putNatsBack()
  await until('under the running API, writes are taken again', () => takesWrites(api))
  const written = await newest(api.client.ipPolicy.list({ description: 'written' }))
  // The API may notice only now that the server was another one for a moment, and then compares once more.
  await until('it is deleted', async () => (await statusOf(api.client.ipPolicy.delete(written.id))) === 'ok')
  t.equal(await everything(api), latest)
})

t.test('an old ClickHouse, NATS as it is: an operator decides, and neither choice loses more', async (t) => {
  const yesterday = await everything(api)
  await copyClickhouse('clickhouse', 'yesterday')
  await changeAll(api, 'c.example.com:22')
  const today = await everything(api)
  await api.process.kill()

  await useClickhouse('yesterday')
  api = await fixture.startApi()
  t.equal(await everything(api), today, 'reads go on')
  await checkRefused(t, api)

  await useClickhouse('clickhouse')
  await until('with that of today under the running API, writes are taken', () => takesWrites(api))
  await api.process.kill()
  await useClickhouse('yesterday')
  api = await fixture.startApi()
  await checkRefused(t, api)
  const adopt = run('programs/main.js', ['store', 'adopt'], { WEIR_DATA_DIR: join(fixture.dir, 'one') })
  await adopt.line(/rebuilt from ClickHouse/)
  t.equal(await everything(api), yesterday, 'decided: yesterday is right')
  await until('writes are taken', () => takesWrites(api))
  t.ok((await api.client.tcpEdge.create({ hostports: ['c.example.com:22'] })).id, 'free as it was then')
})

t.test('an old ClickHouse, with later deletions and an unfinished change', async (t) => {
  const kept = await api.client.ipPolicy.create({ description: 'kept' })
  const deleted = await api.client.ipPolicy.create({ description: 'deleted' })
  await copyClickhouse('yesterday', 'older')
  await api.client.ipPolicy.delete(deleted.id)
  await fixture.front.mode('fail')
  const inHand = api.client.ipPolicy.update(kept.id, { description: 'in hand' })
  t.match(await refused(503, inHand), /committed and will take effect/)
  await api.process.kill()

  await useClickhouse('older')
  api = await fixture.startApi()
  await checkRefused(t, api)
  await sleep(comparedMs)
  await checkRefused(t, api)
  t.equal(await statusOf(api.client.ipPolicy.get(deleted.id)), 404, 'it is not back')

  await useClickhouse('yesterday')
  await until('the change in hand takes effect', async () => {
    const { description } = await api.client.ipPolicy.get(kept.id)
    return description === 'in hand'
  })
  await until('writes are taken', () => takesWrites(api))
  t.equal(await statusOf(api.client.ipPolicy.get(deleted.id)), 404)
})
