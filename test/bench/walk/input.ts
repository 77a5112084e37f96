/** The input that the walk is measured on: a configuration, and messages of 100 records of some 600 bytes. */
import { randomNumbers } from '../../../fixtures/random-numbers.mjs'
import { deny, log, TestConfiguration } from '../../judging/evaluate/configuration.js'

export const accountId = 'ac_01K0WEIRBENCH0000000000001'
const edgeId = 'edgtcp_01K0WEIRBENCH0000000000002'
export const storedAtMs = Date.parse('2026-11-20T10:00:00.250Z')

const deniedCidrs = ['192.0.2.0/24', '198.18.0.0/15']
export const deniedCountries = ['KP', 'IR']
export const logs = [
  {
    name: 'Large download',
    expression: 'conn.bytes_out > 1990000',
    metadata: { Message: 'A large download.' },
  },
  {
    name: 'Large upload',
    expression: 'conn.server_port == 22 && conn.bytes_in > 19900',
    metadata: { Message: 'A large upload.' },
  },
]
export const denies = [
  { name: 'Test networks', expression: `conn.client_ip|inCidrRanges(${JSON.stringify(deniedCidrs)})` },
  { name: 'Countries', expression: `conn.geo.country_code in ${JSON.stringify(deniedCountries)}` },
  { name: 'Telnet', expression: 'conn.server_port == 23 || conn.server_port == 2323' },
]

/** The subscriptions; each has a destination of its own and takes every field of a connection. */
export const subscriptions = [
  {
    id: 'esb_01K0WEIRBENCH0000000000003',
    destinationId: 'ed_01K0WEIRBENCH0000000000006',
    filter: 'conn.server_port == 22',
  },
  {
    id: 'esb_01K0WEIRBENCH0000000000004',
    destinationId: 'ed_01K0WEIRBENCH0000000000007',
    filter: "!(conn.client_ip|inCidrRange('10.0.0.0/8'))",
  },
  {
    id: 'esb_01K0WEIRBENCH0000000000005',
    destinationId: 'ed_01K0WEIRBENCH0000000000008',
    filter: "conn.server_name|endsWith('.eu.example')",
  },
]

export const closedFields = [
  'conn.bytes_in',
  'conn.bytes_out',
  'conn.client_ip',
  'conn.end_ts',
  'conn.server_ip',
  'conn.server_name',
  'conn.server_port',
  'conn.start_ts',
  'ip_policy.decision',
]

/** 100 rules: everything is allowed but 99 small networks. */
export const rules = [
  '0.0.0.0/0',
  ...Array.from({ length: 99 }, (_, index) => `!${20 + index * 2}.${index}.0.0/16`),
]

export function configuration(): TestConfiguration {
  const given = new TestConfiguration(accountId)
  given.ipPolicy('ipp_1', ...rules)
  given.tcpEdge(edgeId, {
    account_id: accountId,
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    policies: {
      enabled: true,
      inbound: denies.map(({ name, expression }) => ({
        name,
        expressions: [expression],
        actions: [deny],
      })),
      outbound: logs.map(({ name, expression, metadata }) => ({
        name,
        expressions: [expression],
        actions: [log(metadata)],
      })),
    },
  })
  for (const { id, destinationId, filter } of subscriptions) {
    const sources = [{ type: 'tcp_connection_closed.v0', filter, fields: closedFields }, { type: 'log.v0' }]
    given.subscription(id, { account_id: accountId, sources, destination_ids: [destinationId] })
  }
  return given
}

const random = randomNumbers(42)
const below = (end: number): number => Math.floor(random() * end)
const pick = <T>(values: readonly T[]): T => values[below(values.length)]!

/** Clients come back: a few hundred of them make all the records. */
const clients = Array.from({ length: 400 }, () =>
  random() < 0.05
    ? `10.0.${below(256)}.${below(256)}`
    : `${1 + below(223)}.${below(256)}.${below(256)}.${1 + below(254)}`,
)

function recordText(index: number): string {
  const conn = {
    client_ip: pick(clients),
    client_port: 1024 + below(60_000),
    server_ip: `198.51.100.${below(256)}`,
    server_name: `${1 + below(9)}.tcp.${pick(['eu', 'us', 'ap'])}.example`,
    server_port: pick([22, 22, 443, 5432, 25565, 23]),
    start_ts: `2026-11-20T10:00:${String(below(60)).padStart(2, '0')}.123456Z`,
    end_ts: `2026-11-20T10:07:${String(below(60)).padStart(2, '0')}.654321Z`,
    bytes_in: below(20_000),
    bytes_out: below(2_000_000),
  }
  // Members that an ingress node adds beyond the schema, and nobody asks for.
  const node = {
    name: `ingress-${below(40)}`,
    zone: 'eu-central-1b',
    build: '4f9c2d1e',
    uptime_s: below(1e6),
  }
  const socket = {
    rtt_us: below(90_000),
    retransmits: below(9),
    cwnd: 10 + below(300),
    congestion: 'bbr',
    mss: 1448,
  }
  const record_id = `01K0WEIR${String(index).padStart(18, '0')}`
  return JSON.stringify({
    record_id,
    type: 'tcp_connection',
    account_id: accountId,
    edge_id: edgeId,
    conn,
    node,
    socket,
  })
}

const recordsPerMessage = 100

export const messages: readonly Buffer[] = Array.from({ length: 20 }, (_, message) =>
  Buffer.from(
    Array.from({ length: recordsPerMessage }, (_, line) =>
      recordText(message * recordsPerMessage + line),
    ).join('\n'),
  ),
)

export const recordCount = messages.length * recordsPerMessage
