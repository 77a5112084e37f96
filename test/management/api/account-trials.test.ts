/** A draft of many resources over the management API: tried on recorded traffic, and its policy tests run; nothing is stored. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all } from '../../harness/caller.js'
import { until } from '../../harness/weir.js'

t.test('a draft of an account', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const mine = await api.account('mine')
  const office = await mine.ipPolicy.create({ description: 'office' })
  await mine.replaceRules(office.id, [{ cidr: '198.51.100.0/24', action: 'allow' }])
  const hostports = ['drafted.example:22']
  const edge = await mine.tcpEdge.create({ hostports, ip_restriction: { ip_policy_ids: [office.id] } })
  const conn = (client_ip: string) => ({ client_ip, server_name: 'drafted.example', server_port: 22 })
  const given = (client_ip: string) => ({ type: 'tcp_connection' as const, conn: conn(client_ip) })
  const insiders = await mine.policyTest.create({
    description: 'the office comes in',
    given: given('198.51.100.7'),
    expect: { decision: 'allow' },
  })
  const record = (client_ip: string) => JSON.stringify({ record_id: client_ip, ...given(client_ip) })
  const records = ['198.51.100.7', '198.51.100.8', '203.0.113.1'].map(record)
  await store.admin.publish('weir.records.test.1', records.join('\n'))
  const changes = (await all(mine.changes())).length
  const draft = {
    ip_policies: [{ id: office.id, rules: [{ cidr: '203.0.113.0/24', action: 'allow' }] }],
    policy_tests: [{ description: 'out', given: given('198.51.100.8'), expect: { decision: 'block' } }],
  }

  await t.test('tried: what changes for whom, and which tests of the account fail', async (t) => {
    const answer = await mine.raw.send('POST', '/tries?since=2h', { body: draft })
    t.match(answer, { status: 202, body: { draft_of: { kind: 'account', id: null, part: null } } })
    t.match(answer.body.tests, { passed: 0, failed: 1, tests: [{ policy_test_id: insiders.id }] })
    let trial = await mine.trial(answer.body.id)
    await until('the trial has ended', async () => {
      trial = await mine.trial(answer.body.id)
      return trial.state !== 'running'
    })
    t.match(trial, { state: 'done', stopped_by: null, decisions: { records: 3, changed: 3 } })
    t.match(trial.decisions?.access, {
      lost: {
        clients: 2,
        unexpected: 1,
        listed: [
          { client_ip: '198.51.100.7', edge_id: edge.id, expected: false },
          { client_ip: '198.51.100.8', expected: true },
        ],
      },
      gained: { clients: 1, listed: [{ client_ip: '203.0.113.1' }] },
    })
    t.ok(Date.parse(trial.kept_from ?? '') <= Date.parse(trial.until), 'the oldest record is named')
  })

  await t.test('policy tests against it: these, and those of the account', async (t) => {
    t.match(await mine.runPolicyTests(), { passed: 1, failed: 0 })
    t.match(await mine.runPolicyTests(undefined, draft), { passed: 0, failed: 1 })
    const runs = await mine.runPolicyTests(draft.policy_tests as never, draft)
    t.match(runs, { passed: 1, failed: 0, tests: [{ policy_test_id: null, description: 'out' }] })
  })

  await t.test('a wrong one is refused with its places', async (t) => {
    const wrong = { tcp_edges: [{ id: edge.id, hostports, ip_restriction: { ip_policy_ids: ['ipp_x'] } }] }
    const says = /^"tcp_edges\[0\]\.ip_restriction\.ip_policy_ids\[0\]" is "ipp_x"/
    for (const [path, body] of [
      ['/tries', wrong],
      ['/policy_tests/run', { draft: wrong }],
    ] as const)
      t.match(await mine.raw.send('POST', path, { body }), { status: 400, body: { msg: says } }, path)
  })

  await t.test('a key that may read is enough, and nothing is stored', async (t) => {
    const { token } = await mine.apiKey.create({ rights: ['read'] })
    const { raw } = mine.withToken(token)
    t.equal((await raw.send('POST', '/tries', { body: draft })).status, 202)
    t.equal((await all(mine.changes())).length, changes + 1, 'but for the key')
  })
})
