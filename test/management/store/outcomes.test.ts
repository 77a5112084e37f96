/**
 * The answers to 32 clients while the store fails at a step of their writes, and the resources that are there afterwards: a
 * request that was answered as done or as committed has its effect, one of which nothing was written has none, and no answer
 * says nothing about it.
 */
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { ApiError } from '../../../src/words/client/client.js'
import { all, type Caller, newest, statusOf } from '../../harness/caller.js'
import type { FrontMode } from '../../harness/clickhouse-front.js'
import { type NatsFault, startFaultyNats } from '../../harness/faulty-nats.js'
import { until } from '../../harness/weir.js'
import { newAccount, openFixture } from './filled-store.js'

t.setTimeout(2_700_000)

const isFull = process.argv.includes('--full')
/** How long a fault lasts, unless all are answered before: longer than a call of NATS is repeated. */
const faultMs = 7_000

/** The outcome of a request: `done`, what its error says of it, or `silent` if that says nothing. */
type Said = 'done' | 'committed' | 'not_written' | 'unknown' | 'refused' | 'silent'

interface Asked {
  readonly name: string
  readonly ask: (client: Caller) => Promise<unknown>
  /** Is its effect there? */
  readonly isThere: (client: Caller) => Promise<boolean>
  /** It is refused, or changes nothing, whatever the store does: so nothing of it can be committed. */
  readonly changesNothing?: true
  /** Asks again, once the store has healed; resolves with the number of times that it is there then. */
  readonly again?: (client: Caller) => Promise<number>
}

const fixture = await openFixture(t)
const nats = await startFaultyNats(fixture.natsUrl)
t.teardown(() => nats.close())
const healthy = await fixture.startApi('healthy')
const token = await newAccount(fixture, 'healthy')
const me = healthy.client.withToken(token)
const tested = await fixture.startApi('tested', { NATS_URL: nats.url })
const client = tested.client.withToken(token)

/** Streams that take no more, as without room on the disk. */
async function fillStreams(isFilled: boolean): Promise<void> {
  const connection = await connect({ servers: fixture.natsUrl })
  const manager = await jetstreamManager(connection)
  for (const bucket of [bucketNames.heads, bucketNames.config, bucketNames.idempotency])
    await manager.streams.update(`KV_${bucket}`, { max_bytes: isFilled ? 1 : 512 * 1024 * 1024 })
  await connection.close()
}

const front = (mode: FrontMode) => () => void fixture.front.mode(mode)
const faults: Readonly<Record<string, NatsFault | (() => void)>> = {
  'ClickHouse is full': front('full'),
  'ClickHouse fails': front('fail'),
  'ClickHouse hangs': front('hang'),
  'ClickHouse breaks off': front('short'),
  'ClickHouse does not confirm': front('unconfirmed'),
  'ClickHouse is slow': front('slow'),
  'NATS hangs': 'hang',
  'NATS is gone': 'gone',
  'NATS breaks off': 'short',
  'NATS is slow': 'slow',
  'NATS is full': () => void fillStreams(true),
}

async function heal(fault: string): Promise<void> {
  nats.heal()
  await fixture.front.mode('ok')
  if (fault === 'NATS is full') await fillStreams(false)
}

const rulesOf = (cidr: string) => [{ cidr, action: 'deny' as const }]
const isGone = async (found: Promise<unknown>) => (await statusOf(found)) === 404

/** 32 requests, and what they need. `mark`: no other round has it. */
async function requests(mark: string): Promise<Asked[]> {
  const policy = await me.ipPolicy.create({ description: `${mark} before` })
  const countOf = async (description: string) =>
    (await all(me.ipPolicy.list())).filter((each) => each.description === description).length
  const made = async (at: number): Promise<Asked[]> => {
    const name = `${mark} ${at}`
    const own = await me.ipPolicy.create({ description: `${name} old` })
    const doomed = await me.ipPolicy.create({ description: `${name} doomed` })
    await me.replaceRules(own.id, rulesOf('192.0.2.0/24'))
    const cidr = `10.${at}.0.0/16`
    const hostport = `${name.replace(/\W+/g, '-').toLowerCase()}.example.com:22`
    return [
      {
        name: 'create',
        ask: (client) => client.ipPolicy.create({ description: name }),
        isThere: async () => (await countOf(name)) === 1,
      },
      {
        name: 'create with a key',
        ask: (client) => client.ipPolicy.create({ description: `${name} key` }, { idempotencyKey: name }),
        isThere: async () => (await countOf(`${name} key`)) === 1,
        again: async (client) => {
          await client.ipPolicy.create({ description: `${name} key` }, { idempotencyKey: name })
          return countOf(`${name} key`)
        },
      },
      {
        name: 'update',
        ask: (client) => client.ipPolicy.update(own.id, { description: `${name} new` }),
        isThere: async () => (await me.ipPolicy.get(own.id)).description === `${name} new`,
      },
      {
        name: 'delete',
        ask: (client) => client.ipPolicy.delete(doomed.id),
        isThere: () => isGone(me.ipPolicy.get(doomed.id)),
      },
      {
        name: 'create with a unique name',
        ask: (client) => client.tcpEdge.create({ hostports: [hostport] }),
        isThere: async () => (await all(me.tcpEdge.list())).some((edge) => edge.hostports[0] === hostport),
      },
      {
        name: 'replace rules',
        ask: (client) => client.replaceRules(own.id, rulesOf(cidr)),
        isThere: async () => (await all(me.rules(own.id))).some((rule) => rule.cidr === cidr),
      },
      {
        name: 'change nothing',
        ask: (client) => client.ipPolicy.update(policy.id, { description: `${mark} before` }),
        isThere: async () => false,
        changesNothing: true,
      },
    ]
  }
  const asked = (await Promise.all([0, 1, 2, 3].map(made))).flat()
  return [...asked, await restored(mark), await listed(mark), taken(policy.id), unreadable(policy.id)]
}

