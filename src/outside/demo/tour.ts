/**
 * The tour: two accounts, five endpoints and every kind of decision, on records whose counts are known:
 * `fixtures/records/demo.counts.json`.
 */
import {
  type AccountPlan,
  allBut,
  denying,
  type EventView,
  everything,
  fewFields,
  logging,
  type Question,
  type Scenario,
  type Situation,
} from './scenario.js'

/** The shape of `demo.counts.json`. */
interface TourCounts {
  readonly malformed: number
  readonly unserved: number
  readonly bad_cidrs: readonly string[]
  readonly large_bytes: number
  readonly endpoints: Readonly<Record<string, EndpointCounts>>
}

interface EndpointCounts {
  readonly records: number
  readonly bad_clients: number
  readonly large: number
  readonly countries: Readonly<Record<string, number>>
}

const ssh = { us: 'ssh.us.demo.example:22', eu: 'ssh.eu.demo.example:22' }
const database = 'db.ap.demo.example:5432'
const game = 'game.sa.demo.example:25565'
const web = 'www.demo.example:443'

const policy = {
  notFromChina: 'not from China',
  fromAbroad: 'visitor from abroad',
  large: 'large download',
  notFromAfrica: 'not from South Africa',
}

const restriction = "the account's restriction, an IP policy"
const notEnforced = 'a warning only: its restriction is not enforced'
const noObjection = 'no policy objected'

export function tour(counts: TourCounts): Scenario {
  const countsOf = (endpoint: string) => counts.endpoints[endpoint]!
  const from = (endpoint: string, ...codes: string[]) =>
    codes.reduce((sum, code) => sum + (countsOf(endpoint).countries[code] ?? 0), 0)
  const records = (...endpoints: string[]) => endpoints.reduce((sum, name) => sum + countsOf(name).records, 0)
  return {
    accounts: [harbor(counts), meadow(counts)],
    questions: [
      question(ssh.us, '203.0.113.9', 'block', restriction),
      question(ssh.eu, '203.0.113.9', 'block', "the edge's own IP policy"),
      question(ssh.us, '223.64.0.9', 'deny', `traffic policy "${policy.notFromChina}"`),
      { ...question(game, '203.0.113.9', 'allow', notEnforced), warns: true },
      question(ssh.us, '73.0.0.9', 'allow', noObjection),
      question(database, '84.128.0.9', 'allow', noObjection),
      question(web, '203.0.113.9', 'block', restriction),
    ],
    decidedBy: {
      allow: noObjection,
      block: 'an IP policy, of an edge or of a restriction',
      deny: 'a traffic policy',
    },
    situations: {
      // Events at CloudWatch Logs also arrive at Kinesis.
      targets: ['kinesis', 'firehose'],
      each: [
        blocked('IP policy of the edge', ssh.eu, countsOf(ssh.eu).bad_clients),
        blocked('enforced restriction of the account', ssh.us, countsOf(ssh.us).bad_clients),
        blocked('the same restriction', database, countsOf(database).bad_clients),
        blocked('the same restriction', web, countsOf(web).bad_clients),
        letIn('restriction that is not enforced', game, countsOf(game).bad_clients),
        byPolicy(policy.notFromChina, ssh.us, from(ssh.us, 'CN')),
        byPolicy(policy.notFromAfrica, game, from(game, 'ZA')),
        deniedBy(policy.notFromAfrica, game, from(game, 'ZA')),
        byPolicy(policy.fromAbroad, ssh.us, from(ssh.us, 'GB', 'BR', 'DE')),
        byPolicy(policy.large, database, countsOf(database).large),
      ],
    },
    // One of each record, and one of each log action.
    events: {
      kinesis:
        records(ssh.us, database, web) + from(ssh.us, 'CN', 'GB', 'BR', 'DE') + countsOf(database).large,
      firehose: records(ssh.eu, game) + from(game, 'ZA'),
      cloudwatch_logs: records(database),
    },
    malformed: counts.malformed,
    unserved: counts.unserved,
    warnings: countsOf(ssh.eu).bad_clients + countsOf(game).bad_clients,
  }
}

