/** Two API processes on one store: no write is lost, unique names stay unique, and a revoked key is refused by both. */
import t from 'tap'
import { usageSubject } from '../../../src/delivery/wire/names.js'
import { eachOf } from '../../../src/ground/core/concurrency.js'
import type { ApiError } from '../../../src/words/client/client.js'
import { all, type Caller, newest, statusOf } from '../../harness/caller.js'
import { soonestRefusalMs } from '../../harness/revocation.js'
import type { StoreApi } from '../../harness/store-fixture.js'
import { until } from '../../harness/weir.js'
import { newAccount, openFixture } from './filled-store.js'
import { createWithKey, described } from './killed-requests.js'
import { cidrOf, type Rule, rulesByEvents, rulesWith, ruleTexts, storedRules } from './rules.js'

t.setTimeout(1_200_000)

/** `--full` writes as often as it takes to be sure. */
const writes = process.argv.includes('--full') ? 1_000 : 40
const races = process.argv.includes('--full') ? 10 : 2
const writesAtOnce = 10
/** Requests of each account per minute, after the restart. */
const rateLimit = 200

interface Policy {
  readonly id: string
  readonly description?: string
  readonly metadata?: string
}

// One store for all tests, because starts take longest.
const fixture = await openFixture(t)
let [one, two] = await Promise.all([fixture.startApi('one'), fixture.startApi('two')])

t.test('change one resource', async (t) => {
  const policy = await one.client.ipPolicy.create({})
  await until('both know it', async () => (await statusOf(two.client.ipPolicy.get(policy.id))) === 'ok')
  const numbers = Array.from({ length: writes / 2 }, (_, at) => String(at))
  const patches = ({ client }: StoreApi, field: 'description' | 'metadata') =>
    eachOf(numbers, writesAtOnce, (value) => client.ipPolicy.update(policy.id, { [field]: value }))
  await Promise.all([patches(one, 'description'), patches(two, 'metadata')])
  await one.client.ipPolicy.create({})

  const told = (await fixture.audited()).map(({ object }) => object as Policy)
  const states = told.filter(({ id }) => id === policy.id)
  t.equal(states.length, 1 + writes, 'each change has one event')
  const set: Record<'description' | 'metadata', string[]> = { description: [], metadata: [] }
  for (const [at, state] of states.entries()) {
    const before = states[at - 1]
    if (before === undefined) continue
    const fields = (['description', 'metadata'] as const).filter((name) => state[name] !== before[name])
    t.equal(fields.length, 1, 'each changes its own field, and keeps what the other process wrote')
    for (const name of fields) set[name].push(state[name] ?? '')
  }
  t.strictSame(set.description.sort(), numbers.toSorted(), 'none of the first process is lost')
  t.strictSame(set.metadata.sort(), numbers.toSorted(), 'nor of the second')
  const last = states.at(-1)
  for (const { client } of [one, two]) {
    await until('each shows the last state', async () => {
      const { description, metadata } = await client.ipPolicy.get(policy.id)
      return description === last?.description && metadata === last?.metadata
    })
  }
})

t.test('race for unique names', async (t) => {
  const both = [one, two, one, two]
  const policy = await one.client.ipPolicy.create({})
  await until('both know it', async () => (await statusOf(two.client.ipPolicy.get(policy.id))) === 'ok')
  const race = async (name: string, call: (client: Caller) => Promise<unknown>): Promise<void> => {
    const statuses = await Promise.all(both.map(({ client }) => statusOf(call(client))))
    t.strictSame(statuses.sort(), [400, 400, 400, 'ok'], name)
  }
  for (let turn = 0; turn < races; turn += 1) {
    const rule = { ip_policy_id: policy.id, cidr: `10.0.${turn}.0/24`, action: 'deny' } as const
    await race('a CIDR of a policy', ({ ipPolicyRule }) => ipPolicyRule.create(rule))
    const hostports = [`race.example.com:${turn + 1}`]
    await race('a hostport', ({ tcpEdge }) => tcpEdge.create({ hostports }))
  }
  for (const type of ['dashboard', 'api', 'agent', 'endpoints'] as const) {
    const body = { type, ip_policy_ids: [policy.id] }
    await race(`a restriction of the type ${type}`, ({ ipRestriction }) => ipRestriction.create(body))
  }
  const reserved = await Promise.all(
    Array.from({ length: 40 }, (_, at) => both[at % 2]!.client.reservedAddr.create({ region: 'us' })),
  )
  t.equal(new Set(reserved.map(({ addr }) => addr)).size, 40, 'each reserved address is another one')
})

