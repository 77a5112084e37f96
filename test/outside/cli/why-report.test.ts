/** `weir why`: what a person reads about a decision, and what the options ask. */
import t from 'tap'
import {
  decisionText,
  recordWhyText,
  requestOf,
  type WhyOptions,
} from '../../../src/outside/cli/why-report.js'
import type { Decision } from '../../../src/words/shape/decisions/decision.js'
import { loggedDecisionExample } from '../../../src/words/shape/decisions/logged-decision.js'
import type { AskedDecision, PublishedRecord } from '../../../src/words/shape/traced-record.js'

const rule = {
  ip_policy_id: 'ipp_1',
  rule_id: 'ipr_1',
  cidr: '203.0.113.66/32',
  list_id: null,
  comment: null,
  action: 'deny',
  description: 'scanner',
  expires_at: '2027-01-01T00:00:00Z',
  enforced: true,
  matches: true,
  won: true,
  reason: 'It contains the address.',
} as const

const blocked: Decision = {
  decision: 'block',
  ip_policy: { decision: 'block', policy_ids: ['ipp_1'] },
  policy: null,
  served: true,
  revision: 42,
  warnings: ['The restriction "x" would have blocked it.'],
  explanation: {
    hostport: '*.example.com:*',
    ip_policies: [
      {
        source: 'ip_restriction of edgtcp_1',
        enforced: true,
        decision: 'block',
        reason: 'The deny rule ipr_1 contains the address.',
        rules: [
          rule,
          {
            ...rule,
            rule_id: 'ipr_2',
            cidr: '203.0.113.0/24',
            action: 'allow',
            description: null,
            expires_at: null,
            won: false,
            reason: 'A deny rule wins.',
          },
        ],
        rules_left_out: 98,
      },
    ],
    policies: [
      {
        source: 'policies of edgtcp_1',
        policy: 'office',
        direction: 'inbound',
        enforced: true,
        applied: false,
        reason: 'It does not apply.',
        expressions: [
          {
            expression: 'conn.server_port == 80 && conn.asn == 1',
            value: false,
            decisive: 'conn.server_port == 80',
            names: [{ name: 'conn.server_port', value: 22 }],
            names_left_out: 0,
          },
          {
            expression: 'conn.geo.country_code == "DE"',
            value: null,
            failure: 'There is no country.',
            decisive: null,
            names: [],
            names_left_out: 0,
          },
        ],
        actions: ['deny'],
      },
    ],
    policies_not_reached: [
      {
        source: 'policies of edgtcp_1',
        policy: 'outbound[0]',
        direction: 'outbound',
        enforced: true,
        reason: 'It was blocked.',
      },
    ],
    decided_by: {
      type: 'ip_restriction',
      id: 'edgtcp_1',
      name: null,
      ip_policy_id: 'ipp_1',
      rule_id: 'ipr_1',
      cidr: '203.0.113.66/32',
      added: {
        at: '2026-11-02T09:30:00.456Z',
        by: 'ak_2',
        by_description: null,
        version: 12,
        earlier: false,
      },
      last_change: { at: '2026-11-20T10:00:00.123Z', by: 'ak_1', by_description: 'deployments', version: 17 },
    },
    shadow: null,
  },
}

const text = `block, with revision 42 of the configuration
served as *.example.com:*
decided by ip_restriction of edgtcp_1, deny 203.0.113.66/32, ipr_1, ipp_1
  added 2026-11-02T09:30:00.456Z by ak_2, version 12
  last changed 2026-11-20T10:00:00.123Z by ak_1 "deployments", version 17
ip_restriction of edgtcp_1: block. The deny rule ipr_1 contains the address.
  won   deny   203.0.113.66/32  ipr_1 "scanner", until 2027-01-01T00:00:00Z: It contains the address.
  lost  allow  203.0.113.0/24  ipr_2: A deny rule wins.
  and 98 more rules that do not match
inbound policy office: did not apply. It does not apply.
  conn.server_port == 80 && conn.asn == 1 = false
    decided by conn.server_port == 80
    conn.server_port = 22
  conn.geo.country_code == "DE" = There is no country.
outbound policy outbound[0]: not evaluated. It was blocked.
Warning: The restriction "x" would have blocked it.`

