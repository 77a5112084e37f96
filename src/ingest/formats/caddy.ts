import { ok, problem } from '../../core/errors.js'
import { commonNameOf, type Format, jsonLine } from '../format.js'

/** Numbers of RFC 8446, section 4.1.2, as Go's crypto/tls writes them. */
const tlsVersions: ReadonlyMap<unknown, string> = new Map([
  [0x0301, 'TLSv1'],
  [0x0302, 'TLSv1.1'],
  [0x0303, 'TLSv1.2'],
  [0x0304, 'TLSv1.3'],
])

/** Caddy's own access log. It writes the line at the end of the request. */
export const caddy: Format = {
  name: 'caddy',
  about: "Caddy's access log in JSON, its default where the output is not a terminal",
  read(line) {
    const parsed = jsonLine(line)
    if (!parsed.ok) return parsed
    const entry = parsed.value
    const request = entry.within('request')
    if (request.get('method') === undefined)
      return problem('It is not a line of the access log: it has no request.')
    const [headers, tls] = [request.within('headers'), request.within('tls')]
    const end = entry.number('ts')
    const seconds = entry.number('duration') ?? 0
    return ok({
      client: request.get('client_ip', 'remote_ip', 'remote_addr'),
      // The port of a proxy is not the client's.
      client_port: [undefined, request.get('remote_ip')].includes(request.get('client_ip'))
        ? request.get('remote_port')
        : undefined,
      host: request.get('host'),
      scheme: tls.get('version', 'cipher_suite') === undefined ? 'http' : 'https',
      start: end === undefined ? (entry.get('ts') as string | undefined) : Math.round((end - seconds) * 1000),
      ...{ method: request.get('method'), uri: request.get('uri') },
      user_agent: headers.within('User-Agent').get('0'),
      ...{
        request_bytes: entry.get('bytes_read'),
        response_bytes: entry.get('size'),
        status: entry.get('status'),
      },
      tls_version: tlsVersions.get(tls.get('version')),
      client_cn: commonNameOf(tls.get('client_subject')) ?? tls.get('client_common_name'),
      username: entry.get('user_id'),
    })
  },
}
