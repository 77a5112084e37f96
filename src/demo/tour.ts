/**
 * The tour: two accounts, five endpoints, and every kind of decision once, on records whose numbers are known.
 * How often each thing must happen follows from `fixtures/records/demo.counts.json`.
 */
import {
  type AccountPlan,
  allBut,
  denied,
  logged,
  type ReceivedEvent,
  type Scenario,
  type Situation,
} from './scenario.js'

/** The shape of `demo.counts.json`. */
export interface TourCounts {
  readonly malformed: number
  readonly unserved: number
  readonly bad_cidrs: readonly string[]
  readonly large_bytes: number
  readonly endpoints: Readonly<
    Record<
      string,
      {
        readonly records: number
        readonly bad_clients: number
        readonly large: number
        readonly countries: Readonly<Record<string, number>>
      }
    >
  >
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

export function tour(counts: TourCounts): Scenario {
  const at = (endpoint: string) => counts.endpoints[endpoint]!
  const from = (endpoint: string, ...codes: string[]) =>
    codes.reduce((sum, code) => sum + (at(endpoint).countries[code] ?? 0), 0)
  const records = (...endpoints: string[]) => endpoints.reduce((sum, name) => sum + at(name).records, 0)
  const harborLogs = from(ssh.us, 'CN') + from(ssh.us, 'GB', 'BR', 'DE') + at(database).large
  const meadowLogs = from(game, 'ZA')
  return {
    accounts: [harbor(counts), meadow(counts)],
    questions: [
      question('a client of the networks Harbor restricts', ssh.us, '203.0.113.9', 'block'),
      question('a client from China', ssh.us, '223.64.0.9', 'deny'),
      question('a client from the United States', ssh.us, '73.0.0.9', 'allow'),
      question("a client of the networks the edge's IP policy denies", ssh.eu, '203.0.113.9', 'block'),
      question('the same where the restriction is not enforced', game, '203.0.113.9', 'allow'),
      question('a client from South Africa', game, '41.0.0.9', 'deny'),
      question('a client from Germany', database, '84.128.0.9', 'allow'),
      question('a browser of the restricted networks', web, '203.0.113.9', 'block'),
    ],
    decidedBy: {
      allow: 'no policy objected',
      block: 'an IP policy, of an edge or of a restriction',
      deny: 'a traffic policy',
    },
    situations: {
      // What arrives at CloudWatch Logs arrives at Kinesis, too.
      at: ['kinesis', 'firehose'],
      each: [
        blocked('IP policy of the edge', ssh.eu, at(ssh.eu).bad_clients),
        blocked('enforced restriction of the account', ssh.us, at(ssh.us).bad_clients),
        blocked('the same restriction', database, at(database).bad_clients),
        blocked('the same restriction', web, at(web).bad_clients),
        letIn('restriction that is not enforced', game, at(game).bad_clients),
        byPolicy(policy.notFromChina, ssh.us, 'denied by country', from(ssh.us, 'CN')),
        byPolicy(policy.notFromAfrica, game, 'denied by country', from(game, 'ZA')),
        byPolicy(policy.fromAbroad, ssh.us, 'logged, inbound', from(ssh.us, 'GB', 'BR', 'DE')),
        byPolicy(policy.large, database, 'logged, outbound', at(database).large),
      ],
    },
    heard: (target, type) => {
      if (type === 'http_request') return target === 'kinesis' ? records(web) : 0
      return target === 'firehose' ? records(ssh.eu, game) : records(ssh.us, database)
    },
    logs: (target) => ({ kinesis: harborLogs, firehose: meadowLogs, cloudwatch_logs: 0 })[target],
    malformed: counts.malformed,
    unserved: counts.unserved,
    warnings: at(ssh.eu).bad_clients + at(game).bad_clients,
  }
}

/** Its restriction is enforced; all its events go to Kinesis, its database's to CloudWatch Logs as well. */
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
        {
          name: policy.notFromChina,
          expressions: ['conn.geo.country_code == "CN"'],
          actions: [logged(policy.notFromChina), denied],
        },
        {
          name: policy.fromAbroad,
          expressions: ['conn.geo.country_code != "US"'],
          actions: [logged(policy.fromAbroad)],
        },
      ],
    },
    {
      key: database,
      type: 'tcp_connection',
      hostports: [database],
      outbound: [
        {
          name: policy.large,
          expressions: [`conn.bytes_out > ${large_bytes}`],
          actions: [logged(policy.large)],
        },
      ],
    },
    { key: web, type: 'http_request', hostports: [web] },
  ],
  destinations: ['kinesis', 'cloudwatch_logs'],
  subscriptions: [
    {
      description: 'everything, all fields',
      to: 'kinesis',
      sources: [
        { type: 'tcp_connection_closed.v0' },
        { type: 'http_request_complete.v0' },
        { type: 'log.v0' },
      ],
    },
    {
      description: "the database's connections (a filter drops the others)",
      to: 'cloudwatch_logs',
      sources: [{ type: 'tcp_connection_closed.v0', filter: 'conn.server_port == 5432' }],
    },
  ],
})

/** Its restriction only warns, one of its edges has an IP policy of its own; its events go to Firehose. */
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
      inbound: [
        {
          name: policy.notFromAfrica,
          expressions: ['conn.geo.country_code == "ZA"'],
          actions: [logged(policy.notFromAfrica), denied],
        },
      ],
    },
  ],
  destinations: ['firehose'],
  subscriptions: [
    {
      description: 'three fields of each connection (a field selection)',
      to: 'firehose',
      sources: [
        {
          type: 'tcp_connection_closed.v0',
          fields: ['conn.client_ip', 'conn.server_name', 'ip_policy.decision'],
        },
        { type: 'log.v0' },
      ],
    },
  ],
})

function question(says: string, edge: string, client_ip: string, decision: 'allow' | 'block' | 'deny') {
  const [server_name = '', port] = edge.split(':')
  return { says, edge, conn: { client_ip, server_name, server_port: Number(port) }, decision }
}

function blocked(says: string, at: string, expected: number): Situation {
  const [host] = at.split(':')
  const matches = ({ object }: ReceivedEvent): boolean =>
    object.conn?.server_name === host && object.ip_policy?.decision === 'block'
  return { says, at, outcome: 'blocked', expected, matches }
}

/** Bad clients are of networks that are known by their first digits. */
function letIn(says: string, at: string, expected: number): Situation {
  const [host] = at.split(':')
  const matches = ({ object }: ReceivedEvent): boolean =>
    object.conn?.server_name === host &&
    /^(203\.0\.113\.|2001:db8:bad:)/.test(object.conn?.client_ip ?? '') &&
    object.ip_policy?.decision === null
  return { says, at, outcome: 'let in, with a warning', expected, matches }
}

function byPolicy(name: string, at: string, outcome: string, expected: number): Situation {
  const matches = ({ event_type, object }: ReceivedEvent): boolean =>
    event_type === 'log.v0' && object.metadata?.policy === name
  return { says: `traffic policy "${name}"`, at, outcome, expected, matches }
}
