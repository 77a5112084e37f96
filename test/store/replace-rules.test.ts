/** All rules of an IP policy replaced at once: completely or not at all, with crashes and other writers. */
import t, { type Test } from 'tap'
import type { ApiError } from '../../src/client/client.js'
import { sleep } from '../../src/core/clock.js'
import { silentLogger } from '../../src/core/log.js'
import { createRegistry } from '../../src/core/metrics.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import { Configuration } from '../../src/produce/configuration.js'
import { openClickhouse } from '../../src/store/clickhouse.js'
import { stagingSweep } from '../../src/store/upkeep.js'
import { newStagedGeneration, rulesKey } from '../../src/view/keys.js'
import { View } from '../../src/view/view.js'
import type { IdleGeneration } from '../../src/view/view-state.js'
import { bucketNames } from '../../src/wire/names.js'
import { openTestStore } from '../harness/api.js'
import { all, type Caller, newest, statusOf } from '../harness/caller.js'
import { startNatsProxy } from '../harness/nats-proxy.js'
import type { StoreApi } from '../harness/store-fixture.js'
import { until } from '../harness/weir.js'
import { openFixture } from './filled-store.js'
import { killedAtEachWrite } from './killed-api.js'

// Processes are started again and again.
t.setTimeout(2_700_000)

// One store for all tests, because starts take longest. Each deletes the rules that it made.
const fixture = await openFixture(t)
let survivor = await fixture.startApi('survivor')

type Action = 'allow' | 'deny'