/** Enforces its restriction. All its events go to Kinesis, those of its database also to CloudWatch Logs. */
const harbor = ({ bad_cidrs, large_bytes }: TourCounts): AccountPlan => ({
  name: 'Harbor',
  ipPolicies: { 'nobody from bad networks': allBut(bad_cidrs) },
  restriction: { enforced: true, ipPolicy: 'nobody from bad networks' },
  edges: [
    {
      key: ssh.us,
      type: 'tcp_connection',
      hostports: [ssh.us],
      inbound: [
        denying(policy.notFromChina, 'conn.geo.country_code == "CN"'),
        logging(policy.fromAbroad, 'conn.geo.country_code != "US"'),
      ],
    },
    {
      key: database,
      type: 'tcp_connection',
      hostports: [database],
      outbound: [logging(policy.large, `conn.bytes_out > ${large_bytes}`)],
    },
    { key: web, type: 'http_request', hostports: [web] },
  ],
  destinations: ['kinesis', 'cloudwatch_logs'],
  subscriptions: [
    everything,
    {
      description: "the database's connections (a filter drops the others)",
      to: 'cloudwatch_logs',
      sources: [{ type: 'tcp_connection_closed.v0', filter: 'conn.server_port == 5432' }],
    },
  ],
})

/** Its restriction only warns, and one of its edges has its own IP policy. Its events go to Firehose. */
const meadow = ({ bad_cidrs }: TourCounts): AccountPlan => ({
  name: 'Meadow',
  ipPolicies: { 'nobody from bad networks': allBut(bad_cidrs) },
  restriction: { enforced: false, ipPolicy: 'nobody from bad networks' },
  edges: [
    { key: ssh.eu, type: 'tcp_connection', hostports: [ssh.eu], ipPolicy: 'nobody from bad networks' },
    {
      key: game,
      type: 'tcp_connection',
      hostports: [game],
      inbound: [denying(policy.notFromAfrica, 'conn.geo.country_code == "ZA"')],
    },
  ],
  destinations: ['firehose'],
  subscriptions: [
    {
      description: 'the decision about each connection, and what decided (a field selection)',
      to: 'firehose',
      sources: [{ type: 'tcp_connection_closed.v0', fields: fewFields }, { type: 'log.v0' }],
    },
  ],
})

function question(edge: string, client_ip: string, decision: Question['decision'], by: string): Question {
  const [server_name = '', port] = edge.split(':')
  return { by, edge, conn: { client_ip, server_name, server_port: Number(port) }, decision }
}

function blocked(says: string, endpoint: string, expected: number): Situation {
  const [host] = endpoint.split(':')
  const matches = ({ object }: EventView): boolean =>
    object.conn?.server_name === host && (object.decision ?? object.ip_policy?.decision) === 'block'
  return { says, endpoint, expected, matches }
}

/** Bad clients are in networks with these prefixes. */
function letIn(says: string, endpoint: string, expected: number): Situation {
  const [host] = endpoint.split(':')
  const matches = ({ object }: EventView): boolean =>
    object.conn?.server_name === host &&
    /^(203\.0\.113\.|2001:db8:bad:)/.test(object.conn?.client_ip ?? '') &&
    object.decision === 'allow'
  return { says, endpoint, expected, matches }
}

/** The event about the connection itself names the policy, too. */
function deniedBy(name: string, endpoint: string, expected: number): Situation {
  const matches = ({ object }: EventView): boolean =>
    object.decision === 'deny' && object.decided_by?.name === name
  return { says: `events that name the traffic policy "${name}"`, endpoint, expected, matches }
}

function byPolicy(name: string, endpoint: string, expected: number): Situation {
  const matches = ({ event_type, object }: EventView): boolean =>
    event_type === 'log.v0' && object.metadata?.policy === name
  return { says: `log events of the traffic policy "${name}"`, endpoint, expected, matches }
}
