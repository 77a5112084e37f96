import { fail, ok, type Problem, problem, type Result } from '../../../ground/core/errors.js'
import { splitHost } from '../../../ground/core/text/request-target.js'
import { columnAsWritten, jsonOfBytes } from '../lines/escapes.js'
import type { Format, Logged, Writer } from '../lines/format.js'
import { lastForwarded } from '../lines/forwarded.js'
import { logTime, startOf, type Time, withoutTime } from '../lines/log-time.js'
import { requestParts, targetOf } from '../lines/request-line.js'
import { commonNameIn, type Fields, jsonLine, textOf, type Value } from '../lines/values.js'
import { combined } from './combined.js'

const writer: Writer = {
  program: 'nginx',
  escapes:
    'By default (`combined`): `"`, `\\`, bytes below 32 and from 127 on as `\\xC3`, in every variable. `escape=json`: as JSON demands, other bytes as they came. Lines in the form of JSON are read with both. With `escape=none`, a client can write what it likes into the line: do not use it.',
  nothing:
    '`-` by default, empty with `escape=json`: for a header that was not sent, a variable without a value, an empty user name. A status `000`: nothing was answered. `$host` is then `$server_name`, which may be empty, `_`, a wildcard or a regular expression: these are no name that a client asked for.',
  client:
    "`$remote_addr` is the peer, or whom the realip module found: with `set_real_ip_from` and `real_ip_header`, one trusted proxy's client; behind several, `real_ip_recursive on` takes the last address that is not trusted. `$realip_remote_addr` stays the peer. Where a listener takes the PROXY protocol and realip did not replace the address, it is `$proxy_protocol_addr`. Of `$proxy_add_x_forwarded_for`, the last entry is `$remote_addr`. A port is taken with the address that it belongs to.",
  times:
    'All say when the request ended: `$msec`, `$time_iso8601`, `$time_local`. Less `$request_time` or `$session_time`, that is the start. `combined` has no duration: its time is the end.',
  lost: '`combined` has neither host nor scheme nor port. `$uri` and `$document_uri` are decoded, without dot segments and query, and what `rewrite` made of them: they count only if neither `$request` nor `$request_uri` is logged, and the record has no raw target then. `$args` and `$query_string` are what `rewrite` left. `$host` is in small letters, without its port; `$http_host` is as sent. A `-` of a client.',
  sources: [
    'https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format',
    'https://nginx.org/en/docs/http/ngx_http_core_module.html#variables',
    'https://nginx.org/en/docs/http/ngx_http_ssl_module.html#var_ssl_client_s_dn',
    'https://nginx.org/en/docs/http/ngx_http_realip_module.html',
    'https://docs.nginx.com/nginx/admin-guide/load-balancer/using-proxy-protocol/',
    'ngx_http_log_module.c of nginx (ngx_http_log_escape, ngx_http_log_variable)',
  ],
}

/**
 * A `log_format` of objects whose members are named like nginx's variables; also that of a `stream` server, which logs
 * connections. A line that is no object is read as the default format, `combined`.
 */
export const nginx: Format = {
  name: 'nginx',
  about:
    "JSON with the names of nginx's variables, of http or stream servers (docs/recipes/nginx.md); or combined",
  writers: [writer],
  read(line, given) {
    if (!line.startsWith('{')) return combined.read(line, given)
    const fields = jsonLine(jsonOfBytes(line))
    if (!fields.ok) return inWritten(line, fields.problem)
    return fields.value.get('protocol') === 'UDP'
      ? problem('The protocol is "UDP", and records are of connections and requests.')
      : ok(loggedBy(fields.value))
  },
}

const inWritten = (line: string, { msg, column }: Problem): Result<never> =>
  fail(column === undefined ? { msg } : { msg, column: columnAsWritten(line, column) })

