/** API keys, bouncers and other rows in the configuration bucket that Weir did not write. */
import t from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { hashToken } from '../../../src/ground/core/ids.js'
import { rowKey } from '../../../src/words/view/keys.js'
import { all, newest, notFound, statusOf } from '../../harness/caller.js'
import { total } from '../../harness/metrics.js'
import { isReady, metricsOf } from '../../harness/pages.js'
import type { StoreApi } from '../../harness/store-fixture.js'
import { until } from '../../harness/weir.js'
import { fill, openFixture, takesWrites } from './filled-store.js'

// One store for all tests, because starts take longest, and rows are compared every 30 s.
const fixture = await openFixture(t)
let api = await fixture.startApi()
await fill(api.client)
const config = (await (await fixture.nats()).findBucket(bucketNames.config))!

const forgedToken = 'token-of-a-forged-key'

/** The status of a request with this token; the one of the first key by default. */
const keyStatus = ({ client }: StoreApi, token: string | null = client.token): Promise<number | 'ok'> =>
  statusOf(all(client.withToken(token).apiKey.list()))

const listed = async ({ client }: StoreApi): Promise<string[]> =>
  (await all(client.apiKey.list())).map(({ id }) => id)

const foreignKeys = async ({ url }: StoreApi): Promise<number> =>
  total(await metricsOf(url), 'weir_foreign_api_keys_total')

t.test('a forged key is refused and reported, and does not prevent a start', async (t) => {
  const first = await newest(api.client.apiKey.list())
  const entry = await config.get(rowKey('api_key', first.id))
  const row = JSON.parse(Buffer.from(entry!.value!).toString())
  const put = (id: string, more: object) =>
    config.put(rowKey('api_key', id), JSON.stringify({ ...row, id, ...more }))

  await put('ak_forged', { token_hash: hashToken(forgedToken) })
  await until('it is reported', async () => (await foreignKeys(api)) === 1)
  t.equal(await keyStatus(api, forgedToken), 401)
  t.equal(await keyStatus(api), 'ok')
  t.strictSame(await listed(api), [first.id], 'it is not listed')
  await notFound(api.client.apiKey, 'ak_forged')

  await put('ak_shadow', { account_id: 'ac_of_nobody' })
  await until('it is reported, too', async () => (await foreignKeys(api)) === 2)
  t.equal(await keyStatus(api), 'ok', 'a row with the token of another key does not take its place')

  const second = await api.client.apiKey.create({})
  t.equal(await keyStatus(api, second.token), 'ok', 'a new key works at once')
  t.strictSame(await listed(api), [second.id, first.id], 'and is listed')
  const kept = await config.get(rowKey('api_key', second.id))
  await api.client.apiKey.delete(second.id)
  await config.put(rowKey('api_key', second.id), kept!.value!)
  await until('a deleted key that is put back is reported', async () => (await foreignKeys(api)) === 3)
  t.equal(await keyStatus(api, second.token), 401)

  const { id: policyId } = await api.client.ipPolicy.create({})
  const bouncer = await api.client.bouncer.create({ ip_policy_ids: [policyId] })
  const bans = async (token: string | null) => {
    const headers = { 'x-api-key': String(token) }
    return (await fetch(`${api.url}/v1/decisions`, { headers })).status
  }
  const real = JSON.parse(Buffer.from((await config.get(rowKey('bouncer', bouncer.id)))!.value!).toString())
  const forgedBouncer = { ...real, id: 'bnc_forged', token_hash: hashToken(forgedToken) }
  await config.put(rowKey('bouncer', 'bnc_forged'), JSON.stringify(forgedBouncer))
  await until('a forged bouncer is reported', async () => (await foreignKeys(api)) === 4)
  t.strictSame([await bans(forgedToken), await bans(bouncer.token)], [403, 200])
  const bouncers = (await all(api.client.bouncer.list())).map(({ id }) => id)
  t.strictSame(bouncers, [bouncer.id], 'it is not listed')
  await notFound(api.client.bouncer, 'bnc_forged')
  await config.forget(rowKey('bouncer', 'bnc_forged'))

  await put(first.id, { token_hash: hashToken(forgedToken), version: 1_000_000 })
  await until('a key under the id of another is reported', async () => (await foreignKeys(api)) === 5)
  t.equal(await keyStatus(api, forgedToken), 401)

  await api.process.kill()
  api = await fixture.startApi()
  t.ok(await isReady(api.url), 'the next start is ready')
  t.ok(await takesWrites(api))
  for (const token of [forgedToken, second.token]) t.equal(await keyStatus(api, token), 401)
})

