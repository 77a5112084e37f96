/** A repair of an account writes only the entries that differ, also when it is continued after a kill. */

import t from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { jsonOf } from '../../../src/ground/core/bytes.js'
import { eachOf } from '../../../src/ground/core/concurrency.js'
import type { Bucket } from '../../../src/ground/nats/bucket.js'
import { metaKey, policyKind, type RulesChunk, rowKey, stateKey } from '../../../src/words/view/keys.js'
import { all, newest, openCaller, refused, statusOf } from '../../harness/caller.js'
import { startDeafNats } from '../../harness/deaf-nats.js'
import { startNatsProxy } from '../../harness/nats-proxy.js'
import { isReady } from '../../harness/pages.js'
import { run } from '../../harness/processes.js'
import { until } from '../../harness/weir.js'
import { everything, newAccount, openFixture, takesWrites } from './filled-store.js'

/** `--full` fills an account that no single message could hold. The bench row `restart` fills one five times as large. */
const isFull = process.argv.includes('--full')
const [policies, rulesEach] = isFull ? [2_000, 10] : [100, 40]

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let api = await fixture.startApi()
const made: string[] = []
await eachOf(Array.from({ length: policies }), 32, async () => {
  const { id } = await api.client.ipPolicy.create({})
  made.push(id)
  const rules = Array.from({ length: rulesEach }, (_, at) => ({
    cidr: `10.0.${at}.0/24`,
    action: 'deny' as const,
  }))
  await api.client.replaceRules(id, rules)
})
const config = (await (await fixture.nats()).findBucket(bucketNames.config)) as Bucket

/** How many entries were written to the configuration bucket, removals included. */
const entries = async (): Promise<number> => (await config.position()).lastRevision

t.test('an API that is killed while it carries out a change rewrites nothing else', async (t) => {
  const proxy = await startNatsProxy(fixture.natsUrl)
  t.teardown(() => proxy.close())
  for (const write of isFull ? [2, 3] : [3]) {
    await api.process.kill()
    const victim = await fixture.startApi('victim', { NATS_URL: proxy.url })
    proxy.cut({ write, after: true, meet: () => victim.process.child.kill('SIGKILL') })
    await victim.client.ipPolicy
      .update(made[0]!, { description: `killed at ${write}` })
      .catch(() => undefined)
    await victim.process.kill()
    const before = await entries()
    api = await fixture.startApi()
    const written = (await entries()) - before
    t.ok(written < 10, `write ${write}: ${written} entries`)
  }
})

t.test('rows, rules and deletions that differ are written, and no others', async (t) => {
  const before = await everything(api)
  const gone = await api.client.ipPolicy.create({})
  const goneRow = await config.get(rowKey(policyKind, gone.id))
  await api.client.ipPolicy.delete(gone.id)
  await api.process.kill()
  await config.put(rowKey(policyKind, gone.id), goneRow!.value!)
  const [missing, damaged] = [made[1]!, made[2]!]
  const row = await config.get(rowKey(policyKind, missing))
  await config.remove(rowKey(policyKind, missing), row!.revision)
  const [chunk = ''] = await config.keys(`rules.${damaged}.>`)
  const entry = (await config.get(chunk))!
  const { account_id, rules } = jsonOf<RulesChunk>(entry.value!)
  await config.put(chunk, JSON.stringify({ account_id, rules: rules.slice(1) }))
  const from = await entries()
  api = await fixture.startApi()
  t.equal(await everything(api), before, 'all is as it was')
  const written = (await entries()) - from
  const chunks = 2 * Math.ceil(rulesEach / 32)
  // For each of two policies, the old and the new chunks and the row; the row that was deleted; state, meta and marks.
  t.ok(written <= 2 * (chunks + 1) + 10, `${written} entries`)
  t.equal(await statusOf(api.client.ipPolicy.get(gone.id)), 404)
  t.ok(await takesWrites(api))
})

t.test('a repair that is killed is continued', async (t) => {
  const before = await everything(api)
  await api.process.kill()
  const lost = [...(await config.keys(`row.${policyKind}.*`))]
  for (const key of lost) await config.forget(key)
  const from = await entries()
  const victim = run('programs/main.js', ['api'], fixture.environment('victim'))
  const half = from + lost.length
  await until('half of it is written', async () => (await entries()) > half)
  await victim.kill()
  api = await fixture.startApi()
  t.equal(await everything(api), before, 'all is as it was')
  const written = (await entries()) - from
  const chunks = Math.ceil(rulesEach / 32)
  // Each policy has its new chunks, its row and the removal of the old chunks, once; some were under way at the kill.
  t.ok(written <= lost.length * (2 * chunks + 1) + 200, `${written} entries`)
  t.strictSame((await all(api.client.ipPolicy.list())).length, lost.length)
  t.ok(await config.get(metaKey))
  t.equal((await config.keys(stateKey('*'))).length, 1)
})

