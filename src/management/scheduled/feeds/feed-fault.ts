/** Why a list could not be fed by its source. */
import { messageOf, WeirError } from '../../../ground/core/errors.js'
import type { FeedErrorCode } from '../../../words/resource/fields/ip-list-source.js'

const messageCharsMax = 1_500

export class FeedFault extends Error {
  override readonly name = 'FeedFault'
  readonly code: FeedErrorCode
  /** The server wants no request before; in milliseconds from now. */
  readonly retryAfterMs: number | undefined

  /** `message`: one sentence. */
  constructor(code: FeedErrorCode, message: string, retryAfterMs?: number) {
    super(message.slice(0, messageCharsMax))
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

const codes: Readonly<Partial<Record<WeirError['code'], FeedErrorCode>>> = {
  ERR_INVALID_REQUEST: 'invalid',
  ERR_INVALID_JSON: 'invalid',
  ERR_BODY_TOO_LARGE: 'too_large',
  ERR_CONFLICT: 'refused',
  ERR_POLICY_TEST: 'policy_test',
  ERR_LOCKOUT: 'lockout',
  ERR_UNAVAILABLE: 'unavailable',
}

/** The fault of entries whose reading or write was refused. Other errors are defects, whose text is for the log alone. */
export function feedFaultOf(error: unknown): FeedFault {
  if (error instanceof FeedFault) return error
  const code = error instanceof WeirError ? codes[error.code] : undefined
  return code === undefined
    ? new FeedFault('internal', 'Internal error. Search the log for the id of the list.')
    : // The status of a list has no room for the details of all its lines.
      new FeedFault(code, messageOf(error).replace(/: see "details"\.$/, '.'))
}
