/** Why a connection over TLS was refused, in words of an operator: by Node's codes, which name OpenSSL's reasons. */
import { messageOf } from './errors.js'

/** The settings that would mend it; as they are named in the environment. */
interface TlsSettings {
  readonly ca: string
  readonly cert: string
}

/** A fault of the certificate that the server has, or of the authorities that are trusted here. */
const ofServer = new Map<string, (settings: TlsSettings) => string>(
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_SIGNATURE_FAILURE',
  ].map((code) => [code, ({ ca }) => `no authority that is trusted here (${ca}) signed its certificate`]),
)
ofServer.set('CERT_HAS_EXPIRED', () => 'its certificate, or that of its authority, has expired')
ofServer.set('CERT_NOT_YET_VALID', () => 'its certificate, or that of its authority, is not valid yet')
ofServer.set('ERR_TLS_CERT_ALTNAME_INVALID', () => 'its certificate is for another name')

/** A fault of the certificate that was shown to the server; it says so by an alert. */
const ofClient = new Map<string, string>([
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'it wants a client certificate'],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'it ended the handshake, and may want a client certificate'],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'it refused the client certificate, or wants one'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'the client certificate has expired'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', 'it refused the client certificate'],
  ['ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE', 'it refused the client certificate'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'it does not trust the authority of the client certificate'],
])

/** As the end of a sentence about the server; undefined if the error is another. */
export function certificateFault(error: unknown, settings: TlsSettings): string | undefined {
  const { code = '', cause } = error as { readonly code?: string; readonly cause?: unknown }
  const server = ofServer.get(code)?.(settings)
  if (server !== undefined) return `${server} (${messageOf(error)})`
  const client = ofClient.get(code)
  if (client !== undefined) return `${client} (${settings.cert})`
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not speak TLS'
  return cause === undefined ? undefined : certificateFault(cause, settings)
}
