/** The class of a destination's fault: how sending goes on after it. */

/**
 * - `throttle`: the service asks for less load: send the failed events again later, and fewer at once.
 * - `transient`: try again. After a timeout, the events may have been delivered.
 * - `credentials`: the credentials are refused: fetch them again once, then wait.
 * - `configuration`: access is denied or the target is missing: wait until a person changes it.
 * - `poison`: the events themselves are refused; sending them again can't help.
 */
export type FaultClass = 'throttle' | 'transient' | 'credentials' | 'configuration' | 'poison'

/** Why a request failed, or a part of it. */
export interface Fault {
  readonly class: FaultClass
  /** AWS's name of the error, or our own: `Timeout`, `ConnectionLost`. */
  readonly code: string
  /** One sentence without secrets. */
  readonly msg: string
  readonly requestId?: string
  /** The service wants no request before this time has passed (`Retry-After`). */
  readonly retryAfterMs?: number
}
