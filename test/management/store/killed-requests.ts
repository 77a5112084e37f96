/** Requests to an API that is killed meanwhile, each in an account of its own, and what must hold afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { ruleEventsPerMessage } from '../../../src/management/write/bulk-audits.js'
import { ApiError } from '../../../src/words/client/client.js'
import type { Resource } from '../../../src/words/client/kinds.js'
import type { BatchRequest, BatchResults } from '../../../src/words/shape/batch.js'
import { all, type Caller, statusOf } from '../../harness/caller.js'
import type { StoreFixture } from '../../harness/store-fixture.js'
import { type Rule, rulesByEvents, rulesWith, ruleTexts, storedRules } from './rules.js'

interface KilledRequests {
  /** Before the API is asked. */
  prepare?(point: string): Promise<void>
  /** Resolves with undefined if there was no answer. */
  ask(victim: Caller, point: string): Promise<unknown>
  /** After the kill. The next write of the account, by another API, finishes what the dead one had begun. */
  check(t: Test, point: string, answer: unknown): Promise<void>
  /** After all kills. */
  end(t: Test, points: number): Promise<void>
}

/** Makes them for an account; `me`: its caller of an API that survives. */
type MakeRequests = (fixture: StoreFixture, me: () => Caller) => Promise<KilledRequests>

const unanswered = (): undefined => undefined

export const changesOfPolicy: MakeRequests = async (fixture, me) => {
  const { id } = await me().ipPolicy.create({ description: 'before' })
  let changed = 0
  return {
    ask: (victim, point) => victim.ipPolicy.update(id, { description: point }).catch(unanswered),
    check: async (t, point, answer) => {
      await me().ipPolicy.update(id, { metadata: point })
      const { description: now } = await me().ipPolicy.get(id)
      if (answer !== undefined) t.equal(now, point, `${point}: changed, as it was answered`)
      if (now === point) changed += 1
    },
    end: async (t, points) => {
      const events = (await fixture.audited()).filter(({ object }) => object.id === id)
      t.equal(new Set(events.map((event) => event.id)).size, events.length, 'no event twice')
      t.equal(events.length, 1 + changed + points, 'an event for each change')
    },
  }
}

/** Its events need more than one message. */
const rulesOfDeleted = ruleEventsPerMessage + 5

export const deletionsWithManyRules: MakeRequests = async (fixture, me) => {
  const gone: string[] = []
  return {
    prepare: async (point) => {
      const { id } = await me().ipPolicy.create({ description: point })
      gone.push(id)
      await me().replaceRules(id, rulesWith('deny', rulesOfDeleted))
    },
    ask: (victim) => victim.ipPolicy.delete(gone.at(-1)!).then(() => 'deleted', unanswered),
    check: async (t, point, answer) => {
      await me().ipPolicy.create({ description: 'written after it' })
      const status = await statusOf(me().ipPolicy.delete(gone.at(-1)!))
      if (answer !== undefined) t.equal(status, 404, `${point}: deleted, as it was answered`)
    },
    end: async (t) => {
      const events = (await fixture.audited()).filter(
        ({ object }) => gone.includes(object.id) || gone.includes((object as Rule).ip_policy?.id ?? ''),
      )
      const idsOf = (ending: RegExp) =>
        events.filter(({ type }) => ending.test(type)).map(({ object }) => object.id)
      const created = idsOf(/_created\.v0$/)
      t.equal(created.length, gone.length * (1 + rulesOfDeleted), 'an event of each creation')
      t.strictSame(
        idsOf(/_deleted\.v0$/).sort(),
        created.sort(),
        'exactly one event of a deletion for each policy and rule',
      )
      t.strictSame(await all(me().ipPolicyRule.list()), [], 'none is left')
      for (const id of gone) t.strictSame(await storedRules(t, fixture, id), [], 'nor in ClickHouse')
      const config = await (await fixture.nats()).findBucket(bucketNames.config)
      for (const id of gone) t.strictSame(await config?.keys(`rules.${id}.>`), [], 'nor in the bucket')
    },
  }
}

export const createWithKey = ({ ipPolicy }: Caller, key: string): Promise<Resource<'ipPolicy'>> =>
  untilWritten(() => ipPolicy.create({ description: key }, { idempotencyKey: key }))

/** Tries again if nothing was written: on an overloaded machine the database can seem to be away briefly. */
async function untilWritten<T>(write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status_code !== 503) throw error
    }
    await sleep(200)
  }
}

/** The ids of the policies with this description. */
export const described = async (client: Caller, description: string): Promise<string[]> => {
  const policies = await all(client.ipPolicy.list({ description }))
  return policies.map(({ id }) => id)
}

