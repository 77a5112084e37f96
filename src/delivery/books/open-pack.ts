import type { PackSummary } from '../wire/pack.js'

/** A pack that is not delivered yet. Part of stored snapshots: some members are missing in older ones. */
export interface OpenPack {
  /** Events that this pack counts. */
  readonly events: number
  /** The messages whose events count; null if all of the pack's do. */
  readonly sequences: readonly number[] | null
  /**
   * The sequence of its message in the stream of deliveries. Missing, like its summary, if only its delivery was entered.
   */
  readonly sequence?: number | undefined
  /** The partition of this stream; missing: 0. */
  readonly partition?: number | undefined
  /** All its events, also those that it does not count. */
  readonly kinds?: PackSummary['kinds'] | undefined
  readonly first?: number | undefined
  readonly last?: number | undefined
}
