/**
 * The replay: edges for the server names of a file, and policies that fit any file. Its counts are not known
 * beforehand, but the books have to balance.
 */
import {
  allBut,
  type CreatedIds,
  denied,
  type EdgePlan,
  logged,
  type Question,
  type Scenario,
} from './scenario.js'
import { type RecordView, type Server, type Survey, serverKey } from './survey.js'

/** Records of further names have no edge; they are evaluated and counted as unserved. */
const edgesMax = 200
/** Networks for documentation, used if a file has fewer than two. */
const documentation = ['192.0.2.0/24', '198.51.100.0/24'] as const

const barred = 'nobody from the busiest network'
const watched = 'nobody from the second busiest network'
const policy = {
  byCountry: 'not from China',
  remoteLogin: 'remote login',
  fromUs: 'visitor from the United States',
}

export function replay({ servers, networks }: Survey): Scenario {
  const [busiest = documentation[0], second = documentation[1]] = networks
  const served = servers.slice(0, edgesMax)
  return {
    accounts: [
      {
        name: 'Replay',
        ipPolicies: { [barred]: allBut([busiest]), [watched]: allBut([second]) },
        restriction: { enforced: false, ipPolicy: watched },
        edges: served.map(edge),
        destinations: ['kinesis', 'firehose', 'cloudwatch_logs'],
        subscriptions,
      },
    ],
    questions: served.slice(0, 3).flatMap((server) => questions(server, busiest)),
    published,
    decidedBy: {
      allow: 'no policy objected',
      block: `IP policy "${barred}" (${busiest})`,
      deny: `traffic policy "${policy.byCountry}"`,
    },
    situations: { targets: [], each: [] },
    heard: (_target, _type, evaluated) => evaluated,
    logs: () => undefined,
    malformed: undefined,
    warnings: undefined,
    unserved: undefined,
  }
}

/** Records name the edge by its id: a name may have more ports than an edge may have hostports. */
const edge = ({ name, type }: { name: string; type: EdgePlan['type'] }): EdgePlan => ({
  key: serverKey(type, name),
  type,
  hostports: [],
  ipPolicy: barred,
  ...(type === 'http_request' ? {} : { inbound, outbound }),
})

const inbound = [
  {
    name: policy.byCountry,
    expressions: ['conn.geo.country_code == "CN"'],
    actions: [logged(policy.byCountry), denied],
  },
  {
    name: policy.fromUs,
    expressions: ['conn.geo.country_code == "US"'],
    actions: [logged(policy.fromUs)],
  },
]

const outbound = [
  {
    name: policy.remoteLogin,
    expressions: ['conn.server_port in [22, 23, 3389]'],
    actions: [logged(policy.remoteLogin)],
  },
]

const ofLowerHalf = 'inCidrRange(conn.client_ip, "0.0.0.0/1")'

const subscriptions: Scenario['accounts'][number]['subscriptions'] = [
  {
    description: 'everything, all fields',
    to: 'kinesis',
    sources: [{ type: 'tcp_connection_closed.v0' }, { type: 'http_request_complete.v0' }, { type: 'log.v0' }],
  },
  {
    description: 'three fields (a field selection)',
    to: 'firehose',
    sources: ['tcp_connection_closed.v0', 'http_request_complete.v0'].map((type) => ({
      type,
      fields: ['conn.client_ip', 'conn.server_name', 'ip_policy.decision'],
    })),
  },
  {
    description: 'clients of 0.0.0.0/1 (a filter drops the others)',
    to: 'cloudwatch_logs',
    sources: ['tcp_connection_closed.v0', 'http_request_complete.v0'].map((type) => ({
      type,
      filter: ofLowerHalf,
    })),
  },
]

function questions({ name, type, port }: Server, busiest: string): Question[] {
  const conn = {
    client_ip: busiest.replace('.0.0/16', '.0.9').replace('.0/24', '.9'),
    server_name: name,
    ...(port === undefined ? {} : { server_port: port }),
  }
  return [
    {
      says: `a client of ${busiest}`,
      by: `IP policy "${barred}"`,
      edge: serverKey(type, name),
      conn,
      decision: 'block',
    },
  ]
}

/** A record without an edge names the account, which gets its events; it is counted as unserved. */
function published(record: RecordView, { accountIds, edgeIds }: CreatedIds): object {
  const edgeId = edgeIds.get(serverKey(record.type, record.conn?.server_name))
  const { edge_id: _edge, account_id: _account, route_id: _route, ...own } = record as Record<string, unknown>
  return { ...own, ...(edgeId === undefined ? { account_id: accountIds[0] } : { edge_id: edgeId }) }
}
