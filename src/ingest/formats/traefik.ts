import { ok } from '../../core/errors.js'
import type { Format } from '../format.js'
import { commonNameIn, jsonLine } from '../values.js'
import { combined } from './combined.js'

/** Traefik's access log: JSON, or its default, which begins like the Combined Log Format. */
export const traefik: Format = {
  name: 'traefik',
  about: "Traefik's access log, in JSON or its default, which needs --server-name",
  read(line) {
    if (!line.startsWith('{')) return combined.read(line)
    const parsed = jsonLine(line)
    if (!parsed.ok) return parsed
    const fields = parsed.value
    return ok({
      client: fields.get('ClientHost', 'ClientAddr'),
      client_port: fields.get('ClientPort'),
      host: fields.get('RequestAddr', 'RequestHost'),
      port: fields.get('RequestPort'),
      scheme: fields.get('RequestScheme'),
      start: fields.get('StartUTC', 'StartLocal', 'time') as string | undefined,
      ...{ method: fields.get('RequestMethod'), uri: fields.get('RequestPath') },
      user_agent: fields.get('request_User-Agent'),
      request_bytes: fields.get('RequestContentSize'),
      response_bytes: fields.get('DownstreamContentSize'),
      status: fields.get('DownstreamStatus', 'OriginStatus'),
      ...{ tls_version: tlsName(fields.get('TLSVersion')), tls_cipher: fields.get('TLSCipher') },
      client_cn: commonNameIn(fields.get('TLSClientSubject')),
      username: fields.get('ClientUsername'),
    })
  },
}

/** Traefik writes `1.3`. */
const tlsName = (version: string | number | null | undefined): string | undefined =>
  version === undefined || version === null ? undefined : `TLSv${version}`
