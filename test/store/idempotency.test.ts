/** Requests with an idempotency key: raced in two processes, killed at every write, and forgotten after a day. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ApiError } from '../../src/client/client.js'
import type { Resource } from '../../src/client/kinds.js'
import { streamOf } from '../../src/nats/bucket-stream.js'
import { bucketNames } from '../../src/wire/names.js'
import { all, type Caller } from '../harness/caller.js'
import { openFixture } from './filled-store.js'
import { killedAtEachWrite } from './killed-api.js'

t.setTimeout(1_200_000)

/** Tries again if nothing was written: on an overloaded machine the database can seem to be away briefly. */
async function create({ ipPolicy }: Caller, description: string): Promise<Resource<'ipPolicy'>> {
  for (;;) {
    try {
      return await ipPolicy.create({ description }, { idempotencyKey: description })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status_code !== 503) throw error
    }
    await sleep(200)
  }
}

const described = async (client: Caller, description: string): Promise<string[]> => {
  const policies = await all(client.ipPolicy.list({ description }))
  return policies.map(({ id }) => id)
}

t.test(
  'two processes race with the same keys: each key makes one resource, and all get the same answer',
  async (t) => {
    const fixture = await openFixture(t)
    const [one, two] = await Promise.all([fixture.startApi('one'), fixture.startApi('two')])
    for (let round = 1; round <= 5; round += 1) {
      const description = `round ${round}`
      const racers = Array.from({ length: 10 }, (_, at) =>
        create((at % 2 === 0 ? one : two).client, description),
      )
      const answers = await Promise.all(racers)
      // Both processes are reached by addresses of their own.
      const ids = new Set(answers.map(({ id }) => id))
      t.strictSame([...ids], await described(one.client, description))
    }
    const created = (await fixture.audited()).filter(({ type }) => type === 'ip_policy_created.v0')
    t.equal(created.length, 5, 'an event for each')

    t.test('a restart forgets nothing', async (t) => {
      const [id] = await described(one.client, 'round 1')
      await Promise.all([one.process.kill(), two.process.kill()])
      await fixture.killNats()
      await fixture.startNats()
      const { client } = await fixture.startApi('one')
      t.match(await create(client, 'round 1'), { id })
    })

    t.test('entries expire after 24 hours, the oldest earlier if the bucket is full', async (t) => {
      const nats = await fixture.nats()
      const { config } = (await nats.streamInfo(streamOf(bucketNames.idempotency)))!
      t.equal(config.max_age, 24 * 60 * 60 * 1e9, 'in nanoseconds')
      t.equal(config.discard, 'old')
      const { config: heads } = (await nats.streamInfo(streamOf(bucketNames.heads)))!
      t.equal(heads.max_age, 0, 'the others never forget')
      t.equal(heads.discard, 'new')
    })

    t.test('the key of an expired entry can be used again', async (t) => {
      const bucket = await (await fixture.nats()).openBucket('short', 1024 * 1024, { ageMaxMs: 1_000 })
      t.ok(await bucket.replace('key', 'first', 0))
      t.equal(await bucket.replace('key', 'second', 0), undefined, 'created once')
      while ((await bucket.get('key')) !== undefined) await new Promise((resolve) => setTimeout(resolve, 100))
      t.ok(await bucket.replace('key', 'third', 0))
    })

    t.test('a full bucket takes new entries', async (t) => {
      const bucket = await (await fixture.nats()).openBucket('small', 64 * 1024, { ageMaxMs: 60_000 })
      for (let at = 0; at < 100; at += 1) t.ok(await bucket.replace(`key${at}`, 'x'.repeat(2_000), 0))
      t.equal(await bucket.get('key0'), undefined, 'the oldest is deleted')
      t.ok(await bucket.get('key99'))
    })
  },
)

t.test('killed at each write of a request with a key', async (t) => {
  const fixture = await openFixture(t)
  const survivor = await fixture.startApi('survivor')
  let points = 0
  for await (const { client, point } of killedAtEachWrite(t, fixture)) {
    const first = await create(client, point).catch(() => undefined)
    const again = await create(survivor.client, point)
    if (first !== undefined)
      t.equal(again.id, first.id, `${point}: it was answered, so the answer is repeated`)
    t.strictSame(await described(survivor.client, point), [again.id], `${point}: made once`)
    points += 1
  }
  t.ok(points >= 4, `met ${points} points`)
  const created = (await fixture.audited()).filter(({ type }) => type === 'ip_policy_created.v0')
  t.equal(created.length, points, 'an event for each')
})
