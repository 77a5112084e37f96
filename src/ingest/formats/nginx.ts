import { ok } from '../../core/errors.js'
import { commonNameOf, type Fields, type Format, jsonLine, type Logged } from '../format.js'
import { combined, requestParts } from './combined.js'

/**
 * A `log_format` with `escape=json`, of objects whose members are named like nginx's variables; also that of a `stream`
 * server, which logs connections. A line that is no object is read as the default format, `combined`.
 */
export const nginx: Format = {
  name: 'nginx',
  about:
    "JSON with the names of nginx's variables, of http or stream servers (docs/recipes/nginx.md); or combined",
  read(line) {
    if (!line.startsWith('{')) return combined.read(line)
    const fields = jsonLine(line)
    return fields.ok ? ok(loggedBy(fields.value)) : fields
  },
}

function loggedBy(fields: Fields): Logged {
  const isConnection = fields.get('protocol') === 'TCP' || fields.get('session_time') !== undefined
  const [method, uri] = requestParts(String(fields.get('request') ?? ''))
  const end = endOf(fields)
  const seconds = fields.number('request_time', 'session_time')
  const start = typeof end === 'number' && seconds !== undefined ? end - seconds * 1000 : end
  return {
    type: isConnection ? 'tcp_connection' : 'http_request',
    record_id: fields.get('request_id'),
    client: fields.get('remote_addr', 'realip_remote_addr'),
    client_port: fields.get('remote_port'),
    server: fields.get('server_addr'),
    host: fields.get('http_host', 'host', 'ssl_server_name', 'ssl_preread_server_name', 'server_name'),
    port: fields.get('server_port'),
    scheme: fields.get('scheme'),
    ...{ start, end: isConnection ? end : undefined },
    method: fields.get('request_method') ?? method,
    uri: fields.get('request_uri', 'uri') ?? uri,
    user_agent: fields.get('http_user_agent'),
    request_bytes: fields.get('content_length'),
    response_bytes: fields.get('body_bytes_sent'),
    status: fields.get('status'),
    tls_version: fields.get('ssl_protocol'),
    tls_cipher: fields.get('ssl_cipher'),
    client_cn: commonNameOf(fields.get('ssl_client_s_dn')),
    username: fields.get('remote_user'),
    ...{ bytes_in: fields.get('bytes_received'), bytes_out: fields.get('bytes_sent') },
  }
}

/** nginx writes the line at the end of the request. `$msec` are seconds with three decimals. */
function endOf(fields: Fields): string | number | undefined {
  const seconds = fields.number('msec')
  return seconds === undefined
    ? (fields.get('time_iso8601') as string | undefined)
    : Math.round(seconds * 1000)
}
