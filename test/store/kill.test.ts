/** An API that dies in the middle of a write, at every point of it, and at random. */
import t from 'tap'
import { startNatsProxy } from '../harness/nats-proxy.js'
import { StoreWorld } from '../harness/store-world.js'
import { until } from '../harness/weir.js'

// Processes are started again and again.
t.setTimeout(1_500_000)

/** `--full` kills as often as it takes to be sure. */
const randomKills = process.argv.includes('--full') ? 100 : 10

t.test('killed before and after each write of a change', { timeout: 300_000 }, async (t) => {
  const world = new StoreWorld()
  await world.open()
  t.teardown(() => world.close())
  const proxy = await startNatsProxy(world.natsUrl)
  t.teardown(() => proxy.close())
  const survivor = await world.startApi('survivor')
  const policy = await survivor.client.post('/ip_policies', { description: 'before' })
  const changed: string[] = []
  let points = 0
  for (const after of [false, true]) {
    for (let write = 1; ; write += 1) {
      const victim = await world.startApi('victim', { NATS_URL: proxy.url })
      const description = `${after ? 'after' : 'before'} write ${write}`
      let isKilled = false
      proxy.cut({
        write,
        after,
        meet: () => {
          isKilled = true
          victim.process.child.kill('SIGKILL')
        },
      })
      const path = `/ip_policies/${policy.id}`
      const answer = await victim.client.call('PATCH', path, { description }).catch(() => undefined)
      await survivor.client.patch(path, { metadata: description })
      const { description: now } = await survivor.client.get(path)
      if (answer?.status === 200) t.equal(now, description, `${description}: answered, so it is there`)
      if (now === description) changed.push(description)
      points += 1
      await victim.process.kill()
      if (!isKilled) break
    }
  }
  t.ok(points >= 8, `met ${points} points`)
  const events = (await world.audited()).filter(({ object }) => object.id === policy.id)
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no event twice')
  t.equal(events.length, 1 + changed.length + points, 'an event for each change')
})

t.test('killed at random while it writes', { timeout: 1_200_000 }, async (t) => {
  const world = new StoreWorld()
  await world.open()
  t.teardown(() => world.close())
  const acknowledged: { id: string; description: string }[] = []
  let restarted = await world.startApi()
  for (let kill = 1; kill <= randomKills; kill += 1) {
    const { client, process } = restarted
    const writes = Array.from({ length: 30 }, async (_, at) => {
      const description = `kill ${kill}, write ${at}`
      const answer = await client.call('POST', '/ip_policies', { description }).catch(() => undefined)
      if (answer?.status === 201) acknowledged.push({ id: answer.body.id, description })
    })
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400))
    await process.kill()
    await Promise.all(writes)
    restarted = await world.startApi()
  }
  const { client } = restarted
  for (const { id, description } of acknowledged) {
    t.equal((await client.get(`/ip_policies/${id}`)).description, description, 'what was answered is there')
  }
  const listed: string[] = []
  for (let uri: string | null = '/ip_policies'; uri !== null; ) {
    const page: { ip_policies: { id: string }[]; next_page_uri: string | null } = await client.get(uri)
    listed.push(...page.ip_policies.map(({ id }) => id))
    uri = page.next_page_uri
  }
  const created = async (): Promise<string[]> =>
    (await world.audited()).flatMap(({ type, object }) =>
      type === 'ip_policy_created.v0' ? [object.id] : [],
    )
  await until('an event per policy', async () => (await created()).length >= listed.length)
  t.strictSame((await created()).sort(), listed.sort(), 'exactly one event for each policy that exists')
})
