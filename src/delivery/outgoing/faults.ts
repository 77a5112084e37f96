/** Faults that any kind of destination can have, and the form of all of them. */
import { messageOf } from '../../ground/core/errors.js'
import type { Fault, FaultClass } from './fault-class.js'
import { privateNetworkCode, unknownHostCode } from './private-networks.js'

const messageCharsMax = 500

/** Messages of AWS may contain key ids, tokens and signatures. */
const secrets =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b|(?<=Signature=|SecretAccessKey=|SessionToken=|Security-Token:)\S+|\b[0-9a-f]{64}\b/gi

const safeMessage = (message: string, charsMax: number): string =>
  message.replaceAll(secrets, '…').replaceAll(/\s+/g, ' ').trim().slice(0, charsMax)

/** A code that a server chose may be any text: it becomes part of headers, rows and answers. */
const codeForm = /^[\w.:-]{1,128}$/

/** A fault with a message in one line, without what looks like a secret, and not too long. */
export function fault(
  faultClass: FaultClass,
  code: string,
  message: string,
  requestId?: string,
  charsMax = messageCharsMax,
): Fault {
  const short = codeForm.test(code) ? code : 'Unknown'
  const named = { class: faultClass, code: short, msg: safeMessage(message, charsMax) || short }
  return requestId === undefined ? named : { ...named, requestId }
}

/** The code for a request that was not answered in time. */
export const timeoutCode = 'Timeout'
/** The code for a server that ended a connection, which it had accepted. */
export const closedCode = 'ConnectionClosed'

/** The fault of a request that `withDeadline` or a client gave up; undefined for other errors. */
export function interruptionOf(error: unknown): Fault | undefined {
  const name = error instanceof Error ? error.name : ''
  if (name === 'AbortError') return fault('transient', 'Aborted', 'The request was aborted.')
  return name === 'TimeoutError' ? fault('transient', timeoutCode, 'No answer arrived in time.') : undefined
}

/** Codes of OpenSSL and Node for a certificate or a protocol that is not accepted. */
const tlsCodes =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|EPROTO$)|SELF_SIGNED|UNABLE_TO_|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH/

/** The first code among an error and its causes. */
function codeIn(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : codeIn(error.cause)
}

/** Why there is no connection to a server that an account names, or no longer. */
export function connectionFault(error: unknown): Fault {
  const interruption = interruptionOf(error)
  if (interruption !== undefined) return interruption
  // If several addresses of a host were tried, each has an error of its own.
  const reason: unknown = error instanceof AggregateError ? error.errors[0] : error
  const [code, message] = [codeIn(error) || codeIn(reason), messageOf(reason)]
  if (code === privateNetworkCode) return fault('configuration', code, message)
  // A name that can't be resolved now may be resolved later: its server or the way to it may be away.
  if (code === unknownHostCode) return fault('transient', code, message)
  if (tlsCodes.test(code)) return fault('configuration', 'TlsFailed', `${code}: ${message}`)
  return fault('transient', 'ConnectionLost', code === '' ? message : `${code}: ${message}`)
}

/** Did a service answer, as far as the fault shows? The codes are those of this file and of lanes. */
export const isAnswer = ({ code }: Fault): boolean =>
  ![timeoutCode, unknownHostCode, closedCode, 'Aborted', 'ConnectionLost', 'Paused', 'Defect'].includes(code)