t.test('a revoked key is refused by every process', async (t) => {
  const key = async () => {
    const { id, token } = await one.client.apiKey.create({})
    const isLetIn = async ({ client }: StoreApi) => {
      const status = await statusOf(all(client.withToken(token).ipPolicy.list()))
      if (status !== 'ok' && status !== 401) throw new Error(`The answer is ${status}.`)
      return status === 'ok'
    }
    return { isLetIn, isAccepted: () => isLetIn(two), revoke: () => one.client.apiKey.delete(id) }
  }

  t.test(
    'at once by the process that revoked it, and by the other before it has any later change',
    async (t) => {
      const { isLetIn, isAccepted, revoke } = await key()
      await until('both let it in', async () => (await isLetIn(one)) && (await isAccepted()))
      await revoke()
      t.notOk(await isLetIn(one))
      const later = await one.client.ipPolicy.create({})
      await until('it knows', async () => (await statusOf(two.client.ipPolicy.get(later.id))) === 'ok')
      t.notOk(await isAccepted())
    },
  )

  t.test('within two seconds of the answer', async (t) => {
    t.ok((await soonestRefusalMs(key)) <= 2_000)
  })
})

const rulesOf = async (client: Caller, policyId: string): Promise<Rule[]> => {
  const rules = await all<Rule>(client.ipPolicyRule.list())
  return rules.filter(({ ip_policy }) => ip_policy?.id === policyId)
}

/** Each takes as long as the others, in both processes, leave it no turn. */
const replacements = process.argv.includes('--full') ? 10 : 3

t.test('other requests change single rules meanwhile, in two processes', { timeout: 300_000 }, async (t) => {
  const { id } = await one.client.ipPolicy.create({})
  await one.client.replaceRules(id, rulesWith('allow', 200))
  await until('both know them', async () => (await rulesOf(two.client, id)).length === 200)
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
  const rules = await rulesOf(one.client, id)
  t.equal(new Set(rules.map(({ cidr }) => cidr)).size, rules.length, 'no CIDR twice')
  t.strictSame(await rulesByEvents(t, fixture, id), ruleTexts(rules), 'one event for every change, in order')
  t.strictSame(await storedRules(t, fixture, id), ruleTexts(rules))
  await one.client.ipPolicy.delete(id)
})

t.test('race with the same keys: each key makes one resource, and all get the same answer', async (t) => {
  const rounds = 3
  const made: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const key = `round ${round}`
    const racers = Array.from({ length: 10 }, (_, at) =>
      createWithKey((at % 2 === 0 ? one : two).client, key),
    )
    const ids = new Set((await Promise.all(racers)).map(({ id }) => id))
    t.strictSame([...ids], await described(one.client, key))
    made.push(...ids)
  }
  const created = (await fixture.audited()).filter(({ object }) => made.includes(object.id))
  t.equal(created.length, rounds, 'an event for each')

  await t.test('a restart forgets nothing', async (t) => {
    await Promise.all([one.process.kill(), two.process.kill(), fixture.killNats()])
    await fixture.startNats()
    const env = { WEIR_RATE_LIMIT: String(rateLimit) }
    ;[one, two] = await Promise.all([fixture.startApi('one', env), fixture.startApi('two', env)])
    t.match(await createWithKey(one.client, 'round 1'), { id: made[0] })
  })
})

t.test('count the requests of an account together', { timeout: 300_000 }, async (t) => {
  const token = await newAccount(fixture)
  const nats = await fixture.nats()
  let heard = 0
  const onMessage = (data: Uint8Array): void => {
    const { requests } = JSON.parse(Buffer.from(data).toString())
    for (const { count } of requests) heard += count
  }
  nats.subscribe(usageSubject, onMessage, (error) => t.fail(error.message))
  await nats.flush()
  const askUntilRefused = async ({ client }: StoreApi): Promise<number> => {
    let answered = 0
    for (; (await statusOf(all(client.withToken(token).apiKey.list()))) !== 429; answered += 1)
      if (answered > rateLimit) throw new Error('It answers more requests than the limit.')
    return answered
  }
  const first = await askUntilRefused(one)
  await until('NATS has what was counted', () => heard >= first)
  const second = await askUntilRefused(two)
  t.ok(first > rateLimit / 2, `the first answered ${first}`)
  t.ok(second < rateLimit / 2, `the second answered ${second} of its own ${rateLimit}`)
})