function loggedBy(fields: Fields): Logged {
  const isConnection = fields.get('protocol') === 'TCP' || fields.get('session_time') !== undefined
  const end = endOf(fields)
  return {
    type: isConnection ? 'tcp_connection' : 'http_request',
    record_id: fields.get('request_id'),
    ...clientIn(fields),
    server: fields.get('server_addr'),
    port: fields.get('server_port'),
    scheme: fields.get('scheme') ?? (fields.get('https') === 'on' ? 'https' : undefined),
    start: startOf(end, fields.number('request_time', 'session_time')),
    end: isConnection ? end : undefined,
    ...askedFor(fields),
    user_agent: fields.get('http_user_agent'),
    request_bytes: fields.get('content_length', 'http_content_length'),
    response_bytes: fields.get('body_bytes_sent'),
    status: fields.get('status'),
    tls_version: fields.get('ssl_protocol'),
    tls_cipher: fields.get('ssl_cipher'),
    client_cn: commonNameIn(fields.get('ssl_client_s_dn', 'ssl_client_s_dn_legacy')),
    username: fields.get('remote_user'),
    bytes_in: fields.get('bytes_received'),
    bytes_out: fields.get('bytes_sent'),
    timeless: end === undefined ? withoutTime(fields, 'time_iso8601') : undefined,
  }
}

/**
 * The realip module replaces `$remote_addr`. If it did not, the PROXY protocol has the address of the client, and what
 * connected is the proxy.
 */
function clientIn(fields: Fields): Pick<Logged, 'client' | 'client_port'> {
  const [remote, peer] = [fields.get('remote_addr'), fields.get('realip_remote_addr')]
  const isReplaced = remote !== undefined && peer !== undefined && remote !== peer
  const proxied = isReplaced ? undefined : fields.get('proxy_protocol_addr')
  if (proxied !== undefined) return { client: proxied, client_port: fields.get('proxy_protocol_port') }
  if (remote !== undefined) return { client: remote, client_port: fields.get('remote_port') }
  // nginx puts `$remote_addr` at its end.
  const list = lastForwarded(fields.get('proxy_add_x_forwarded_for'))
  return list === undefined
    ? { client: peer, client_port: fields.get('realip_remote_port') }
    : { client: list }
}

/** If several variables name one thing, the one that lost nothing counts: `$request` is the line as it was sent. */
function askedFor(fields: Fields): Pick<Logged, 'method' | 'uri' | 'path' | 'query' | 'host'> {
  const line = requestParts(textOf(fields.get('request')))
  const method = fields.get('request_method') ?? line.method
  const uri = line.uri ?? fields.get('request_uri')
  return {
    method,
    uri,
    path: fields.get('uri', 'document_uri'),
    query: fields.get('args', 'query_string'),
    host: targetOf({ method, uri })?.host ?? hostIn(fields),
  }
}

/**
 * `$http_host` is what was sent, with its port. `$host` is in small letters and without it, and another one if the request
 * had a whole URL, whose name counts (RFC 9112, section 3.2.2).
 */
function hostIn(fields: Fields): Value {
  const [header, chosen] = [fields.get('http_host'), fields.get('host')]
  const isSame = chosen === undefined || nameOf(header) === nameOf(chosen)
  const asked = header !== undefined && isSame ? header : (nameIn(chosen) ?? header)
  return (
    asked ?? fields.get('ssl_server_name', 'ssl_preread_server_name') ?? nameIn(fields.get('server_name'))
  )
}

const nameOf = (host: Value): string =>
  splitHost(String(host ?? ''))
    .name.toLowerCase()
    .replace(/\.$/, '')

/** `$host` is `$server_name` if a request has no host, and that may be a catch-all, a wildcard or a regular expression. */
const nameIn = (host: Value): Value => (/^(?:_$|[~.])|\*/.test(String(host ?? '')) ? undefined : host)

/** nginx writes the line at the end of the request. `$msec` are seconds with three decimals. */
function endOf(fields: Fields): Time {
  const seconds = fields.number('msec')
  if (seconds !== undefined) return seconds * 1_000
  const local = textOf(fields.get('time_local'))
  return textOf(fields.get('time_iso8601')) ?? (local === undefined ? undefined : logTime(local))
}
