/** Traffic policies of HTTPS edges and their routes. */
import t from 'tap'
import { PolicyContext } from '../../../src/delivery/record/policy-context.js'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { evaluate, type Phase } from '../../../src/judging/evaluate/evaluate.js'
import { Judgement } from '../../../src/judging/evaluate/judgement.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { decide } from '../../../src/judging/evaluate/reply.js'
import { deny, log, noGeo, noYield, TestConfiguration } from './configuration.js'

const denying = (name: string, ...expressions: string[]): PolicyRow => ({
  name,
  expressions,
  actions: [deny],
})
const logging = (name: string, ...expressions: string[]): PolicyRow => ({
  name,
  expressions,
  actions: [log({ says: name })],
})
const module = (inbound: PolicyRow[], outbound: PolicyRow[] = [], enabled = true) => ({
  enabled,
  inbound,
  outbound,
})

const configuration = (edge = module([logging('both')], [logging('edge, after')])) =>
  new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '198.51.100.0/24')
    .httpsEdge('edghts_1', ['www.example:443'], 'ac_1', edge)
    .route('edghtsrt_api', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/api',
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
      policies: module(
        [
          logging('both'),
          denying('no key', "http.request.headers['x-key'] != 'secret'", "http.request.method != 'OPTIONS'"),
        ],
        [logging('slow', 'http.response.status_code >= 500')],
      ),
    })
    .route('edghtsrt_free', { edge_id: 'edghts_1', match_type: 'exact_path', match: '/free' })
    .httpsEdge('edghts_2')
    .route('edghtsrt_2', {
      edge_id: 'edghts_2',
      match_type: 'path_prefix',
      match: '/',
      policies: module([denying('all')], [], false),
    })

const request = (path: string, headers = {}, more: Partial<RequestRecord> = {}): RequestRecord => ({
  record_id: 'r',
  type: 'http_request',
  conn: { client_ip: '198.51.100.7', server_name: 'www.example', server_port: 443 },
  http: { request: { method: 'GET', url: { path }, headers }, response: { status_code: 502 } },
  ...more,
})

function judge(policySet: PolicySet, record: RequestRecord, phase: Phase = 'closed'): Judgement {
  const found = policySet.findEdge(record)
  if (!found.ok) throw new Error(found.problem.msg)
  const context = new PolicyContext(record, found.value.edgeId, noGeo)
  const verdict = evaluate(policySet, found.value, context, new StepBudget(), phase)
  return new Judgement(record, found.value, context, verdict, policySet)
}

t.test('the policies of the edge, then those of the route', async (t) => {
  const policySet = await buildPolicySet(configuration(), undefined, noYield)
  const cases = [
    { name: 'no route', record: request('/'), want: ['allow', 'none', null, ['both', 'edge, after']] },
    {
      name: 'a route without the module',
      record: request('/free'),
      want: ['allow', 'none', null, ['both', 'edge, after']],
    },
    {
      name: 'the route denies',
      record: request('/api/1', { 'X-Key': ['wrong', 'secret'] }),
      want: ['deny', 'traffic_policy', 'edghtsrt_api', ['both', 'both']],
    },
    {
      name: 'let in by a header',
      record: request('/api/1', { 'X-KEY': ['secret'] }),
      want: ['allow', 'none', null, ['both', 'both', 'edge, after', 'slow']],
    },
    {
      name: 'before it is complete',
      record: request('/api/1', { 'x-key': ['secret'] }),
      phase: 'opening',
      want: ['allow', 'none', null, ['both', 'both']],
    },
    {
      name: 'blocked: no policy runs',
      record: request(
        '/api/1',
        {},
        { conn: { client_ip: '10.0.0.1', server_name: 'www.example', server_port: 443 } },
      ),
      want: ['block', 'ip_restriction', 'edghtsrt_api', []],
    },
    {
      name: 'switched off',
      record: request('/', {}, { edge_id: 'edghts_2' }),
      want: ['allow', 'none', null, []],
    },
  ] as const
  for (const { name, record, phase, want } of cases.map((each) => ({ phase: undefined, ...each }))) {
    const { decision, decidedBy, verdict } = judge(policySet, record, phase)
    const logs = verdict.logs.map(({ policyName }) => policyName)
    t.same([decision, decidedBy.type, decidedBy.id, logs], want, name)
    const keys = verdict.logs.map(({ policyKey, actionIndex }) => `${policyKey} ${actionIndex}`)
    t.equal(new Set(keys).size, keys.length, `${name}: each log action has an event id of its own`)
  }
})

t.test('if the edge denies, the route is not asked', async (t) => {
  const edge = module([denying('scanner', "http.request.url.path.startsWith('/api/.')")])
  const policySet = await buildPolicySet(configuration(edge), undefined, noYield)
  const ask = (path: string) =>
    JSON.parse(
      Buffer.from(
        decide(policySet, noGeo, Buffer.from(JSON.stringify({ ...request(path), explain: true }))),
      ).toString(),
    )
  const denied = ask('/api/.env')
  t.match(denied, { decision: 'deny', policy: 'scanner' })
  const { policies, policies_not_reached, decided_by } = denied.explanation
  t.match(decided_by, { type: 'traffic_policy', id: 'edghts_1', name: 'scanner' })
  t.match(policies, [{ source: 'policies of edghts_1', policy: 'scanner', applied: true }])
  t.same(
    policies_not_reached.map(({ source, policy }: { source: string; policy: string }) => [source, policy]),
    [
      ['policies of edghtsrt_api', 'both'],
      ['policies of edghtsrt_api', 'no key'],
      ['policies of edghtsrt_api', 'slow'],
    ],
  )
  const { explanation } = ask('/api/1')
  t.match(explanation.policies, [
    { source: 'policies of edghts_1', applied: false },
    { source: 'policies of edghtsrt_api', policy: 'both', applied: true },
    { policy: 'no key', expressions: [{ value: true }, { value: true }] },
  ])
  t.match(explanation.policies_not_reached, [{ policy: 'slow', reason: /"no key" denied before/ }])
})

t.test(
  'a changed edge changes what applies to requests of its routes, and compiles nothing else',
  async (t) => {
    const source = configuration()
    const before = await buildPolicySet(source, undefined, noYield)
    t.equal(judge(before, request('/free')).decision, 'allow')
    source.httpsEdge('edghts_1', ['www.example:443'], 'ac_1', module([denying('closed')]))
    const after = await buildPolicySet(source, before, noYield)
    t.match(judge(after, request('/free')), { decision: 'deny', decidedBy: { id: 'edghts_1' } })
    const again = await buildPolicySet(source, after, noYield)
    t.equal(
      judge(again, request('/free')).endpoint.policies,
      judge(after, request('/free')).endpoint.policies,
    )
    const routePolicies = ({ endpoint }: Judgement) => endpoint.route?.policies
    t.equal(routePolicies(judge(after, request('/api'))), routePolicies(judge(before, request('/api'))))
  },
)

t.test('rows that an earlier version stored have no policies', async (t) => {
  const source = configuration()
  for (const kind of ['https_edge', 'https_edge_route'] as const)
    for (const row of source.rowsOf(kind)) delete (row as { policies?: unknown }).policies
  const policySet = await buildPolicySet(source, undefined, noYield)
  t.match(judge(policySet, request('/api/1')), { decision: 'allow', verdict: { logs: [] } })
})
