/** API keys that somebody else than Weir wrote to the configuration bucket. */
import t from 'tap'
import { hashToken } from '../../src/core/ids.js'
import { bucketNames, rowKey } from '../../src/store/keys.js'
import type { StoreApi } from '../harness/store-world.js'
import { ApiClient, until } from '../harness/weir.js'
import { total } from '../integration/world.js'
import { openWorld, takesWrites } from './filled.js'

t.setTimeout(600_000)

const forgedToken = 'token-of-a-forged-key'

const statusOf = async ({ client }: StoreApi, token = client.token): Promise<number> =>
  (await new ApiClient(client.base, token).call('GET', '/api_keys')).status

const foreignKeys = async ({ client }: StoreApi): Promise<number> =>
  total(await client.get('/metrics'), 'weir_foreign_api_keys_total')

t.test('a forged key is refused, reported, and no reason not to start', async (t) => {
  const world = await openWorld(t)
  let api = await world.startApi()
  const config = (await (await world.nats()).findBucket(bucketNames.config))!
  const [first] = (await api.client.get('/api_keys')).keys
  const entry = await config.get(rowKey('api_key', first.id))
  const row = JSON.parse(Buffer.from(entry!.value!).toString())
  const put = (id: string, more: object) =>
    config.put(rowKey('api_key', id), JSON.stringify({ ...row, id, ...more }))

  await put('ak_forged', { token_hash: hashToken(forgedToken) })
  await until('it is reported', async () => (await foreignKeys(api)) === 1)
  t.equal(await statusOf(api, forgedToken), 401)
  t.equal(await statusOf(api), 200)

  await put('ak_shadow', { account_id: 'ac_of_nobody' })
  await until('it is reported, too', async () => (await foreignKeys(api)) === 2)
  t.equal(await statusOf(api), 200, 'a row with the token of another key does not take its place')

  const second = await api.client.post('/api_keys', {})
  t.equal(await statusOf(api, second.token), 200, 'a new key works at once')
  const kept = await config.get(rowKey('api_key', second.id))
  await api.client.delete(`/api_keys/${second.id}`)
  await config.put(rowKey('api_key', second.id), kept!.value!)
  await until('a deleted key that is put back is reported', async () => (await foreignKeys(api)) === 3)
  t.equal(await statusOf(api, second.token), 401)

  await put(first.id, { token_hash: hashToken(forgedToken), version: 1_000_000 })
  await until('a key under the id of another is reported', async () => (await foreignKeys(api)) === 4)
  t.equal(await statusOf(api, forgedToken), 401)

  await api.process.kill()
  api = await world.startApi()
  t.equal((await api.client.call('GET', '/readyz')).status, 200, 'the next start is ready')
  t.ok(await takesWrites(api))
  for (const token of [forgedToken, second.token]) t.equal(await statusOf(api, token), 401)
})

t.test('while ClickHouse is away, keys that were known go on', async (t) => {
  const world = await openWorld(t)
  const api = await world.startApi()
  const config = (await (await world.nats()).findBucket(bucketNames.config))!
  const [{ id }] = (await api.client.get('/api_keys')).keys
  const entry = await config.get(rowKey('api_key', id))
  await world.front.mode('fail')
  const row = JSON.parse(Buffer.from(entry!.value!).toString())
  const forged = { ...row, id: 'ak_forged', token_hash: hashToken(forgedToken) }
  await config.put(rowKey('api_key', forged.id), JSON.stringify(forged))
  await until('the other can not be told yet', async () => (await statusOf(api, forgedToken)) === 503)
  t.equal(await statusOf(api), 200)
  await world.front.mode('ok')
  await until('it is refused', async () => (await statusOf(api, forgedToken)) === 401)
})

t.test('a row of another kind that ClickHouse does not have is reported while the API runs', async (t) => {
  const world = await openWorld(t)
  const api = await world.startApi()
  const config = (await (await world.nats()).findBucket(bucketNames.config))!
  const policy = await api.client.post('/ip_policies', {})
  const entry = await config.get(rowKey('ip_policy', policy.id))
  const row = JSON.parse(Buffer.from(entry!.value!).toString())
  await config.put(rowKey('ip_policy', 'ipp_forged'), JSON.stringify({ ...row, id: 'ipp_forged' }))
  const metrics = () => api.client.get('/metrics')
  const isReported = async () => total(await metrics(), 'weir_foreign_rows_total', 'kind="ip_policy"') === 1
  await until('it is reported', isReported, 120_000)
})
