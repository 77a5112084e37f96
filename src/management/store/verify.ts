/** The check of a write after it is planned and before it is committed. */
import type { ViewState } from '../../words/view/view-state.js'
import type { Principal } from './change/change.js'
import type { CheckedWrite } from './change/plan.js'

export interface VerifiedWrite extends CheckedWrite {
  readonly accountId: string
  readonly principal: Principal
  /** The state of the account before the writes that are committed together with this one. */
  readonly base: ViewState
}

/** Rejects to refuse the write; it is called again if the write is planned again. */
export type VerifyWrite = (write: VerifiedWrite) => Promise<void>
