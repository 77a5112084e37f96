/** What a repair of an account writes: only what differs, also when it is continued after a kill. */
import t from 'tap'
import { eachOf } from '../../src/core/concurrency.js'
import type { Bucket } from '../../src/nats/bucket.js'
import { jsonOf, metaKey, policyKind, type RulesChunk, rowKey, stateKey } from '../../src/view/keys.js'
import { bucketNames } from '../../src/wire/names.js'
import { all, statusOf } from '../harness/caller.js'
import { startNatsProxy } from '../harness/nats-proxy.js'
import { run } from '../harness/processes.js'
import { until } from '../harness/weir.js'
import { everything, openFixture, takesWrites } from './filled-store.js'

t.setTimeout(900_000)

/** `--full` fills an account as large as a large deployment's. */
const [policies, rulesEach] = process.argv.includes('--full') ? [10_000, 10] : [100, 40]

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
  await api.process.kill()
  for (const write of [2, 3]) {
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
    await api.process.kill()
  }
  api = await fixture.startApi()
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
  // Of two policies, the old and the new chunks and the row; the row that was deleted; state, meta and marks.
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
  await until('half of it is written', async () => (await entries()) > half, 120_000)
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
