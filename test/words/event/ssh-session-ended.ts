/** A made-up kind of traffic event, as a whole file of `src/words/event` would declare it. */
import {
  address,
  defineTrafficEvent,
  int32,
  int64,
  ipPolicyDecision,
  text,
  timestamp,
} from '../../../src/words/event/define.js'

export const sshSessionEnded = defineTrafficEvent('tcp_connection')({
  name: 'ssh_session_ended.v0',
  about: 'An SSH session has ended.',
  fields: {
    'conn.client_ip': text(({ conn }) => conn.client_ip, address),
    'conn.server_port': int32(({ conn }) => conn.server_port, { filterable: true }),
    'conn.end_ts': timestamp(({ conn }) => conn.end_ts),
    'session.bytes': int64(({ conn }) => (conn.bytes_in ?? 0) + (conn.bytes_out ?? 0), {
      about: 'Bytes in both directions.',
      unit: 'bytes',
    }),
    'ip_policy.decision': text((_, { ipPolicy }) => ipPolicy?.decision, ipPolicyDecision),
  },
})
