/** Faults that any kind of destination can have, and the form of all of them. */
import type { Fault, FaultClass } from './destination.js'

const messageCharsMax = 500

/** Messages of AWS may contain key ids, tokens and signatures. */
const secrets =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b|(?<=Signature=|SecretAccessKey=|SessionToken=|Security-Token:)\S+|\b[0-9a-f]{64}\b/gi

const safeMessage = (message: string, charsMax: number): string =>
  message.replaceAll(secrets, '…').replaceAll(/\s+/g, ' ').trim().slice(0, charsMax)

/** A fault with a message in one line, without what looks like a secret, and not too long. */
export function fault(
  faultClass: FaultClass,
  code: string,
  message: string,
  requestId?: string,
  charsMax = messageCharsMax,
): Fault {
  const named = { class: faultClass, code, msg: safeMessage(message, charsMax) || code }
  return requestId === undefined ? named : { ...named, requestId }
}

/** The code for a request that was not answered in time. */
export const timeoutCode = 'Timeout'

/** The fault of a request that `withDeadline` or a client gave up; undefined for other errors. */
export function interruptionOf(error: unknown): Fault | undefined {
  const name = error instanceof Error ? error.name : ''
  if (name === 'AbortError') return fault('transient', 'Aborted', 'The request was aborted.')
  return name === 'TimeoutError' ? fault('transient', timeoutCode, 'No answer arrived in time.') : undefined
}

/** An event that no request can hold. */
export const tooLarge: Fault = {
  class: 'poison',
  code: 'TooLarge',
  msg: 'The event exceeds the limit of the service.',
}
