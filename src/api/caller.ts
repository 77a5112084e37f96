/** Whoever makes a request, and whether they still may when their change is planned. */
import { WeirError } from '../core/errors.js'
import type { Principal } from '../store/change.js'
import type { ViewState } from '../view/view-state.js'

export interface Caller {
  readonly accountId: string
  readonly principal: Principal
  /** Of an account that is being made, and that no view knows yet. */
  readonly accountName?: string
  /** The address requests come from; undefined for the command line, which can't lock itself out. */
  readonly address: string | undefined
}

export const unauthenticated = (message: string): WeirError => new WeirError('ERR_UNAUTHENTICATED', message)

/** The token is no key's, or no longer. */
export const invalidKey = (): WeirError => unauthenticated('The API key is not valid.')

/**
 * The plan, refused where the caller's key is gone from the state it is made against. What was true when the request
 * came in is not enough: two keys that delete each other at the same time would leave an account without any.
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
