/** Why a message that is not Weir's own was not confirmed, or why there is no connection to the server. */
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/nats-core'
import { messageOf } from '../core/errors.js'
import { isStorageFull } from './retry.js'
import { NotNatsError } from './server-messages.js'

type RefusalCode =
  | 'Unauthorized'
  | 'PermissionDenied'
  /** No stream takes the subject, or JetStream has no leader at the moment. */
  | 'NoStream'
  | 'StreamFull'
  | 'TooLarge'
  | 'TooManyRequests'
  | 'Timeout'
  | 'NotNats'
  | 'ConnectionLost'
  /** Any other answer of JetStream. */
  | 'JetStreamRefused'
  | 'JetStreamUnavailable'

export interface Refusal {
  readonly code: RefusalCode
  readonly message: string
}

export const refusal = (code: RefusalCode, message: string): Refusal => ({ code, message })

/** JetStream's error codes, from the server's errors.json. */
const codesOfJetStream = new Map<number, RefusalCode>([
  [10054, 'TooLarge'],
  [10008, 'JetStreamUnavailable'],
  [10167, 'TooManyRequests'],
])

const codeOfJetStream = (error: JetStreamApiError): RefusalCode =>
  codesOfJetStream.get(error.code) ?? (isStorageFull(error) ? 'StreamFull' : 'JetStreamRefused')

/** The key of a login cannot be read. */
export class UnreadableLoginError extends Error {}

/** In the order of the tests: the library wraps the error of a request. */
function codeOf(error: unknown): RefusalCode {
  if (error instanceof JetStreamApiError) return codeOfJetStream(error)
  if (error instanceof UnreadableLoginError) return 'Unauthorized'
  if (error instanceof NotNatsError) return 'NotNats'
  if (error instanceof errors.AuthorizationError) return 'Unauthorized'
  if (error instanceof errors.UserAuthenticationExpiredError) return 'Unauthorized'
  if (error instanceof errors.PermissionViolationError) return 'PermissionDenied'
  if (error instanceof errors.NoRespondersError) return 'NoStream'
  if (error instanceof errors.TimeoutError) return 'Timeout'
  if (error instanceof errors.InvalidArgumentError && /payload/.test(error.message)) return 'TooLarge'
  if (error instanceof SyntaxError) return 'NoStream'
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : 'ConnectionLost'
}

const messages: Partial<Record<RefusalCode, string>> = {
  NoStream: 'No stream takes the subject.',
  Timeout: 'No answer arrived in time.',
}

export function refusalOf(error: unknown): Refusal {
  const code = codeOf(error)
  return { code, message: messages[code] ?? messageOf(error) }
}
