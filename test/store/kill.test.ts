/** An API that dies in the middle of a write, at every point of it, and at random. */
import t from 'tap'
import { ruleEventsPerMessage } from '../../src/core/limits.js'
import { openClickhouse } from '../../src/store/clickhouse.js'
import { bucketNames } from '../../src/wire/names.js'
import { all, statusOf } from '../harness/caller.js'
import { until } from '../harness/weir.js'
import { openFixture } from './filled-store.js'
import { killedAtEachWrite } from './killed-api.js'

// Processes are started again and again.
t.setTimeout(2_700_000)

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let survivor = await fixture.startApi('survivor')

/** `--full` kills as often as it takes to be sure. */
const randomKills = process.argv.includes('--full') ? 100 : 2

t.test('killed at random while it writes', { timeout: 1_200_000 }, async (t) => {
  const acknowledged: { id: string; description: string }[] = []
  const changed = await survivor.client.ipPolicy.create({ description: 'changed again and again' })
  const changes: string[] = []
  for (let kill = 1; kill <= randomKills; kill += 1) {
    const { client, process } = survivor
    const writes = Array.from({ length: 30 }, async (_, at) => {
      const description = `kill ${kill}, write ${at}`
      const made = await client.ipPolicy.create({ description }).catch(() => undefined)
      if (made !== undefined) acknowledged.push({ id: made.id, description })
      const change = await client.ipPolicy.update(changed.id, { description }).catch(() => undefined)
      if (change !== undefined) changes.push(description)
    })
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400))
    await process.kill()
    await Promise.all(writes)
    survivor = await fixture.startApi('survivor')
  }
  const { client } = survivor
  for (const { id, description } of acknowledged) {
    t.equal((await client.ipPolicy.get(id)).description, description, 'what was answered is there')
  }
  const listed = (await all(client.ipPolicy.list())).map(({ id }) => id)
  const created = async (): Promise<string[]> =>
    (await fixture.audited()).flatMap(({ type, object }) =>
      type === 'ip_policy_created.v0' ? [object.id] : [],
    )
  await until('an event per policy', async () => (await created()).length >= listed.length)
  t.strictSame((await created()).sort(), listed.sort(), 'exactly one event for each policy that exists')
  const told = (await fixture.audited()).filter(({ object }) => object.id === changed.id)
  t.equal(new Set(told.map(({ id }) => id)).size, told.length, 'no event of a change twice')
  const descriptions = told.map(({ object }) => (object as { description?: string }).description)
  t.equal(new Set(descriptions).size, descriptions.length, 'one event for each change')
  for (const description of changes) t.ok(descriptions.includes(description), `${description} has an event`)
  const last = (await client.ipPolicy.get(changed.id)).description
  t.equal(descriptions.at(-1), last, 'the last event shows the present state')
})

t.test('killed at each write of a change', { timeout: 300_000 }, async (t) => {
  const policy = await survivor.client.ipPolicy.create({ description: 'before' })
  const changed: string[] = []
  let points = 0
  for await (const { client, point } of killedAtEachWrite(t, fixture)) {
    const answer = await client.ipPolicy.update(policy.id, { description: point }).catch(() => undefined)
    await survivor.client.ipPolicy.update(policy.id, { metadata: point })
    const { description: now } = await survivor.client.ipPolicy.get(policy.id)
    if (answer !== undefined) t.equal(now, point, `${point}: answered, so it is there`)
    if (now === point) changed.push(point)
    points += 1
  }
  t.ok(points >= 4, `met ${points} points`)
  const events = (await fixture.audited()).filter(({ object }) => object.id === policy.id)
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no event twice')
  t.equal(events.length, 1 + changed.length + points, 'an event for each change')
})

t.test(
  'killed at each write of the deletion of a policy with many rules',
  { timeout: 1_200_000 },
  async (t) => {
    const gone: string[] = []
    let points = 0
    for await (const { client, point } of killedAtEachWrite(t, fixture, 3)) {
      const policy = await survivor.client.ipPolicy.create({ description: point })
      gone.push(policy.id)
      const rules = Array.from({ length: ruleEventsPerMessage + 5 }, (_, at) => ({
        cidr: `10.${at >> 8}.${at & 255}.0/24`,
        action: 'deny' as const,
      }))
      await survivor.client.replaceRules(policy.id, rules)
      const isAnswered = await client.ipPolicy.delete(policy.id).then(
        () => true,
        () => false,
      )
      await survivor.client.ipPolicy.create({ description: 'written after it' })
      const status = await statusOf(survivor.client.ipPolicy.delete(policy.id))
      if (isAnswered) t.equal(status, 404, `${point}: answered, so it is deleted`)
      points += 1
    }
    t.ok(points >= 4, `met ${points} points`)
    const deleted = (await fixture.audited())
      .filter(({ type }) => type === 'ip_policy_deleted.v0' || type === 'ip_policy_rule_deleted.v0')
      .map(({ object }) => object.id)
    const created = (await fixture.audited())
      .filter(({ type }) => type === 'ip_policy_rule_created.v0')
      .map(({ object }) => object.id)
    t.strictSame(deleted.sort(), [...gone, ...created].sort(), 'exactly one event for each policy and rule')
    t.strictSame(await all(survivor.client.ipPolicyRule.list()), [], 'none is left')
    const config = await (await fixture.nats()).findBucket(bucketNames.config)
    t.strictSame(await config?.keys('rules.>'), [], 'nor in the bucket')
    const clickhouse = await openClickhouse({ url: fixture.front.url, directory: '' })
    t.teardown(() => clickhouse.close())
    t.strictSame(await clickhouse.rows('SELECT id FROM ip_policy_rules'), [], 'nor in ClickHouse')
  },
)
