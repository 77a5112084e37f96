/** Records that name no account and that no edge serves: whose they are, and how a publisher learns of it. */
import t from 'tap'
import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { namesAskedMax } from '../../../src/delivery/wire/served-names.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { decide, replyAboutNames } from '../../../src/judging/evaluate/reply.js'
import { noGeo, noYield, TestConfiguration } from './configuration.js'

const record = (more: object = {}): TrafficRecord =>
  ({
    record_id: 'r',
    type: 'http_request',
    conn: { client_ip: '203.0.113.9', server_name: 'old.example.com', server_port: 443 },
    ...more,
  }) as TrafficRecord

const configured = () =>
  new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '198.51.100.0/24')
    .restriction('ipx_1', { enforced: true, ip_policy_ids: ['ipp_1'] })
    .httpsEdge('edghts_1', ['www.example.com:443'])

async function setUp(accounts: 'one' | 'several') {
  const source = Object.assign(configured(), {
    soleAccountId: () => (accounts === 'one' ? 'ac_1' : undefined),
  })
  return { source, policySet: await buildPolicySet(source, undefined, noYield) }
}

t.test('of the only account, else of none', async (t) => {
  const cases = [
    { accounts: 'one', given: {}, want: 'ac_1' },
    { accounts: 'one', given: { account_id: null }, want: 'ac_1' },
    { accounts: 'one', given: { account_id: 'ac_1' }, want: 'ac_1' },
    { accounts: 'one', given: { account_id: 'ac_unknown' }, want: undefined },
    { accounts: 'several', given: {}, want: undefined },
    { accounts: 'several', given: { account_id: 'ac_1' }, want: 'ac_1' },
  ] as const
  for (const { accounts, given, want } of cases) {
    const { policySet } = await setUp(accounts)
    const found = policySet.findEdge(record(given))
    t.match(found, { ok: true }, `${accounts} ${JSON.stringify(given)}`)
    t.strictSame(found.ok && [found.value.accountId, found.value.edgeId], [want, undefined])
  }
})

t.test('the restriction of the only account applies to questions, too', async (t) => {
  for (const [accounts, decision] of [
    ['one', 'block'],
    ['several', 'allow'],
  ] as const) {
    const { policySet } = await setUp(accounts)
    const answer = decide(policySet, noGeo, Buffer.from(JSON.stringify(record())))
    t.match(JSON.parse(Buffer.from(answer).toString()), { decision, served: false }, accounts)
  }
})

t.test('which names an edge serves', async (t) => {
  const asked = (type: string, server_name: string, server_port: number) => ({
    type,
    server_name,
    server_port,
  })
  const names = [
    asked('http_request', 'www.example.com', 80),
    asked('http_request', 'WWW.example.com.', 443),
    asked('tcp_connection', 'www.example.com', 443),
  ]
  const ask = async (accounts: 'one' | 'several', request: object) => {
    const { policySet, source } = await setUp(accounts)
    const answer = replyAboutNames(policySet, source, Buffer.from(JSON.stringify(request)))
    return answer && JSON.parse(Buffer.from(answer).toString())
  }
  const served = [false, true, false]
  const edges = ['www.example.com:443']
  t.strictSame(await ask('one', { served_names: names }), {
    served,
    account_id: 'ac_1',
    edges,
    more_edges: false,
  })
  t.strictSame(await ask('several', { served_names: names }), {
    served,
    account_id: null,
    edges: [],
    more_edges: false,
  })
  t.match(await ask('several', { served_names: names, account_id: 'ac_1' }), { account_id: 'ac_1', edges })
  t.equal(await ask('one', record()), undefined, 'a question about a connection')
  t.equal(await ask('one', record({ user: '"served_names"' })), undefined, 'one that only has the word')
  const refused = [
    { served_names: 1 },
    { served_names: [1] },
    { served_names: [asked('x', 'a', 1)] },
    { served_names: Array(namesAskedMax + 1).fill(names[0]) },
    { served_names: [], account_id: 1 },
  ]
  for (const request of refused)
    t.match(
      await ask('one', request),
      { error_code: 'ERR_INVALID_REQUEST', msg: String },
      JSON.stringify(request).slice(0, 60),
    )
})