const cidrOf = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}/32`
const rulesWith = (action: Action, count: number) =>
  Array.from({ length: count }, (_, at) => ({ cidr: cidrOf(at), action }))

interface Rule {
  readonly id: string
  readonly cidr: string
  readonly action: Action
}

const rulesOf = (client: Caller): Promise<Rule[]> => all<Rule>(client.ipPolicyRule.list())

const textOf = ({ id, cidr, action }: Rule): string => `${id} ${cidr} ${action}`
const sorted = (rules: readonly Rule[]): string[] => rules.map(textOf).sort()

/** The rules in ClickHouse. */
async function storedRules(t: Test): Promise<string[]> {
  const clickhouse = await openClickhouse({ url: fixture.front.url, directory: '' })
  t.teardown(() => clickhouse.close())
  return sorted(await clickhouse.rows<Rule>('SELECT id, cidr, action FROM ip_policy_rules'))
}

/** The rules that follow from the audit events in their order; fails on an impossible event. */
async function rulesByEvents(t: Test): Promise<string[]> {
  const events = await fixture.audited()
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no event twice')
  const rules = new Map<string, string>()
  const impossible: string[] = []
  for (const { type, object } of events as unknown as { type: string; object: Rule }[]) {
    const [, verb] = /^ip_policy_rule_(\w+)\.v0$/.exec(type) ?? []
    if (verb === undefined) continue
    if (rules.has(object.id) !== (verb !== 'created')) impossible.push(`${type} ${object.id}`)
    if (verb === 'deleted') rules.delete(object.id)
    else rules.set(object.id, textOf(object))
  }
  t.strictSame(impossible, [], 'each event fits the events before it')
  return [...rules.values()].sort()
}

t.test('NATS loses staged rules before they count', { timeout: 300_000 }, async (t) => {
  const proxy = await startNatsProxy(fixture.natsUrl)
  t.teardown(() => proxy.close())
  const { client, process } = await fixture.startApi('one', { NATS_URL: proxy.url })
  t.teardown(() => process.kill())
  const { id } = await client.ipPolicy.create({})
  await client.replaceRules(id, rulesWith('allow', 3))
  const before = sorted(await rulesOf(client))
  const config = (await (await fixture.nats()).findBucket(bucketNames.config))!
  const present = await config.keys(`rules.${id}.>`)
  const lose = async (): Promise<void> => {
    for (const key of await config.keys(`rules.${id}.>`)) {
      if (!present.includes(key)) await config.remove(key, (await config.get(key))!.revision)
    }
    // By then the process has noticed.
    await sleep(1_000)
  }
  // One chunk is staged first; the second write commits the change.
  proxy.cut({ write: 2, after: false, passes: true, meet: lose })
  t.equal(await statusOf(client.replaceRules(id, rulesWith('deny', 3))), 503)
  t.strictSame(sorted(await rulesOf(client)), before, 'the rules are what they were')
  t.strictSame(await rulesByEvents(t), before, 'and no event says otherwise')
  t.match(await client.replaceRules(id, rulesWith('deny', 3)), { added: 3, removed: 3 })
  t.strictSame(await storedRules(t), sorted(await rulesOf(client)))
  await client.ipPolicy.delete(id)
})

/** Each takes as long as the others, in both processes, leave it no turn. */
const replacements = process.argv.includes('--full') ? 10 : 3

t.test('other requests change single rules meanwhile, in two processes', { timeout: 300_000 }, async (t) => {
  const [one, two] = [survivor, await fixture.startApi('two')]
  t.teardown(() => two.process.kill())
  const { id } = await one.client.ipPolicy.create({})
  await one.client.replaceRules(id, rulesWith('allow', 200))
  await until('both know them', async () => (await rulesOf(two.client)).length === 200)
  let isOver = false
  const meddle = async ({ client: { ipPolicyRule } }: StoreApi, from: number): Promise<number> => {
    let made = 0
    for (let at = from; !isOver; at += 2) {
      const cidr = cidrOf(at % 4 < 2 ? at % 150 : 1_000 + at)
      const rule = await ipPolicyRule
        .create({ ip_policy_id: id, cidr, action: 'deny' })
        .catch((error: ApiError) => error)
      const isMade = !(rule instanceof Error)
      t.ok(isMade || rule.status_code === 400, 'made, or there is such a CIDR')
      const some = await newest(ipPolicyRule.list({ limit: 1 }))
      if (isMade) {
        made += 1
        const changed = await statusOf(ipPolicyRule.update(rule.id, { description: `${at}` }))
        t.ok(changed === 'ok' || changed === 404, 'changed, or replaced before')
      } else await statusOf(ipPolicyRule.delete(some.id))
    }
    return made
  }
  const meddlers = [meddle(one, 0), meddle(two, 1)]
  for (let turn = 0; turn < replacements; turn += 1) {
    const { client } = turn % 2 === 0 ? one : two
    const rules = rulesWith(turn % 2 === 0 ? 'deny' : 'allow', 150 + turn)
    t.match(await client.replaceRules(id, rules), { added: Number, removed: Number })
  }
  isOver = true
  t.ok(
    (await Promise.all(meddlers)).some((made) => made > 0),
    'others did change rules',
  )
  await one.client.ipPolicy.create({})
  const rules = await rulesOf(one.client)
  t.equal(new Set(rules.map(({ cidr }) => cidr)).size, rules.length, 'no CIDR twice')
  t.strictSame(await rulesByEvents(t), sorted(rules), 'one event for every change, in order')
  t.strictSame(await storedRules(t), sorted(rules))
  await one.client.ipPolicy.delete(id)
})

t.test('killed at each write', { timeout: 1_200_000 }, async (t) => {
  const { id } = await survivor.client.ipPolicy.create({})
  const count = 40
  let now: Action = 'allow'
  await survivor.client.replaceRules(id, rulesWith(now, count))
  let points = 0
  for await (const { client, point } of killedAtEachWrite(t, fixture, 2)) {
    const next: Action = now === 'allow' ? 'deny' : 'allow'
    const answer = await client.replaceRules(id, rulesWith(next, count)).catch(() => undefined)
    await survivor.client.ipPolicy.create({ description: 'written after it' })
    const rules = await rulesOf(survivor.client)
    t.equal(rules.length, count, `${point}: as many as before`)
    const actions = new Set(rules.map(({ action }) => action))
    t.equal(actions.size, 1, `${point}: all of them or none`)
    if (answer !== undefined) t.ok(actions.has(next), `${point}: answered, so they are there`)
    if (actions.has(next)) now = next
    points += 1
  }
  t.ok(points >= 4, `met ${points} points`)
  const rules = sorted(await rulesOf(survivor.client))
  t.strictSame(await rulesByEvents(t), rules, 'the audit events tell of the same rules')
  t.strictSame(await storedRules(t), rules, 'ClickHouse holds them')
  await survivor.process.kill()
  await fixture.killNats()
  fixture.wipeNats()
  await fixture.startNats()
  survivor = await fixture.startApi('survivor')
  t.strictSame(sorted(await rulesOf(survivor.client)), rules, 'and restores them after NATS was lost')
  await survivor.client.replaceRules(id, [])
  const config = await (await fixture.nats()).findBucket(bucketNames.config)
  t.strictSame(await config?.keys('rules.>'), [], 'nothing is left behind')
})

/** `--full` replaces as many as an account may have. */
const manyRules = process.argv.includes('--full') ? 100_000 : 6_000

t.test(`${manyRules} rules: decisions use all old or all new ones`, { timeout: 900_000 }, async (t) => {
  const { client } = survivor
  const { id } = await client.ipPolicy.create({})
  const count = manyRules
  const occurrences = createOccurrences({ logger: silentLogger(), registry: createRegistry() })
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
  const put = (action: Action) => client.replaceRules(id, rulesWith(action, count))
  t.strictSame(await put('allow'), { added: count, updated: 0, removed: 0, kept: 0 })
  t.strictSame(await put('allow'), { added: 0, updated: 0, removed: 0, kept: count })
  await until('it is decided by them', () => seen.size === 2, 60_000)
  const answered = put('deny')
  t.ok(await newest(client.apiKey.list()), 'others are served meanwhile')
  t.strictSame(await answered, { added: count, updated: 0, removed: count, kept: 0 })
  await until('it is decided by the new ones', () => seen.size === 3, 60_000)
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
