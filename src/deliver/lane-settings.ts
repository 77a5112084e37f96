/** What a lane is told: its bounds, and the functions it calls. */

import type { PackedEvent } from '../wire/pack.js'
import { backoffs } from './backoff.js'
import type { DestinationConfig, Fault, Sender } from './destination.js'
import type { LaneStatus } from './health.js'
import type { HoldingBudget } from './held-packs.js'
import type { PaceSettings } from './pace.js'
import type { EndSettings } from './under-way.js'

export interface LaneSettings extends PaceSettings, EndSettings {
  readonly backoffs: typeof backoffs
}

export const laneSettings: LaneSettings = {
  concurrencyMax: 4,
  probeMinMs: 30_000,
  probeMaxMs: 60_000,
  closeTimeoutMs: 5_000,
  abortTimeoutMs: 1_000,
  backoffs,
}

export interface LaneDeps {
  readonly open: (config: DestinationConfig) => Sender
  /** Resolves once the event is stored among the dead letters; where it can't be, its pack is given back. */
  readonly deadLetter: (event: PackedEvent, fault: Fault) => Promise<void>
  /** For packs that stay while nothing is delivered. */
  readonly budget: HoldingBudget
  /** Called whenever the state or its cause changes. */
  readonly changed?: (status: LaneStatus) => void
  readonly settings?: Partial<LaneSettings>
}

/** Refusals in a row, with nothing accepted in between, after which it is not the events that are at fault. */
export const refusalsInARowMax = 8
