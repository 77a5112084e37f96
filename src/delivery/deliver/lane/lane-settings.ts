/** The settings of a lane, and the functions it calls. */

import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import type { DestinationConfig } from '../kind/destination.js'
import type { Sender } from '../kind/sender.js'
import type { AttemptLog } from './attempt-log.js'
import { backoffs } from './backoff.js'
import type { LaneStatus } from './health.js'
import type { HoldingBudget } from './held-packs.js'
import type { PaceSettings } from './pace.js'
import type { EndSettings } from './under-way.js'

export interface LaneSettings extends PaceSettings, EndSettings {
  readonly backoffs: typeof backoffs
}

export const laneSettings: LaneSettings = {
  concurrencyMax: 4,
  // A service that works again is noticed within half a minute, at two to four requests a minute until then.
  probeMinMs: 15_000,
  probeMaxMs: 30_000,
  closeTimeoutMs: 5_000,
  abortTimeoutMs: 1_000,
  backoffs,
}

export interface LaneDeps {
  readonly open: (config: DestinationConfig) => Sender
  /** Resolves when the event is stored as a dead letter; if it rejects, the pack is given back. */
  readonly deadLetter: (event: PackedEvent, fault: Fault) => Promise<void>
  /** For packs that stay while the lane can't deliver. */
  readonly budget: HoldingBudget
  /** Can the lane get no more events before some of those that it has are done? Then it waits for none. */
  readonly isFull?: () => boolean
  readonly log?: AttemptLog
  /** Told of an error that no one expects. */
  readonly defect?: (error: unknown) => void
  /** Called whenever the state or its cause changes. */
  readonly changed?: (status: LaneStatus) => void
  readonly settings?: Partial<LaneSettings>
}

/** After this many refusals in a row without an accepted event, the events are not at fault. */
export const refusalsInARowMax = 8