export const creationsWithKey: MakeRequests = async (fixture, me) => {
  const made: string[] = []
  return {
    ask: (victim, point) => createWithKey(victim, point).catch(unanswered),
    check: async (t, point, answer) => {
      const again = await createWithKey(me(), point)
      if (answer !== undefined)
        t.equal(again.id, (answer as typeof again).id, `${point}: it was answered, so the answer is repeated`)
      t.strictSame(await described(me(), point), [again.id], `${point}: made once`)
      made.push(again.id)
    },
    end: async (t) => {
      const mine = (await all(me().ipPolicy.list())).map(({ id }) => id)
      t.strictSame(mine.sort(), made.toSorted(), 'no others are there')
      const created = (await fixture.audited()).filter(({ object }) => made.includes(object.id))
      t.strictSame(created.map(({ object }) => object.id).sort(), made.toSorted(), 'an event for each')
    },
  }
}

export const replacementsOfRules: MakeRequests = async (fixture, me) => {
  const { id } = await me().ipPolicy.create({})
  const count = 40
  let now: Rule['action'] = 'allow'
  const next = (): Rule['action'] => (now === 'allow' ? 'deny' : 'allow')
  const rulesNow = () => all<Rule>(me().ipPolicyRule.list())
  await me().replaceRules(id, rulesWith(now, count))
  return {
    ask: (victim) => victim.replaceRules(id, rulesWith(next(), count)).catch(unanswered),
    check: async (t, point, answer) => {
      await me().ipPolicy.create({ description: 'written after it' })
      const rules = await rulesNow()
      t.equal(rules.length, count, `${point}: as many rules as before`)
      const actions = new Set(rules.map(({ action }) => action))
      t.equal(actions.size, 1, `${point}: all of them or none`)
      if (answer !== undefined) t.ok(actions.has(next()), `${point}: answered, so they are there`)
      if (actions.has(next())) now = next()
    },
    end: async (t) => {
      const rules = ruleTexts(await rulesNow())
      t.strictSame(await rulesByEvents(t, fixture, id), rules, 'the audit events tell of the same rules')
      t.strictSame(await storedRules(t, fixture, id), rules, 'ClickHouse holds them')
      await me().replaceRules(id, [])
    },
  }
}

/** Each makes a policy with rules and an edge, and deletes those of the one before. */
export const batchesWithKey: MakeRequests = async (fixture, me) => {
  const batchOf = (point: string, policy?: string, edge?: string): BatchRequest['requests'] => [
    ...(policy === undefined ? [] : [{ method: 'DELETE' as const, path: `/ip_policies/${policy}` }]),
    ...(edge === undefined ? [] : [{ method: 'DELETE' as const, path: `/edges/tcp/${edge}` }]),
    { method: 'POST', path: '/ip_policies', body: { description: point }, as: '#policy' },
    ...['10.0.0.0/8', '192.168.0.0/16'].map((cidr) => ({
      method: 'POST' as const,
      path: '/ip_policy_rules',
      body: { ip_policy_id: '#policy', cidr, action: 'allow' },
    })),
    {
      method: 'POST',
      path: '/edges/tcp',
      body: {
        description: point,
        hostports: [`${point.replaceAll(/[^a-z0-9]/gi, '-')}.batch.example.com:22`],
      },
    },
  ]
  const first = await me().batch({ requests: batchOf('first') })
  let [policy, edge] = [first.results.at(0)!.id!, first.results.at(-1)!.id!]
  const policies = [policy]
  let asked: BatchRequest['requests'] = []
  return {
    prepare: async (point) => {
      asked = batchOf(point, policy, edge)
    },
    ask: (victim, point) => victim.batch({ requests: asked }, { idempotencyKey: point }).catch(unanswered),
    check: async (t, point, answer) => {
      const { results } = await untilWritten(() => me().batch({ requests: asked }, { idempotencyKey: point }))
      if (answer !== undefined)
        t.strictSame(
          results,
          (answer as BatchResults).results,
          `${point}: it was answered, so the answer is repeated`,
        )
      policy = results.at(2)!.id!
      edge = results.at(-1)!.id!
      policies.push(policy)
      t.strictSame(
        [await all(me().ipPolicy.list()), await all(me().tcpEdge.list())].map((each) =>
          each.map(({ id }) => id),
        ),
        [[policy], [edge]],
        `${point}: made once, and those before are gone`,
      )
      t.equal((await all(me().rules(policy))).length, 2, `${point}: with its rules`)
    },
    end: async (t) => {
      const own = (await fixture.audited()).filter(({ object }) => policies.includes(object.id))
      const idsOf = (ending: RegExp) =>
        own.filter(({ type }) => ending.test(type)).map(({ object }) => object.id)
      t.strictSame(idsOf(/_created\.v0$/).sort(), policies.toSorted(), 'an event of each creation')
      t.strictSame(idsOf(/_deleted\.v0$/).sort(), policies.slice(0, -1).sort(), 'and of each deletion')
    },
  }
}