t.test('known keys still work while ClickHouse is away', async (t) => {
  const [id = ''] = await listed(api)
  const entry = await config.get(rowKey('api_key', id))
  await fixture.front.mode('fail')
  const row = JSON.parse(Buffer.from(entry!.value!).toString())
  const token = 'token-of-another-forged-key'
  const forged = { ...row, id: 'ak_forged_meanwhile', token_hash: hashToken(token) }
  await config.put(rowKey('api_key', forged.id), JSON.stringify(forged))
  await until('the forged key cannot be checked yet', async () => (await keyStatus(api, token)) === 503)
  t.equal(await keyStatus(api), 'ok')
  await fixture.front.mode('ok')
  await until('it is refused', async () => (await keyStatus(api, token)) === 401)
})

t.test(
  'rows of other kinds that differ from ClickHouse are reported while the API runs, and no others',
  async (t) => {
    const readRow = async (kind: string, id: string) =>
      JSON.parse(Buffer.from((await config.get(rowKey(kind, id)))!.value!).toString())
    const write = (kind: string, id: string, row: object) => config.put(rowKey(kind, id), JSON.stringify(row))
    const { client } = api
    const policy = async () => (await client.ipPolicy.create({})).id
    const [model, altered, old, deleted] = [await policy(), await policy(), await policy(), await policy()]
    const first = await readRow('ip_policy', old)
    await client.ipPolicy.update(old, { description: 'second' })
    const before = await readRow('ip_policy', deleted)
    await client.ipPolicy.delete(deleted)
    await client.replaceRules(model, [{ cidr: '192.0.2.0/24', action: 'allow' }])
    const edge = await client.tcpEdge.create({ hostports: ['a.example:22'] })
    const ofModel = await readRow('ip_policy', model)

    await write('ip_policy', 'ipp_forged', { ...ofModel, id: 'ipp_forged' })
    await write('ip_policy', 'ipp_of_nobody', { ...ofModel, id: 'ipp_of_nobody', account_id: 'ac_of_nobody' })
    await write('ip_policy', altered, { ...(await readRow('ip_policy', altered)), description: 'altered' })
    await write('ip_policy', old, first)
    await write('ip_policy', deleted, before)
    await config.put(rowKey('ip_policy', 'ipp_bare'), JSON.stringify({ id: 'ipp_bare' }))
    await write('ip_policy', 'ipp_odd', { ...ofModel, id: 'ipp_odd', created_at: 'never' })
    const edgeRow = await readRow('tcp_edge', edge.id)
    await write('tcp_edge', 'edgtcp_key_of_another', { ...edgeRow, hostports: ['b.example:22'] })

    const reported = async (kind: string) =>
      total(await metricsOf(api.url), 'weir_foreign_rows_total', `kind="${kind}"`)
    const ofOtherKinds = async () =>
      total(await metricsOf(api.url), 'weir_foreign_rows_total') -
      (await reported('api_key')) -
      (await reported('bouncer'))
    await until('all are reported', async () => (await ofOtherKinds()) >= 5)
    t.equal(await reported('ip_policy'), 5)
    t.equal(await ofOtherKinds(), 5, 'and nothing that Weir wrote')
    const damaged = total(await metricsOf(api.url), 'weir_damaged_entries_total')
    t.equal(damaged, 3, 'those that are no rows, and the one under the key of another')
  },
)
