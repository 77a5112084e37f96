import type { Principal } from '../store/change.js'

/** Whoever makes a request. */
export interface Caller {
  readonly accountId: string
  readonly principal: Principal
  /** Of an account that is being made, and that no view knows yet. */
  readonly accountName?: string
  /** The address requests come from; undefined for the command line, which can't lock itself out. */
  readonly address: string | undefined
}
