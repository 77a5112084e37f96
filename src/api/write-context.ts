import type { ApiContext } from '../http/context.js'
import type { Writes } from '../write/writes.js'

/** What routes that change resources use besides. */
export interface WriteContext extends ApiContext {
  readonly writes: Writes
}
