/** All rules of an IP policy replaced at once: completely or not at all. */

import t from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { sleep } from '../../../src/ground/core/clock.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { Configuration } from '../../../src/judging/produce/compiled-configuration.js'
import { stagingSweep } from '../../../src/management/store/upkeep.js'
import { newStagedGeneration, rulesKey } from '../../../src/words/view/keys.js'
import { View } from '../../../src/words/view/view.js'
import type { IdleGeneration } from '../../../src/words/view/view-state.js'
import { openTestStore } from '../../harness/api.js'
import { all, newest, statusOf } from '../../harness/caller.js'
import { startNatsProxy } from '../../harness/nats-proxy.js'
import { until } from '../../harness/weir.js'
import { openFixture } from './filled-store.js'
import { type Rule, rulesByEvents, rulesWith, ruleTexts, storedRules } from './rules.js'

t.setTimeout(1_200_000)

// One store for all tests, because starts take longest. Each deletes the rules that it made.
const fixture = await openFixture(t)
const proxy = await startNatsProxy(fixture.natsUrl)
t.teardown(() => proxy.close())
const { client } = await fixture.startApi('one', { NATS_URL: proxy.url })

/** The process that stages rules learns of changes of their bucket within milliseconds; nothing else shows that it has. */
const noticedMs = 1_000

t.test('NATS loses staged rules before they count', { timeout: 300_000 }, async (t) => {
  const { id } = await client.ipPolicy.create({})
  await client.replaceRules(id, rulesWith('allow', 3))
  const before = ruleTexts(await all<Rule>(client.ipPolicyRule.list()))
  const config = (await (await fixture.nats()).findBucket(bucketNames.config))!
  const present = await config.keys(`rules.${id}.>`)
  const lose = async (): Promise<void> => {
    for (const key of await config.keys(`rules.${id}.>`)) {
      if (!present.includes(key)) await config.remove(key, (await config.get(key))!.revision)
    }
    await sleep(noticedMs)
  }
  // One chunk is staged first; the second write commits the change.
  proxy.cut({ write: 2, after: false, passes: true, meet: lose })
  t.equal(await statusOf(client.replaceRules(id, rulesWith('deny', 3))), 503)
  t.strictSame(ruleTexts(await all<Rule>(client.ipPolicyRule.list())), before, 'the rules are what they were')
  t.strictSame(await rulesByEvents(t, fixture, id), before, 'and no event says otherwise')
  t.match(await client.replaceRules(id, rulesWith('deny', 3)), { added: 3, removed: 3 })
  t.strictSame(await storedRules(t, fixture, id), ruleTexts(await all<Rule>(client.ipPolicyRule.list())))
  await client.ipPolicy.delete(id)
})

/** `--full` replaces as many as an account may have. */
const manyRules = process.argv.includes('--full') ? 100_000 : 6_000

t.test(`${manyRules} rules: decisions use all old or all new ones`, { timeout: 900_000 }, async (t) => {
  const { id } = await client.ipPolicy.create({})
  const count = manyRules
  const occurrences = createOccurrences({
    logger: createLogger('test', 'silent'),
    registry: createRegistry(),
  })
  const view = new View((await (await fixture.nats()).findBucket(bucketNames.config))!, occurrences)
  await view.open()
  t.teardown(() => view.close())
  const configuration = new Configuration(view, occurrences, [], 'pipeline')
  await configuration.open()
  t.teardown(() => configuration.close())
  const seen = new Set<string>()
  const look = (): void => {
    const { allow, deny } = configuration.current.policySet.ipPolicy(id) ?? {}
    seen.add(`${allow?.rangeCount ?? 0} allowed, ${deny?.rangeCount ?? 0} denied`)
  }
  const looking = setInterval(look, 5)
  t.teardown(() => clearInterval(looking))
  const put = (action: Rule['action']) => client.replaceRules(id, rulesWith(action, count))
  t.strictSame(await put('allow'), { added: count, updated: 0, removed: 0, kept: 0, expired: 0 })
  t.strictSame(await put('allow'), { added: 0, updated: 0, removed: 0, kept: count, expired: 0 })
  await until('it is decided by them', () => seen.size === 2)
  const answered = put('deny')
  t.ok(await newest(client.apiKey.list()), 'others are served meanwhile')
  t.strictSame(await answered, { added: count, updated: 0, removed: count, kept: 0, expired: 0 })
  await until('it is decided by the new ones', () => seen.size === 3)
  const ofAll = configuration.current.policySet.ipPolicy(id)?.deny.rangeCount
  t.strictSame(
    [...seen],
    ['0 allowed, 0 denied', `${ofAll} allowed, 0 denied`, `0 allowed, ${ofAll} denied`],
    'none of them, or all',
  )
  t.equal((await newest(client.ipPolicyRule.list())).action, 'deny')
})

t.test('staged rules of a dead process are deleted', { timeout: 120_000 }, async (t) => {
  const { parts, api } = await openTestStore(t)
  const me = await (await api()).account()
  const { id } = await me.ipPolicy.create({})
  await me.replaceRules(id, rulesWith('allow', 3))
  const { store, nats } = parts
  const config = (await nats.findBucket(bucketNames.config))!
  const { state } = store.view
  const present = state.generationOf(id)
  const abandoned = newStagedGeneration(state.versionOf(me.accountId) + 500)
  const chunk = { account_id: me.accountId, rules: [] }
  await config.put(rulesKey(id, abandoned, 0), JSON.stringify(chunk))
  await until('the view has it', () => state.generation(id, abandoned).size === 1)
  const drop = (idle: IdleGeneration) => store.dropStaging(idle)
  const patient = stagingSweep(store.view, drop)
  await patient()
  await patient()
  t.equal(state.generation(id, abandoned).size, 1, 'not while a process may still use it')
  const sweep = stagingSweep(store.view, drop, 0)
  await sweep()
  t.strictSame(await config.keys(`rules.${id}.>`), [rulesKey(id, present, 0)])
  await until('the view has the deletion', () => [...state.idleGenerations()].length === 0)
  t.ok(state.versionOf(me.accountId) >= 500, 'it can no longer be committed')
  t.match(await me.replaceRules(id, rulesWith('allow', 4)), { added: 1, kept: 3 })
})