t.test('while an account is repaired at a start, the others are served', async (t) => {
  const proxy = await startDeafNats(fixture.natsUrl)
  t.teardown(() => proxy.close())
  const token = await newAccount(fixture)
  const other = () => openCaller({ base: api.url, token })
  const hostport = 'held.repaired.example.com:443'
  const edge = await api.client.httpsEdge.create({ hostports: [hostport] })
  const key = await api.client.apiKey.create({ description: 'not in the bucket for a time' })
  const policy = await api.client.ipPolicy.create({ description: 'first' })
  const old = await config.get(rowKey(policyKind, policy.id))
  await api.client.ipPolicy.update(policy.id, { description: 'second' })
  await other().ipPolicy.create({ description: 'of another account' })
  const claims = (await (await fixture.nats()).findBucket(bucketNames.claims)) as Bucket
  const damages = {
    'rows and a claim are missing': async () => {
      const keys = [rowKey('https_edge', edge.id), rowKey(policyKind, policy.id), rowKey('api_key', key.id)]
      for (const each of keys) await config.forget(each)
      for (const claim of await claims.keys('>')) await claims.forget(claim)
    },
    'a row is older': async () => void (await config.put(rowKey(policyKind, policy.id), old!.value!)),
  }
  const [killedAt] = Object.keys(damages)
  for (const [damage, make] of Object.entries(damages)) {
    const before = await everything(api)
    await api.process.kill()
    await make()
    proxy.swallow(new RegExp(`row\\.${policyKind}\\.${policy.id}$`))
    api = await fixture.startApi('one', { NATS_URL: proxy.url }, { answering: 503 })
    await until(`${damage}: the API is ready`, () => isReady(api.url))
    t.match(
      await (await fetch(`${api.url}/readyz`)).text(),
      /"degraded".*An account is being brought up to date/,
    )
    const withheld = /account is being brought up to date from ClickHouse/
    t.match(await refused(503, api.client.ipPolicy.get(policy.id)), withheld, `${damage}: no read`)
    t.match(await refused(503, api.client.ipPolicy.create({})), withheld, `${damage}: no write`)
    const { headers } = await api.client.raw.send('GET', '/ip_policies')
    t.match(headers['retry-after'], /^\d+$/)
    t.ok(await takesWrites({ ...api, client: other() }), `${damage}: others write`)
    t.equal((await newest(other().ipPolicy.list())).description, 'written', 'and read')
    t.ok((await other().httpsEdge.create({ hostports: [`${damage.length}.${hostport}`] })).id)
    t.match(
      await refused(503, other().httpsEdge.create({ hostports: [hostport] })),
      /not known yet whether this name is free/,
    )
    for (const unknown of [key.token, 'weir_never_made'])
      t.match(await refused(503, newest(api.client.withToken(unknown).apiKey.list())), /brought up to date/)
    await t.rejects(fixture.command('one', { command: 'account list' }), { message: /brought up to date/ })

    if (isFull || damage === killedAt) {
      await api.process.kill()
      api = await fixture.startApi('one', { NATS_URL: proxy.url }, { answering: 503 })
      t.ok(await takesWrites({ ...api, client: other() }), `${damage}: others, also after a kill meanwhile`)
    }
    proxy.swallow(undefined)
    await until('it is repaired', async () => (await statusOf(newest(api.client.apiKey.list()))) === 'ok')
    t.equal(await everything(api), before, `${damage}: all is as it was`)
    t.ok(await takesWrites(api))
    t.equal(await statusOf(other().httpsEdge.create({ hostports: [hostport] })), 400)
    t.ok(await newest(api.client.withToken(key.token).apiKey.list()))
    t.equal(await statusOf(newest(api.client.withToken('weir_never_made').apiKey.list())), 401)
    await until('/readyz has no reservation', async () => {
      const text = await (await fetch(`${api.url}/readyz`)).text()
      return !text.includes('degraded') && (await isReady(api.url))
    })
  }
})
