import { ok, problem } from '../../core/errors.js'
import { type Format, type Logged, logTime, textOf } from '../format.js'
import { requestParts } from './combined.js'

/** Client, time, frontend, backend: what all of HAProxy's formats begin with, also behind `haproxy[12]: ` of syslog. */
const head = String.raw`^(?:.*?haproxy(?:\[\d+\])?: )?(?<client>\S+):(?<port>\d+) \[(?<time>[^\]]+)\] (?<frontend>\S+) \S+`
const tcp = new RegExp(
  String.raw`${head} -?\d+\/-?\d+\/\+?(?<total>-?\d+) \+?(?<bytes>\d+) \S\S \d+(?:\/\d+)+ \d+\/\d+(?<rest> .*)?$`,
)
const http = new RegExp(
  String.raw`${head} -?\d+(?:\/-?\d+){3}\/\+?-?\d+ (?<status>-?\d+) \+?(?<bytes>\d+) \S+ \S+ \S{4} \d+(?:\/\d+)+ \d+\/\d+(?: \{(?<captured>[^}|]*)(?:\|[^}]*)?\}(?: \{[^}]*\})?)? "(?<request>[^"]*)"?(?<rest> .*)?$`,
)
/** What `option httpslog` adds: `0/0000000000000000/0/0/0 www.example.com/TLSv1.3/TLS_AES_256_GCM_SHA384`. */
const tls = /(?:^| )(?<sni>[^\s/]+)\/(?<version>TLSv[\d.]+|SSLv\d|-)\/(?<cipher>[\w-]+)$/

/** The first header that is captured of a request is taken for the host, if it may be one. */
const hostForm = /^(?=.*[a-z.:])(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i

/** `option httplog`, `option httpslog` and `option tcplog`. */
export const haproxy: Format = {
  name: 'haproxy',
  about:
    'option httplog, httpslog or tcplog, also with the head of syslog; --server-name where no name is logged',
  read(line) {
    const match = http.exec(line)?.groups ?? tcp.exec(line)?.groups
    if (match === undefined) return problem('It is not a line of option httplog, httpslog or tcplog.')
    const { sni, version, cipher } = tls.exec(match['rest'] ?? '')?.groups ?? {}
    const captured = hostForm.test(match['captured'] ?? '') ? match['captured'] : undefined
    const common = {
      ...{
        client: match['client'],
        client_port: match['port'],
        start: logTime(match['time']!),
        host: textOf(sni) ?? captured,
      },
      ...{ tls_version: version, tls_cipher: cipher },
    }
    return ok(match['request'] === undefined ? connectionOf(common, match) : requestOf(common, match))
  },
}

function connectionOf(common: Logged, { total, bytes }: Readonly<Record<string, string>>): Logged {
  const { start } = common
  const end = typeof start === 'number' ? start + Math.max(0, Number(total)) : undefined
  return { ...common, type: 'tcp_connection', end, bytes_out: bytes }
}

function requestOf(
  common: Logged,
  { frontend = '', status, bytes, request }: Readonly<Record<string, string>>,
): Logged {
  const [method, uri] = requestParts(request)
  // HAProxy marks a frontend with TLS.
  const scheme = frontend.endsWith('~') ? 'https' : 'http'
  return { ...common, scheme, status, response_bytes: bytes, method, uri }
}
