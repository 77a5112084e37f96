/** Why a server could not be connected to, or the connection was lost. */
import { messageOf } from '../core/errors.js'
import type { Fault } from './destination.js'
import { fault, interruptionOf } from './faults.js'

/** Node's codes for a certificate that is not accepted, or a server that does not speak TLS. */
const tlsCodes = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_|HOSTNAME_|EPROTO)/

/** The first code among an error and its causes. */
function codeIn(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : codeIn(error.cause)
}

/** What a person must change is a matter of configuration; a name that does not resolve may do so later. */
export function connectionFault(error: unknown): Fault {
  const interrupted = interruptionOf(error)
  if (interrupted !== undefined) return interrupted
  const code = codeIn(error)
  if (code === 'PrivateNetwork') return fault('configuration', code, messageOf(error))
  if (code === 'ENOTFOUND')
    return fault('transient', 'UnknownHost', `The host is unknown: ${messageOf(error)}.`)
  if (tlsCodes.test(code)) return fault('configuration', 'TlsFailed', `${code}: ${messageOf(error)}`)
  return fault('transient', 'ConnectionLost', code === '' ? messageOf(error) : `${code}: ${messageOf(error)}`)
}
