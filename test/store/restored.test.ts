/** One part of a store restored from an old backup, next to the other parts as they are. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sleep } from '../../src/core/clock.js'
import { run } from '../harness/processes.js'
import type { StoreApi, StoreFixture } from '../harness/store-fixture.js'
import { until } from '../harness/weir.js'
import { everything, fill, openFixture, takesWrites } from './filled-store.js'

t.setTimeout(600_000)

/** A copy of ClickHouse's directory, taken while no process uses it. */
async function copyClickhouse(fixture: StoreFixture, from: string, to: string): Promise<void> {
  await fixture.front.process.stop()
  cpSync(join(fixture.dir, from), join(fixture.dir, to), { recursive: true })
  await fixture.startFront(from)
}

async function useClickhouse(fixture: StoreFixture, name: string): Promise<void> {
  await fixture.front.process.stop()
  await fixture.startFront(name)
}

async function copyNats(fixture: StoreFixture): Promise<void> {
  await fixture.killNats()
  cpSync(join(fixture.dir, 'nats'), join(fixture.dir, 'nats of yesterday'), { recursive: true })
  await fixture.startNats()
}

async function putNatsBack(fixture: StoreFixture): Promise<void> {
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

/** A change of every sort: made, changed, deleted, a hostport released, a secret replaced, a rule removed. */
async function changeAll({ client }: StoreApi): Promise<void> {
  const { ip_policies } = await client.get('/ip_policies')
  await client.patch(`/ip_policies/${ip_policies[0].id}`, { description: 'changed today' })
  await client.post('/ip_policies', { description: 'made today' })
  const { ip_policy_rules } = await client.get('/ip_policy_rules')
  await client.delete(`/ip_policy_rules/${ip_policy_rules[5].id}`)
  const { tcp_edges } = await client.get('/edges/tcp')
  await client.patch(`/edges/tcp/${tcp_edges[0].id}`, { hostports: ['c.example.com:22'] })
  await client.post('/edges/tcp', { hostports: ['a.example.com:22'] })
  const { https_edges } = await client.get('/edges/https')
  await client.delete(`/edges/https/${https_edges[0].id}`)
  const { event_destinations } = await client.get('/event_destinations')
  await client.patch(`/event_destinations/${event_destinations[0].id}`, secret('replaced-today'))
}

async function checkRefused(t: Test, { client }: StoreApi): Promise<void> {
  const refused = await client.send('POST', '/ip_policies', { body: {} })
  t.equal(refused.status, 503)
  t.match(JSON.stringify(refused.body), /is ahead of ClickHouse/)
  const ready = await client.send('GET', '/readyz')
  t.equal(ready.status, 503)
  t.match(JSON.stringify(ready.body), /restore a newer backup of ClickHouse, or run .*weir store adopt/)
}

t.test('an old ClickHouse, NATS as it is: an operator decides, and neither choice loses more', async (t) => {
  const fixture = await openFixture(t)
  let api = await fixture.startApi()
  await fill(api.client)
  const yesterday = await everything(api)
  await api.process.kill()
  await copyClickhouse(fixture, 'clickhouse', 'yesterday')
  api = await fixture.startApi()
  await changeAll(api)
  const today = await everything(api)
  await api.process.kill()

  await useClickhouse(fixture, 'yesterday')
  api = await fixture.startApi()
  t.equal(await everything(api), today, 'reads go on')
  await checkRefused(t, api)

  await useClickhouse(fixture, 'clickhouse')
  await until('with that of today under the running API, writes are taken', () => takesWrites(api))
  await api.process.kill()
  await useClickhouse(fixture, 'yesterday')
  api = await fixture.startApi()
  await checkRefused(t, api)
  const adopt = run('programs/main.js', ['store', 'adopt'], { WEIR_DATA_DIR: join(fixture.dir, 'one') })
  await adopt.line(/rebuilt from ClickHouse/)
  t.equal(await everything(api), yesterday, 'decided: yesterday is right')
  await until('writes are taken', () => takesWrites(api))
  t.ok((await api.client.post('/edges/tcp', { hostports: ['c.example.com:22'] })).id, 'free as it was then')
})

t.test('an old ClickHouse, with later deletions and an unfinished change', async (t) => {
  const fixture = await openFixture(t)
  let api = await fixture.startApi()
  const kept = await api.client.post('/ip_policies', { description: 'kept' })
  const deleted = await api.client.post('/ip_policies', { description: 'deleted' })
  await api.process.kill()
  await copyClickhouse(fixture, 'clickhouse', 'yesterday')
  api = await fixture.startApi()
  await api.client.delete(`/ip_policies/${deleted.id}`)
  await fixture.front.mode('fail')
  const inHand = await api.client.send('PATCH', `/ip_policies/${kept.id}`, {
    body: { description: 'in hand' },
  })
  t.match(JSON.stringify(inHand.body), /committed and will take effect/)
  await api.process.kill()

  await useClickhouse(fixture, 'yesterday')
  api = await fixture.startApi()
  await checkRefused(t, api)
  // Changes left behind are swept every second, and the parts are compared every ten.
  await sleep(12_000)
  await checkRefused(t, api)
  t.equal((await api.client.send('GET', `/ip_policies/${deleted.id}`)).status, 404, 'it is not back')
  await api.process.kill()

  await useClickhouse(fixture, 'clickhouse')
  api = await fixture.startApi()
  await until('the change in hand takes effect', async () => {
    const { description } = await api.client.get(`/ip_policies/${kept.id}`)
    return description === 'in hand'
  })
  await until('writes are taken', () => takesWrites(api))
  t.equal((await api.client.send('GET', `/ip_policies/${deleted.id}`)).status, 404)
})

t.test('an old NATS with an unfinished change, ClickHouse as it is', async (t) => {
  const fixture = await openFixture(t)
  let api = await fixture.startApi()
  await fill(api.client)
  const { ip_policies } = await api.client.get('/ip_policies')
  await fixture.front.mode('fail')
  const path = `/ip_policies/${ip_policies[0].id}`
  t.equal((await api.client.send('PATCH', path, { body: { description: 'in hand' } })).status, 503)
  await api.process.kill()
  await copyNats(fixture)
  await fixture.front.mode('ok')
  api = await fixture.startApi()
  await until('it is finished', async () => (await api.client.get(path)).description === 'in hand')
  await changeAll(api)
  const today = await everything(api)
  await api.process.kill()

  await putNatsBack(fixture)
  api = await fixture.startApi()
  await until(
    'writes are taken',
    async () => (await api.client.send('PATCH', path, { body: {} })).status === 200,
  )
  t.equal(await everything(api), today, 'nothing of today is lost')
  t.equal(
    (await api.client.send('POST', '/edges/tcp', { body: { hostports: ['a.example.com:22'] } })).status,
    400,
  )
  t.ok((await api.client.post('/edges/https', { hostports: ['b.example.com:443'] })).id, 'given up today')
  const { event_destinations } = await api.client.get('/event_destinations')
  const at = `/event_destinations/${event_destinations[0].id}`
  t.ok(await api.client.patch(at, { description: 'its secret is there' }))
  const latest = await everything(api)

  await putNatsBack(fixture)
  await until('under the running API, writes are taken again', () => takesWrites(api), 60_000)
  const { ip_policies: all } = await api.client.get('/ip_policies')
  const written = all.find(({ description }: { description: string }) => description === 'written')
  await api.client.delete(`/ip_policies/${written.id}`)
  t.equal(await everything(api), latest)
})
