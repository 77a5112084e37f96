/** Requests to an API that is killed meanwhile, each in an account of its own, and what must hold afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { ruleEventsPerMessage } from '../../../src/management/write/bulk-audits.js'
import { ApiError } from '../../../src/words/client/client.js'
import type { Resource } from '../../../src/words/client/kinds.js'
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

/** Tries again if nothing was written: on an overloaded machine the database can seem to be away briefly. */
export async function createWithKey({ ipPolicy }: Caller, key: string): Promise<Resource<'ipPolicy'>> {
  for (;;) {
    try {
      return await ipPolicy.create({ description: key }, { idempotencyKey: key })
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
