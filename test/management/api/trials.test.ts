/** Drafts over the management API, tried on recorded traffic: checked as their writes, and leaving nothing. */
import t from 'tap'
import type { StartTrial } from '../../../src/judging/trial/trial-process.js'
import type { Trial } from '../../../src/words/shape/trial.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refused } from '../../harness/caller.js'
import { geoOf } from '../../harness/geo.js'
import { inThisProcess, openTrials } from '../../harness/trials.js'
import { until } from '../../harness/weir.js'

const ended = async (client: Caller, id: string) => {
  let trial = await client.trial(id)
  await until('the trial has ended', async () => {
    trial = await client.trial(id)
    return trial.state !== 'running'
  })
  return trial
}

const denyAll = { inbound: [{ name: 'nobody', expressions: [], actions: [{ type: 'deny' as const }] }] }

const denyGets = {
  inbound: [
    {
      name: 'no key',
      expressions: ["http.request.headers['x-key'] == null"],
      actions: [{ type: 'deny' as const }],
    },
  ],
}

t.test('drafts of two accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const policy = await mine.ipPolicy.create({ description: 'office' })
  await mine.replaceRules(policy.id, [{ cidr: '198.51.100.0/24', action: 'allow' }])
  const edge = await mine.tcpEdge.create({
    hostports: ['ssh.example:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  const restriction = await mine.ipRestriction.create({
    type: 'endpoints',
    enforced: false,
    ip_policy_ids: [policy.id],
  })
  const web = await mine.httpsEdge.create({ hostports: ['web.example:443'] })
  const route = await mine.httpsEdgeRoute.under(web.id).create({ match_type: 'path_prefix', match: '/' })
  const foreign = await theirs.tcpEdge.create({ hostports: ['other.example:22'] })
  const foreignPolicy = await theirs.ipPolicy.create({})
  const record = (record_id: string, client_ip: string, server_name = 'ssh.example') =>
    JSON.stringify({ record_id, type: 'tcp_connection', conn: { client_ip, server_name, server_port: 22 } })
  const request = JSON.stringify({
    record_id: 'h1',
    type: 'http_request',
    conn: { client_ip: '192.0.2.1', server_name: 'web.example', server_port: 443 },
    http: { request: { url: { path: '/' } } },
  })
  for (const lines of [
    [record('r1', '198.51.100.7'), record('theirs', '198.51.100.9', 'other.example')],
    [record('r2', '192.0.2.1'), 'not a record', request],
  ])
    await store.admin.publish('weir.records.test.1', lines.join('\n'))
  const before = {
    audits: (await api.audits(mine.accountId)).length,
    changes: (await all(mine.changes())).length,
  }

  await t.test('a module: what would change, with an example', async (t) => {
    const { raw } = mine
    const answer = await raw.send('POST', `/edges/tcp/${edge.id}/policies/try?since=2h`, { body: denyAll })
    t.match(answer, { status: 202, body: { state: 'running', ended_at: null } })
    t.equal(answer.headers['location'], answer.body.uri)
    t.strictSame(answer.body.draft_of, { kind: 'tcp_edge', id: edge.id, part: 'policies' })
    t.equal(Date.parse(answer.body.until) - Date.parse(answer.body.since), 2 * 60 * 60_000)
    const trial = await ended(mine, answer.body.id)
    t.match(trial, {
      state: 'done',
      error: null,
      stopped_by: null,
      progress: { records: 3 },
      events: null,
      decisions: {
        records: 3,
        changed: 1,
        clients: [{ value: '198.51.100.7', records: 1 }],
        examples: [{ record_id: 'r1', before: { decision: 'allow' }, after: { decision: 'deny' } }],
      },
    })
    t.notOk(JSON.stringify(trial).includes('theirs'))
    t.equal((await raw.send('GET', answer.body.uri.replace(/^.*(?=\/tries)/, ''))).status, 200)
  })

  await t.test('expressions about IP lists: as each record is decided once the draft is saved', async (t) => {
    const me = await api.account('lists')
    const listOf = async (name: string, category: string | null, ...cidrs: string[]) => {
      const { id } = await me.ipList.create({ name, category })
      const expires_at = new Date(Date.now() + 3_600_000).toISOString()
      await me.listEntries.replace(
        id,
        cidrs.map((cidr, index) => ({ cidr, ...(index > 0 && { expires_at }) })),
      )
    }
    await listOf('exits', 'proxy.tor', '198.51.100.0/24', '2001:db8::/32')
    await listOf('partners', null, '198.51.100.7', '203.0.113.0/25')
    const edge = await me.tcpEdge.create({ hostports: ['listed.example:22'] })
    const addresses = [
      '198.51.100.7',
      '198.51.100.8',
      '203.0.113.1',
      '203.0.113.200',
      '2001:db8::1',
      '192.0.2.1',
    ]
    const given = addresses.map((client_ip, index) => ({
      record_id: `l${index}`,
      type: 'tcp_connection' as const,
      conn: { client_ip, server_name: 'listed.example', server_port: 22 },
    }))
    await store.admin.publish('weir.records.test.1', given.map((each) => JSON.stringify(each)).join('\n'))
    const denied: Record<string, string[]> = {
      "inList(conn.client_ip, 'exits')": ['l0', 'l1', 'l4'],
      "'proxy' in conn.ip.categories": ['l0', 'l1', 'l4'],
      "'proxy.tor' in conn.ip.categories && !inList(conn.client_ip, 'partners')": ['l1', 'l4'],
      "inList(conn.client_ip, 'partners')": ['l0', 'l2'],
      "!('proxy.vpn' in conn.ip.categories)": given.map(({ record_id }) => record_id),
    }
    for (const [expression, want] of Object.entries(denied)) {
      const draft = { inbound: [{ expressions: [expression], actions: [{ type: 'deny' as const }] }] }
      const { decisions } = await ended(me, (await me.tcpEdge.policies.try(edge.id, draft)).id)
      await me.tcpEdge.policies.put(edge.id, draft)
      const live: Record<string, string[]> = { allow: [], block: [], deny: [] }
      for (const each of given) live[(await me.decide(each)).decision]!.push(each.record_id)
      await me.tcpEdge.policies.delete(edge.id)
      t.strictSame(live['deny'], want, expression)
      t.strictSame(
        decisions?.matrix.map(({ before, after, records }) => [before, after, records]).sort(),
        (['allow', 'deny'] as const).flatMap((after) =>
          live[after]!.length === 0 ? [] : [['allow', after, live[after]!.length]],
        ),
      )
      t.strictSame(decisions?.examples.map(({ record_id }) => record_id).sort(), want)
    }
  })

  await t.test('the other kinds of drafts', async (t) => {
    const at22 = { type: 'tcp_connection_closed.v0', filter: 'conn.server_port == 22' }
    const cases = [
      {
        name: 'rules',
        trial: () => mine.tryRules(policy.id, [{ cidr: '192.0.2.0/24', action: 'allow' }], { since: '24h' }),
        want: { decisions: { records: 3, changed: 2 } },
      },
      {
        name: 'the ip_restriction module of an edge',
        trial: () => mine.tcpEdge.ip_restriction.try(edge.id, { enabled: false, ip_policy_ids: [policy.id] }),
        want: { decisions: { changed: 1 } },
      },
      {
        name: 'the ip_restriction module of a route',
        trial: () =>
          mine.httpsEdgeRoute.under(web.id).ip_restriction.try(route.id, { ip_policy_ids: [policy.id] }),
        want: { decisions: { changed: 1, edges: [{ value: web.id, records: 1 }] } },
      },
      {
        name: 'the policies of an HTTPS edge',
        trial: () => mine.httpsEdge.policies.try(web.id, denyGets),
        want: {
          decisions: {
            changed: 1,
            names: [{ name: "http.request.headers['x-key']", records: 1, with_value: 0 }],
            examples: [{ record_id: 'h1', after: { explanation: { decided_by: { id: web.id } } } }],
          },
        },
      },
      {
        name: 'the policies of a route',
        trial: () => mine.httpsEdgeRoute.under(web.id).policies.try(route.id, denyGets),
        want: {
          decisions: {
            changed: 1,
            names: [{ records: 1 }],
            examples: [{ after: { explanation: { decided_by: { id: route.id, name: 'no key' } } } }],
          },
        },
      },
      {
        name: 'a restriction',
        trial: () => mine.tryRestriction(restriction.id, { enforced: true }),
        want: { decisions: { changed: 1, warnings: { before: 2, after: 0 } } },
      },
      {
        name: 'what there is already',
        trial: () => mine.tryRestriction(restriction.id, { enforced: false }),
        want: { decisions: { records: 3, changed: 0 } },
      },
      {
        name: 'a subscription',
        trial: () => mine.trySubscription({ sources: [at22] }),
        want: { decisions: null, events: { records: 3, events: 2, sources: [{ filtered: 0 }] } },
      },
    ]
    for (const { name, trial, want } of cases) t.match(await ended(mine, (await trial()).id), want, name)
  })

  await t.test('a trial leaves nothing in the configuration, the history and the audit events', async (t) => {
    t.equal((await api.audits(mine.accountId)).length, before.audits)
    t.equal((await all(mine.changes())).length, before.changes)
    t.equal((await mine.tcpEdge.get(edge.id)).policies, null)
    t.equal((await all(mine.eventSubscription.list())).length, 0)
  })

  await t.test('a draft is refused as its write is', async (t) => {
    const broken = { inbound: [{ expressions: ['conn.x == 1'], actions: [{ type: 'deny' as const }] }] }
    const brokenRequest = {
      inbound: [{ expressions: ['conn.bytes_in == 1'], actions: [{ type: 'log' as const }] }],
    }
    const foreignIds = { ip_policy_ids: [foreignPolicy.id] }
    const cases = [
      [() => mine.tcpEdge.policies.try(edge.id, broken), () => mine.tcpEdge.policies.put(edge.id, broken)],
      [
        () => mine.httpsEdge.policies.try(web.id, brokenRequest),
        () => mine.httpsEdge.policies.put(web.id, brokenRequest),
      ],
      [
        () => mine.tcpEdge.ip_restriction.try(edge.id, foreignIds),
        () => mine.tcpEdge.ip_restriction.put(edge.id, foreignIds),
      ],
      [
        () => mine.tcpEdge.policies.try(foreign.id, denyAll),
        () => mine.tcpEdge.policies.put(foreign.id, denyAll),
      ],
      [
        () => mine.tryRestriction(restriction.id, foreignIds),
        () => mine.ipRestriction.update(restriction.id, foreignIds),
      ],
      [
        () => mine.trySubscription({ destination_ids: ['ed_1'] }),
        () => mine.eventSubscription.create({ destination_ids: ['ed_1'] }),
      ],
    ] as const
    for (const [trial, write] of cases) {
      const [one, other] = await Promise.all([trial, write].map((each) => each().catch((error) => error)))
      t.ok(other.status_code >= 400)
      t.strictSame(
        [one.status_code, one.error_code, one.msg],
        [other.status_code, other.error_code, other.msg],
      )
    }
  })

  await t.test('requests that no write has', async (t) => {
    const api22 = await mine.ipRestriction.create({ type: 'agent', ip_policy_ids: [policy.id] })
    t.match(await refused(400, mine.tryRestriction(api22.id, {})), /only those of the type "endpoints"/)
    const since = (text: string) => refused(400, mine.tcpEdge.policies.try(edge.id, denyAll, { since: text }))
    for (const text of ['yesterday', '0s', '1', '2999-01-01T00:00:00Z', ''])
      t.match(await since(text), /^The query parameter "since" is .*: a length of time such as 90s/, text)
    t.match(
      await refused(400, mine.tryRules(policy.id, [], { since: 'x' })),
      /^The query parameter "try" is "x"/,
    )
    t.match(await since('8d'), /: records are kept for 7d only/)
    const both = await mine.raw.send('PUT', `/ip_policies/${policy.id}/rules?try=1h&validate_only=true`, {
      body: { rules: [] },
    })
    t.equal(both.status, 400)
  })

  await t.test('NATS has lost the bucket: the results are gone, and the next trial is made', async (t) => {
    const { id } = await mine.tryRules(policy.id, [])
    await ended(mine, id)
    await store.admin.request('$JS.API.STREAM.DELETE.KV_weir_trials', '', 30_000)
    t.match(await ended(mine, (await mine.tryRules(policy.id, [])).id), { state: 'done' })
    t.match(await refused(404, mine.trial(id)), / does not exist or has expired/)
  })

  await t.test('a trial of another account does not exist', async (t) => {
    const { id } = await mine.tryRules(policy.id, [])
    t.match(await refused(404, theirs.trial(id)), / does not exist or has expired/)
    t.match(await refused(404, theirs.cancelTrial(id)), / does not exist or has expired/)
    for (const other of ['try_nonsense.>', 'try_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ', '*'])
      t.match(await refused(404, mine.trial(other)), / does not exist or has expired/)
    t.match(await ended(mine, id), { state: 'done' })
  })
})

