import { ok, problem, type Result } from '../../core/errors.js'
import type { Format, Logged } from '../format.js'
import { type Fields, jsonLine, textOf } from '../values.js'

const quoted = (name: string): string => `"(?<${name}>[^"]*)"`
/** Envoy's default format. */
const form = new RegExp(
  String.raw`^\[(?<start>[^\]]+)\] "(?<method>\S+) (?<uri>\S+) \S+" (?<status>\d+) \S+ (?:\S+ )*?(?<received>\d+) (?<sent>\d+) (?<duration>\d+|-) \S+ ${['forwarded', 'agent', 'id', 'host'].map(quoted).join(' ')} "[^"]*"(?<rest>[^"]*)$`,
)
/** What Istio adds: upstream cluster, local and remote addresses. */
const addresses = /(?:^| )(?<server>\S+:\d+) (?<client>\S+:\d+) \S+ \S+$/

/** The default text, and JSON with the names that Envoy Gateway, Istio and Contour use. */
export const envoy: Format = {
  name: 'envoy',
  about: "Envoy's default text, with x-forwarded-for; or JSON with the usual names (docs/recipes/envoy.md)",
  read(line) {
    if (!line.startsWith('{')) return textLine(line)
    const fields = jsonLine(line)
    return fields.ok ? ok(loggedBy(fields.value)) : fields
  },
}

function textLine(line: string): Result<Logged> {
  const match = form.exec(line)?.groups
  if (match === undefined) return problem("It is not a line of Envoy's default format.")
  const { forwarded, agent, id, rest = '', received, sent, ...logged } = match
  const seen = addresses.exec(rest)?.groups
  const client = lastOf(forwarded) ?? seen?.['client']
  return ok({
    ...{ ...logged, client, server: seen?.['server'], user_agent: agent, record_id: id },
    ...{ request_bytes: received, response_bytes: sent },
  })
}

/** The operators of Envoy behind the usual names. */
function loggedBy(fields: Fields): Logged {
  const start = fields.get('start_time', 'timestamp') as string | undefined
  const millis = fields.number('duration')
  const method = fields.get('method')
  const client = fields.get('downstream_remote_address', 'downstream_direct_remote_address')
  const common = {
    record_id: fields.get('x-request-id', 'request_id'),
    client: lastOf(fields.get('x-forwarded-for', 'x_forwarded_for')) ?? client,
    server: fields.get('downstream_local_address'),
    host: fields.get(':authority', 'authority', 'requested_server_name'),
    ...{
      start,
      tls_version: fields.get('downstream_tls_version'),
      tls_cipher: fields.get('downstream_tls_cipher'),
    },
  }
  const [received, sent] = [fields.get('bytes_received'), fields.get('bytes_sent')]
  if (textOf(method) === undefined) {
    const end = start === undefined || millis === undefined ? undefined : Date.parse(start) + millis
    return { ...common, type: 'tcp_connection', end, bytes_in: received, bytes_out: sent }
  }
  return {
    ...{ ...common, method, scheme: fields.get('scheme', ':scheme', 'x-forwarded-proto') },
    uri: fields.get('x-envoy-origin-path', 'x-envoy-original-path', 'path', ':path'),
    user_agent: fields.get('user-agent', 'user_agent'),
    ...{ request_bytes: received, response_bytes: sent, status: fields.get('response_code') },
  }
}

/** The address that the nearest proxy saw. */
const lastOf = (list: string | number | null | undefined): string | undefined =>
  textOf(list)?.split(',').at(-1)?.trim()