/** Rules that are put back, with an idempotency key. */
async function restored(mark: string): Promise<Asked> {
  const { id } = await me.ipPolicy.create({ description: `${mark} rules` })
  await me.replaceRules(id, rulesOf('198.51.100.0/24'))
  const before = await newestChange()
  await me.replaceRules(id, rulesOf('203.0.113.0/24'))
  const path = `/ip_policies/${id}/rules/restore?version=${before!.version}`
  const headers = { 'Idempotency-Key': `${mark} restored` }
  return {
    name: 'restore rules with a key',
    ask: (client) => sent(client, 'POST', path, headers),
    isThere: async () => (await all(me.rules(id))).some((rule) => rule.cidr === '198.51.100.0/24'),
  }
}

/** The iterator reads all pages if it is not left, here one for each change. */
async function newestChange(): Promise<{ readonly version: number } | undefined> {
  for await (const change of me.changes({ limit: 1 } as never)) return change
  return undefined
}

/** Entries that need several changes. */
async function listed(mark: string): Promise<Asked> {
  const { id } = await me.ipList.create({ name: `l${mark.replace(/\W+/g, '_').toLowerCase()}` } as never)
  const entries = Array.from({ length: 30_000 }, () => ({
    cidr: `2001:db8:${Array.from({ length: 6 }, () => Math.floor(Math.random() * 65_536).toString(16)).join(':')}/128`,
  }))
  return {
    name: 'replace the entries of a list',
    ask: (client) => client.listEntries.replace(id, entries as never),
    isThere: async () => (await me.ipList.get(id)).entries === entries.length,
  }
}

const taken = (id: string): Asked => ({
  name: 'refused for its reference',
  ask: (client) =>
    client.ipPolicyRule.create({ ip_policy_id: `${id.slice(0, -1)}_`, cidr: '192.0.2.1/32', action: 'deny' }),
  isThere: async () => false,
  changesNothing: true,
})

const unreadable = (id: string): Asked => ({
  name: 'refused for its value',
  ask: (client) => client.ipPolicyRule.create({ ip_policy_id: id, cidr: 'nowhere', action: 'deny' }),
  isThere: async () => false,
  changesNothing: true,
})

async function sent(client: Caller, method: string, path: string, headers: Record<string, string>) {
  const answer = await client.raw.send(method, path, { headers, body: {} })
  if (answer.status >= 400) throw new ApiError(`${method} ${path}`, answer.status, answer.text)
}

async function saidOf(call: Promise<unknown>): Promise<{ said: Said; text: string }> {
  try {
    await call
    return { said: 'done', text: '' }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const said = error.status_code < 500 ? 'refused' : ((error.details['outcome'] ?? 'silent') as Said)
    return { said, text: `${error.status_code} ${error.msg}` }
  }
}

const counts: Record<string, number> = {}

/** So many steps there are always. */
const stepsMin = 14

/** False if all were answered before the step: many writes that wait share a step. */
async function round(t: Test, fault: string, step: number): Promise<boolean> {
  const mark = `${fault} at ${step}`
  const asked = await requests(mark)
  await until(
    'the API has all of it',
    async () => (await statusOf(client.ipPolicy.get((await newest(me.ipPolicy.list())).id))) === 'ok',
  )
  nats.failAt(step, faults[fault]!)
  const answers = Promise.all(asked.map(({ ask }) => saidOf(ask(client))))
  const timer = new Promise((resolve) => setTimeout(resolve, faultMs).unref())
  await Promise.race([answers, timer])
  const { isMet } = nats
  t.ok(isMet || step > stepsMin, 'the step was met')
  await heal(fault)
  const all = await answers
  const isSettled = async () => (await statusOf(client.ipPolicy.create({ description: 'settled' }))) === 'ok'
  await until('writes are taken', isSettled)
  await until('by all', async () => (await statusOf(me.ipPolicy.create({ description: 'settled' }))) === 'ok')
  for (const [index, { name, isThere, changesNothing, again }] of asked.entries()) {
    const { said, text } = all[index]!
    counts[said] = (counts[said] ?? 0) + 1
    const what = `${name}: ${said} ${text}`
    t.not(said, 'silent', what)
    const isDone = await isThere(me)
    if (changesNothing) t.notOk(said === 'committed', `${what}: nothing of it is committed`)
    else if (said === 'done' || said === 'committed') t.ok(isDone, `${what}: it is there`)
    else if (said !== 'unknown') t.notOk(isDone, `${what}: it is not there`)
    if (again !== undefined) t.equal(await again(client), 1, `${what}: asked again, it is there once`)
  }
  // After a fault of NATS, all entries are compared, also those of the rounds before.
  for await (const { id } of me.ipList.list()) await me.ipList.delete(id)
  return isMet
}

/** Each fault meets other steps; `--full` takes each that there is. */
const steps = (index: number): number[] =>
  isFull ? Array.from({ length: 24 }, (_, at) => at + 1) : [1 + ((index * 5) % stepsMin)]

for (const [index, fault] of Object.keys(faults).entries())
  t.test(fault, async (t) => {
    let isMet = true
    for (const step of steps(index))
      if (isMet)
        await t.test(`at step ${step}`, async (t) => {
          isMet = await round(t, fault, step)
        })
  })

t.test('each sort of answer was given', async (t) => {
  t.comment(JSON.stringify(counts))
  for (const said of ['done', 'committed', 'not_written']) t.ok(counts[said], said)
})