t.test('trials that do not end by themselves', async (t) => {
  const store = await openTestStore(t)
  const { parts, admin } = store
  const occurrences = { trialEnded: () => {} } as never
  const geo = geoOf()
  const options = { nats: parts.nats, reader: admin, view: parts.store.view, geo, occurrences }
  /** Ends only if it is ended, or fails at once. */
  const endless: StartTrial = (job, _rules, progressed) => {
    progressed({ records: 5, bytes: 500, at: null, share: 0 })
    let end = (): void => {}
    const endedByUs = new Promise<never>((_, reject) => {
      end = () => reject(new Error('Its process ended: SIGKILL.'))
      if (job.rows.length === 0) reject(new Error('Its process ended: exit code 134.'))
    })
    return { ended: endedByUs, end }
  }
  const trials = await openTrials(options, endless)
  const api = await store.api({ trials })
  /** Another API process on the same store. */
  const others = await openTrials(options, inThisProcess(options))
  const other = await store.api({ trials: others })
  const client = await api.account('mine')
  const edge = await client.tcpEdge.create({ hostports: ['endless.example:22'] })

  await t.test('one trial of an account at a time, in any API process', async (t) => {
    const { id } = await client.tcpEdge.policies.try(edge.id, denyAll)
    await until('it reports its progress', async () => (await client.trial(id)).progress.records === 5)
    t.match(
      await refused(429, client.tcpEdge.policies.try(edge.id, denyAll)),
      /wait for its end, or cancel it/,
    )
    const again = other.caller(client.token, client.accountId).tcpEdge.policies.try(edge.id, denyAll)
    t.match(await refused(429, again), /wait for its end/)
    t.match(await others.get(client.accountId, id), { state: 'running', progress: { records: 5 } })
    t.match(await others.cancel(client.accountId, id), { state: 'cancelled' })
    t.match(await ended(client, id), { state: 'cancelled', progress: { records: 5 }, decisions: null })
    await client.cancelTrial(id)
    t.match(await client.trial(id), { state: 'cancelled' }, 'a trial that has ended stays as it is')
  })

  await t.test('cancelled by its own process', async (t) => {
    const { id } = await client.tcpEdge.policies.try(edge.id, denyAll)
    await client.cancelTrial(id)
    t.match(await client.trial(id), { state: 'cancelled', error: null })
  })

  await t.test('what a draft removes is named', async (t) => {
    const removesOf = async ({ id, removes, removes_left_out }: Trial) => {
      await client.cancelTrial(id)
      return removes_left_out === 0 ? removes : [...removes.slice(0, 1), removes_left_out]
    }
    const log = { actions: [{ type: 'log' as const, config: { Metadata: {} } }] }
    const named = (name: string) => ({ name, ...log })
    const other = await client.tcpEdge.create({
      policies: { inbound: [named('a'), log, named('b'), log], outbound: [named('a')] },
    })
    const draft = { inbound: [{ name: 'b', actions: [{ type: 'deny' as const }] }, log] }
    t.strictSame(
      await removesOf(await client.tcpEdge.policies.try(other.id, draft)),
      ['inbound[0] "a"', 'inbound[3]', 'outbound[0] "a"'],
      'a policy that is changed or moved is not removed',
    )
    t.strictSame(await removesOf(await client.tcpEdge.policies.try(edge.id, draft)), [], 'there was none')

    const office = await client.ipPolicy.create({ description: 'office' })
    const home = await client.ipPolicy.create({})
    const ids = { ip_policy_ids: [office.id, home.id] }
    await client.tcpEdge.ip_restriction.put(other.id, ids)
    t.strictSame(
      await removesOf(await client.tcpEdge.ip_restriction.try(other.id, { ip_policy_ids: [home.id] })),
      [`IP policy ${office.id} "office"`],
    )
    const restriction = await client.ipRestriction.create({ type: 'endpoints', enforced: false, ...ids })
    t.strictSame(
      await removesOf(await client.tryRestriction(restriction.id, { ip_policy_ids: [office.id] })),
      [`IP policy ${home.id}`],
    )
    const rules = Array.from({ length: 103 }, (_, n) => ({ cidr: `10.0.0.${n}`, action: 'deny' as const }))
    await client.replaceRules(office.id, rules)
    t.strictSame(await removesOf(await client.tryRules(office.id, rules.slice(2))), [
      'deny 10.0.0.0/32',
      'deny 10.0.0.1/32',
    ])
    t.match(await removesOf(await client.tryRules(office.id, [])), [/^deny 10\.0\.0\.\d+\/32$/, 3])
  })

  await t.test('a process that crashes: the trial has failed, with the reason', async (t) => {
    const { id } = await client.tryRules((await client.ipPolicy.create({})).id, [])
    t.match(await ended(client, id), { state: 'failed', error: 'Its process ended: exit code 134.' })
  })

  await t.test('when the API stops, its trials do', async (t) => {
    const { id } = await client.tcpEdge.policies.try(edge.id, denyAll)
    await trials.close()
    t.match(await others.get(client.accountId, id), { state: 'failed', error: 'The API process stopped.' })
  })
})
