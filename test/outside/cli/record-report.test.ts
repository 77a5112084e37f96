/** `weir record`: what a person reads about a record. */
import t from 'tap'
import { recordText } from '../../../src/outside/cli/record-report.js'
import { loggedDecisionExample } from '../../../src/words/shape/decisions/logged-decision.js'
import type { EventDelivery, PublishedRecord, TracedRecord } from '../../../src/words/shape/traced-record.js'

const delivery: EventDelivery = {
  destination_id: 'ed_1',
  state: 'delivered',
  at: '2026-11-20T10:00:00.911Z',
  request_id: 'r-1',
  receipt: null,
  shard: null,
  attempts: 2,
  last_error: { at: '2026-11-20T10:00:00.500Z', code: 'Throttled', msg: 'Slow down.' },
  requests: [],
}

const publication = (more: Partial<PublishedRecord> = {}): PublishedRecord => ({
  decision: {
    ...loggedDecisionExample,
    edge_id: 'edgtcp_1',
    type: 'tcp_connection',
    source: 'record',
    decision: 'block',
    decided_by: { type: 'ip_restriction', id: 'edgtcp_1', policy: null, rule_id: 'ipr_1' },
  },
  record: {},
  explained: null,
  events: [],
  filtered: [],
  missing: null,
  ...more,
})

const traced = (...publications: PublishedRecord[]): TracedRecord => ({
  record_id: 'r1',
  publications,
  publications_left_out: false,
  asked: [],
  asked_left_out: false,
})

const head = `Record r1, began 2026-11-20T09:59:58.000Z, stored 2026-11-20T10:00:00.250Z
  203.0.113.66 (DE) to ssh.example.com:22, served by edgtcp_1
  block, decided by ip_restriction edgtcp_1 ipr_1`

t.test('a record with events', async (t) => {
  const event = { id: 'ev_1', type: 'tcp_connection_closed.v0', subscription_id: 'esb_1' }
  const deliveries = [
    delivery,
    { ...delivery, destination_id: 'ed_2', state: 'dead_lettered' as const, attempts: 1, request_id: null },
    {
      ...delivery,
      destination_id: 'ed_3',
      state: 'pending' as const,
      at: null,
      request_id: null,
      attempts: 0,
      last_error: null,
    },
  ]
  const filtered = [{ type: 'log.v0', subscription_id: 'esb_2' }]
  t.equal(
    recordText(traced(publication({ events: [{ ...event, deliveries }], filtered }))),
    `${head}
  tcp_connection_closed.v0 of esb_1: ev_1
    ed_1  delivered  2026-11-20T10:00:00.911Z, 2 attempts, request r-1
    ed_2  dead_lettered  2026-11-20T10:00:00.911Z, Throttled: Slow down.
    ed_3  pending
  log.v0: filtered by esb_2`,
  )
})

t.test('a record that a traffic policy denied, with the reasons of all policies', async (t) => {
  const policy = { direction: 'inbound', applied: false, expressions: [], actions: ['deny'] } as const
  const explanation = {
    ip_policies: [
      {
        source: 'edge',
        enforced: true,
        decision: 'allow',
        reason: 'The allow rule ipr_1 contains the address, and no deny rule does.',
        rules: [],
        rules_left_out: 0,
      },
    ],
    policies: [
      {
        ...policy,
        policy: 'office',
        reason: 'It does not apply: "conn.asn == 1" is not true.',
        expressions: [
          { expression: 'conn.asn == 1', value: false, decisive: null, names: [], names_left_out: 0 },
        ],
      },
      {
        ...policy,
        policy: 'no Germany',
        applied: true,
        reason: 'All its expressions are true, so it denies.',
        expressions: [
          {
            expression: "conn.geo.country_code == 'DE'",
            value: true,
            decisive: null,
            names: [],
            names_left_out: 0,
          },
        ],
      },
    ],
    policies_not_reached: [],
    shadow: null,
    decided_by: {
      type: 'traffic_policy',
      id: 'edgtcp_1',
      name: 'no Germany',
      ip_policy_id: null,
      rule_id: null,
      cidr: null,
    },
  } as const
  const denied = publication({
    explained: {
      decision: 'deny',
      ip_policy: null,
      policy: 'no Germany',
      served: true,
      revision: 1,
      warnings: [],
      explanation,
    } as unknown as PublishedRecord['explained'],
  })
  t.equal(
    recordText(traced(denied)),
    `${head}
    The allow rule ipr_1 contains the address, and no deny rule does.
    inbound policy office: did not apply. It does not apply: "conn.asn == 1" is not true.
    inbound policy no Germany: applied. All its expressions are true, so it denies.
      conn.geo.country_code == 'DE' = true
  No subscription makes an event of it.`,
  )
})

t.test('records without events, or that are no longer stored', async (t) => {
  const missing = publication({ record: null, events: null, missing: 'It was removed.' })
  t.equal(
    recordText({ ...traced(publication(), missing), publications_left_out: true }),
    `${head}
  No subscription makes an event of it.

${head}
  It was removed.

It was published more often; older publications are left out.`,
  )
})
