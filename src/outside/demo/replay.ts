/**
 * The replay: edges for the server names of a file, and policies that fit any file. Its counts are not known
 * beforehand, but the books have to balance.
 */
import { type RecordView, type Server, type Survey, serverKey } from './records-file.js'
import {
  allBut,
  type CreatedIds,
  denying,
  type EdgePlan,
  everything,
  fewFields,
  logging,
  type Question,
  type Scenario,
  type SubscriptionPlan,
} from './scenario.js'

/** Records of further names have no edge; they are evaluated and counted as unserved. */
const edgesMax = 200
/** Networks for documentation, used if a file has fewer than two. */
const documentation = ['192.0.2.0/24', '198.51.100.0/24'] as const

const barred = 'nobody from the busiest network'
const watched = 'nobody from the second busiest network'
const notFromChina = 'not from China'

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
    questions: served.slice(0, 3).map((server) => question(server, busiest)),
    published,
    decidedBy: {
      allow: 'no policy objected',
      block: `IP policy "${barred}" (${busiest})`,
      deny: `traffic policy "${notFromChina}"`,
    },
    situations: { targets: [], each: [] },
  }
}

/** Records name the edge by its id: a name may have more ports than an edge may have hostports. */
const edge = ({ name, type }: Server): EdgePlan => ({
  key: serverKey(type, name),
  type,
  hostports: [],
  ipPolicy: barred,
  ...(type === 'tcp_connection' ? { inbound, outbound } : {}),
})

const inbound = [
  denying(notFromChina, 'conn.geo.country_code == "CN"'),
  logging('visitor from the United States', 'conn.geo.country_code == "US"'),
]
const outbound = [logging('remote login', 'conn.server_port in [22, 23, 3389]')]

const filter = 'inCidrRange(conn.client_ip, "0.0.0.0/1")'
const traffic = ['tcp_connection_closed.v0', 'http_request_complete.v0']
const subscriptions: SubscriptionPlan[] = [
  everything,
  {
    description: 'the decision, and what decided (a field selection)',
    to: 'firehose',
    sources: traffic.map((type) => ({ type, fields: fewFields })),
  },
  {
    description: 'clients of 0.0.0.0/1 (a filter drops the others)',
    to: 'cloudwatch_logs',
    sources: traffic.map((type) => ({ type, filter })),
  },
]

function question({ name, type, port }: Server, busiest: string): Question {
  const conn = {
    client_ip: busiest.replace('.0.0/16', '.0.9').replace('.0/24', '.9'),
    server_name: name,
    ...(port === undefined ? {} : { server_port: port }),
  }
  return { by: `IP policy "${barred}"`, edge: serverKey(type, name), conn, decision: 'block' }
}

/** A record without an edge names the account, which gets its events; it is counted as unserved. */
function published(record: RecordView, { accountIds, edgeIds }: CreatedIds): object {
  const edgeId = edgeIds.get(serverKey(record.type, record.conn?.server_name))
  const { edge_id: _edge, account_id: _account, route_id: _route, ...own } = record as Record<string, unknown>
  return { ...own, ...(edgeId === undefined ? { account_id: accountIds[0] } : { edge_id: edgeId }) }
}
