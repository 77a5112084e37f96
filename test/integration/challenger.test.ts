/**
 * A challenger beside live traffic: its difference is what a trial of the same draft over the same records says, and each
 * record of it is an event at a destination.
 */
import t from 'tap'
import { ApiError } from '../../src/words/client/api-error.js'
import type { ChallengerDifference } from '../../src/words/shape/challenger-difference.js'
import type { TrialDecisions } from '../../src/words/shape/trial.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { type Emulator, until } from '../harness/weir.js'
import { stream, target } from './deployment.js'
import { openAccount } from './service.js'

const hosts = ['one.challenged.example', 'two.challenged.example']
const clients = ['10.1.2.3', '192.0.2.1', '192.0.2.1', '198.51.100.9', '2001:db8::1']

t.test('a challenger of a service', async (t) => {
  const { weir, emulator } = await openAccount(t)
  const { api } = weir
  const nats = await weir.nats()
  const policy = await api.ipPolicy.create({})
  const everyone = await api.ipPolicyRule.create({
    ip_policy_id: policy.id,
    cidr: '0.0.0.0/0',
    action: 'allow',
  })
  const edges = await Promise.all(
    hosts.map((host) =>
      api.tcpEdge.create({ hostports: [`${host}:22`], ip_restriction: { ip_policy_ids: [policy.id] } }),
    ),
  )
  /** A busy machine may count nothing in the time that a search has. */
  const differenceOf = async (id: string, query: { readonly since?: string } = {}) => {
    let difference: ChallengerDifference | undefined
    await until('a search ends in time', async () => {
      difference = await api.challengers.difference(id, query).catch((error: unknown) => {
        if (error instanceof ApiError && error.error_code === 'ERR_TIME_LIMIT') return undefined
        throw error
      })
      return difference !== undefined
    })
    return difference!
  }
  let published = 0
  const publish = async (messages: number): Promise<void> => {
    for (let message = 0; message < messages; message += 1) {
      const lines = Array.from({ length: 50 }, () => {
        published += 1
        return JSON.stringify({
          record_id: `challenged-${published}`,
          type: 'tcp_connection',
          conn: {
            client_ip: clients[published % clients.length],
            server_name: hosts[published % 7 === 0 ? 1 : 0],
            server_port: 22,
          },
        })
      })
      await nats.publish('weir.records.test.1', lines.join('\n'))
    }
  }
  await t.test('its difference equals a trial over the same records, also after a restart', async (t) => {
    const differences = await stream(emulator, 'differences')
    const { id: destinationId } = await api.eventDestination.create(target(differences, emulator))
    await api.eventSubscription.create({
      sources: [{ type: 'decision_differs.v0' }],
      destination_ids: [destinationId],
    })
    const made = await api.challenger.create({
      draft: {
        ip_policies: [
          { id: policy.id, remove: [everyone.id], add: [{ cidr: '192.0.2.0/24', action: 'allow' }] },
        ],
      },
    })
    // The pipeline has compiled it when it compares a record.
    await until('records are compared', async () => {
      await publish(1)
      return (await differenceOf(made.id)).records > 0
    })
    await until(
      'all so far are in the log',
      async () => (await decisionsOf(api, `challenged-${published}`)).length > 0,
    )
    const since = new Date().toISOString()
    const earlier = published
    await publish(20)
    const wanted = 20 * 50
    const stretch = () => differenceOf(made.id, { since })
    await until('all are compared', async () => (await stretch()).records === wanted)
    // Those that only `everyone` allows.
    const differing = Array.from({ length: wanted }, (_, n) => earlier + 1 + n)
      .filter((n) => ['10.1.2.3', '198.51.100.9'].includes(clients[n % clients.length]!))
      .map((n) => `challenged-${n}`)
    const arrived = () => differencesAt(emulator, earlier)
    await until('each difference arrives', async () => (await arrived()).length >= differing.length)
    const events = await arrived()
    t.strictSame(events.map(({ record_id }) => record_id).toSorted(), differing.toSorted(), 'exactly once')
    t.match(events[0], {
      decision: 'allow',
      challenger: { id: made.id, decision: 'block', decided_by: { type: 'ip_restriction' } },
    })
    for (const { pid, role } of processesBelow(weir.process.pid)) if (role === 'pipeline') endNow(pid)
    await publish(20)
    await until('so are those after a restart', async () => (await stretch()).records === 2 * wanted)

    let difference = await stretch()
    await until('a busy machine has read all of it in time', async () => {
      difference = await stretch()
      return difference.missing.length === 0
    })
    const begun = await api.tryRules(policy.id, [{ cidr: '192.0.2.0/24', action: 'allow' }], { since })
    await until('the trial is done', async () => (await api.trial(begun.id)).state === 'done')
    const { decisions } = await api.trial(begun.id)
    t.strictSame(comparable(difference), comparable(decisions!))
    t.ok(difference.changed > 0 && difference.changed < difference.records)
    t.equal(difference.examples.length, 4, 'two clients on two edges')
    t.match(difference.examples[0], {
      decision: 'allow',
      decided_by: { type: 'none' },
      challenger: { id: made.id, decision: 'block', decided_by: { type: 'ip_restriction' } },
    })
    const progress = await api.challengers.progress(made.id)
    t.match(progress, { challenger_id: made.id, state: 'running', behind_seconds: Number })
    t.ok(progress.records > difference.records && progress.changed > difference.changed)
    t.ok(progress.seconds_left > 86_000 && progress.seconds_left <= 86_400)
    await api.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '10.1.2.3', action: 'deny' })
    const examples = await api.challengers.examples(made.id, { since })
    t.equal(examples.length, 4)
    for (const { decision, before, after, missing } of examples) {
      t.equal(missing, null)
      t.match(before, { decision: 'allow', explanation: { decided_by: { type: 'none' } } })
      t.match(before?.explanation.ip_policies, [{ rules: [{ rule_id: everyone.id, won: true }] }])
      t.match(after, { decision: 'block', explanation: { decided_by: { id: decision.edge_id } } })
      t.match(after?.explanation.ip_policies, [{ rules: [{ cidr: '192.0.2.0/24', matches: false }] }])
    }
    t.match(difference.deciders, [
      { before: 'allow', after: 'block' },
      { before: 'allow', after: 'block' },
    ])
    const filtered = []
    const filter = `challenger.decision != decision && challenger.id == '${made.id}'`
    for await (const decision of api.decisions({ filter, since })) filtered.push(decision)
    t.equal(filtered.length, difference.changed, 'filters of decisions know it')
    await api.challengers.discard(made.id)
  })

  await t.test('what is stored after its end is not compared', async (t) => {
    const [edge] = edges
    const drafted = {
      id: edge!.id,
      policies: { inbound: [{ name: 'nobody', expressions: [], actions: [{ type: 'deny' as const }] }] },
    }
    const { id, ends_at } = await api.challenger.create({
      draft: { edges: [drafted] },
      ends_at: new Date(Date.now() + 6_000).toISOString(),
    })
    await until('it is compared', async () => {
      await publish(1)
      return (await differenceOf(id)).changed > 0
    })
    await until('it has ended', async () => (await api.challenger.get(id)).state === 'ended')
    const last = `challenged-${published + 50}`
    await publish(1)
    await until('a later record is in the log', () =>
      api.record(last).then(
        () => true,
        () => false,
      ),
    )
    const [logged] = await decisionsOf(api, last)
    t.match(logged, { challenger: null })
    const { last_at, deciders } = await differenceOf(id)
    t.ok(Date.parse(last_at!) < Date.parse(ends_at))
    t.match(deciders, [
      {
        before: 'allow',
        after: 'deny',
        after_decided_by: { type: 'traffic_policy', policy: 'nobody', id: edge!.id },
      },
    ])
  })
})

async function decisionsOf(api: Awaited<ReturnType<typeof openAccount>>['weir']['api'], recordId: string) {
  const found = []
  for await (const decision of api.decisions({ recordId })) found.push(decision)
  return found
}

interface Difference {
  readonly record_id: string
}

/** The events about records after this one. */
async function differencesAt(emulator: Emulator, earlier: number): Promise<Difference[]> {
  const found: Difference[] = []
  for await (const { data } of emulator.client.received({ service: 'kinesis', name: 'differences' })) {
    const { object } = JSON.parse(data) as { object: Difference }
    if (Number(object.record_id.split('-')[1]) > earlier) found.push(object)
  }
  return found
}

/** The members that both have, in one order: of equal counts, either may come first. */
function comparable(of: ChallengerDifference | TrialDecisions) {
  const sorted = <T>(list: readonly T[]) => list.map((each) => JSON.stringify(each)).toSorted()
  const { records, changed, over_time, matrix, clients, countries, edges, country_changes, edge_changes } = of
  return {
    records,
    changed,
    over_time,
    ...Object.fromEntries(
      Object.entries({ matrix, clients, countries, edges, country_changes, edge_changes }).map(
        ([name, list]) => [name, sorted<unknown>(list)],
      ),
    ),
  }
}