t.test('a decision, with every rule and policy', async (t) => t.equal(decisionText(blocked), text))

t.test('a decision that would be another one if everything were enforced', async (t) => {
  const shadow = {
    decision: 'deny',
    decided_by: { ...blocked.explanation!.decided_by, type: 'traffic_policy', name: 'office' },
    reason: 'If everything were enforced, it would be denied by the traffic policy "office" of edgtcp_1.',
  } as const
  const lines = decisionText({ ...blocked, explanation: { ...blocked.explanation!, shadow } }).split('\n')
  t.equal(lines[5], shadow.reason, 'after the part that decided')
})

t.test('a policy that was added before all versions that were looked at', async (t) => {
  const explanation = blocked.explanation!
  const added = { ...explanation.decided_by.added!, by: null, earlier: true }
  const decided_by = { ...explanation.decided_by, added }
  const lines = decisionText({ ...blocked, explanation: { ...explanation, decided_by } }).split('\n')
  t.equal(lines[3], '  added before 2026-11-02T09:30:00.456Z')
})

t.test('a record that was published twice, once too long ago, and asked about before', async (t) => {
  const decision = {
    ...loggedDecisionExample,
    type: 'tcp_connection',
    decision: 'block',
    source: 'record',
  } as const
  const by = { ...loggedDecisionExample.decided_by, type: 'ip_restriction' } as const
  const publication = { decision: { ...decision, decided_by: by }, record: null, events: null, filtered: [] }
  const head =
    'Record r1, began 2026-11-20T09:59:58.000Z, stored 2026-11-20T10:00:00.250Z: 203.0.113.66 to ssh.example.com:22'
  const asked =
    'Question r1, asked 2026-11-20T10:00:00.250Z, for 20 questions: 203.0.113.66 to ssh.example.com:22'
  const publications = [
    { ...publication, explained: blocked, missing: null },
    { ...publication, explained: null, missing: 'The record is no longer stored.' },
  ]
  t.equal(
    recordWhyText({
      record_id: 'r1',
      publications: publications as PublishedRecord[],
      publications_left_out: false,
      asked: [
        {
          decision: { ...decision, decided_by: by, source: 'asked', weight: 20 },
          explained: blocked as AskedDecision['explained'],
          missing: 'It was decided otherwise.',
        },
      ],
      asked_left_out: false,
    }),
    `${head}\n${text}\n\n${head}\nThe record is no longer stored.\n\n${asked}\n${text}\nIt was decided otherwise.`,
  )
})

t.test('options become a connection or a request', async (t) => {
  const conn = { client_ip: '192.0.2.1', server_name: '[::1]', server_port: 22 }
  const cases: [options: WhyOptions, request: object][] = [
    [
      { client: '192.0.2.1', server: '[::1]:22' },
      { type: 'tcp_connection', conn },
    ],
    [
      { client: '192.0.2.1', edge: 'edgtcp_1' },
      { type: 'tcp_connection', conn: { client_ip: '192.0.2.1' }, edge_id: 'edgtcp_1' },
    ],
    [
      { client: '192.0.2.1', server: '[::1]:22', path: '/a' },
      { type: 'http_request', conn, http: { request: { url: { path: '/a' } } } },
    ],
  ]
  for (const [options, request] of cases) t.strictSame(requestOf(options), request)
  t.throws(() => requestOf({ client: '192.0.2.1' }), /Name a record, or a connection/)
  t.throws(() => requestOf({ server: 'x:22' }), /Name a record, or a connection/)
  t.throws(() => requestOf({ client: '192.0.2.1', server: 'x' }), /--server is "x"/)
})
