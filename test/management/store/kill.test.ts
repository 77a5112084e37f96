/** An API that dies in the middle of a write, at every point of it, and at random. */
import t from 'tap'
import { all } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'
import { newAccount, openFixture } from './filled-store.js'
import { killedAtEachWrite } from './killed-api.js'
import {
  batchesWithKey,
  changesOfPolicy,
  creationsWithKey,
  deletionsWithManyRules,
  replacementsOfRules,
} from './killed-requests.js'

// Processes are started again and again.
t.setTimeout(2_700_000)

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let survivor = await fixture.startApi('survivor')

/** `--full` kills as often as it takes to be sure. */
const randomKills = process.argv.includes('--full') ? 100 : 1

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
  // A change that was committed and not answered before the kill is finished before the next write.
  await client.ipPolicy.update(changed.id, { description: 'after the last kill' })
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

/** Side by side, five requests write five times as often as one: each kill meets each of them at another write. */
const step = 6

t.test('killed at each write of requests of every sort', { timeout: 1_200_000 }, async (t) => {
  const sorts = [
    changesOfPolicy,
    deletionsWithManyRules,
    creationsWithKey,
    replacementsOfRules,
    batchesWithKey,
  ]
  const requests = await Promise.all(
    sorts.map(async (make) => {
      const token = await newAccount(fixture, 'survivor')
      return { token, ...(await make(fixture, () => survivor.client.withToken(token))) }
    }),
  )
  let points = 0
  for await (const { client, point } of killedAtEachWrite(t, fixture, step)) {
    await Promise.all(requests.map(({ prepare }) => prepare?.(point)))
    const answers = await Promise.all(requests.map(({ token, ask }) => ask(client.withToken(token), point)))
    await Promise.all(requests.map(({ check }, at) => check(t, point, answers[at])))
    points += 1
  }
  t.ok(points >= 4, `met ${points} points`)
  for (const { end } of requests) await end(t, points)
})
