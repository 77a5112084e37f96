/** What is checked of a write after it is planned and before it is committed. */
import type { Row } from '../resource/define.js'
import type { ViewState } from '../view/view-state.js'
import type { Principal, Put, Removal } from './change.js'

export interface VerifiedWrite {
  readonly accountId: string
  readonly principal: Principal
  /** The state of the account before the writes that are committed together with this one. */
  readonly base: ViewState
  /** The state that the write was planned with. */
  readonly state: ViewState
  readonly puts: readonly Put[]
  readonly removals: readonly Removal[]
  /** All rules of a policy after the write, if it replaces them. */
  readonly rules?: { readonly policyId: string; readonly rules: readonly Row[] } | undefined
}

/** Rejects to refuse the write; it is called again if the write is planned again. */
export type VerifyWrite = (write: VerifiedWrite) => Promise<void>
