/** The caller of a request, and the check that its key still exists when its change is planned. */
import { WeirError } from '../../core/errors.js'
import { expiryOf, type KeyRight } from '../../resource/api-key.js'
import type { Row } from '../../resource/define.js'
import type { Principal } from '../../store/change.js'
import type { ViewState } from '../../view/view-state.js'

export interface Caller {
  readonly accountId: string
  readonly principal: Principal
  /** The API key's rights; without any, the caller may do everything. */
  readonly rights?: readonly KeyRight[] | null
  /** Set while the account is being created and no view knows it yet. */
  readonly accountName?: string
  /** The address of the request; undefined for the command line, which can't lock itself out. */
  readonly address: string | undefined
}

export const unauthenticated = (message: string): WeirError => new WeirError('ERR_UNAUTHENTICATED', message)

/** No key has this token, or the key was deleted. */
export const invalidKey = (): WeirError => unauthenticated('The API key is not valid.')

/** Only a caller with the key's token learns this. */
export const expiredKey = (key: Row): WeirError =>
  unauthenticated(`The API key ${key.id} expired at ${expiryOf(key)}: use another one.`)

/**
 * Refuses the plan if the caller's key is missing from the state that it is made against. Checking when the request
 * arrives is not enough: two keys that delete each other at the same time would leave the account without a key.
 */
export const whileKeyLasts =
  <Planning extends readonly unknown[], Planned>(
    { principal: { credentialId } }: Pick<Caller, 'principal'>,
    plan: (state: ViewState, ...planning: Planning) => Planned,
  ) =>
  (state: ViewState, ...planning: Planning): Planned => {
    if (credentialId !== null && state.rows.get('api_key')?.has(credentialId) !== true) throw invalidKey()
    return plan(state, ...planning)
  }
