import { decisionFields } from './decision-fields.js'
import {
  address,
  defineTrafficEvent,
  int32,
  int64,
  ipPolicyDecision,
  serverName,
  text,
  timestamp,
} from './define.js'

export const tcpConnectionClosed = defineTrafficEvent('tcp_connection')({
  name: 'tcp_connection_closed.v0',
  about: 'A TCP connection has closed.',
  fields: {
    'conn.bytes_in': int64(({ conn }) => conn.bytes_in, { filterable: true }),
    'conn.bytes_out': int64(({ conn }) => conn.bytes_out, { filterable: true }),
    'conn.client_ip': text(({ conn }) => conn.client_ip, address),
    'conn.end_ts': timestamp(({ conn }) => conn.end_ts),
    'conn.server_ip': text(({ conn }) => conn.server_ip, address),
    'conn.server_name': text(({ conn }) => conn.server_name, serverName),
    'conn.server_port': int32(({ conn }) => conn.server_port, { filterable: true }),
    'conn.start_ts': timestamp(({ conn }) => conn.start_ts),
    'ip_policy.decision': text((_, { ipPolicy }) => ipPolicy?.decision, ipPolicyDecision),
    ...decisionFields,
  },
})
