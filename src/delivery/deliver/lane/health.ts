/** The state of a destination, as its `status` shows it. */
import { isoMillis, now } from '../../../ground/core/clock.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import type { LastOutcomes, Usage } from '../../wire/delivery-attempts.js'
import type { DestinationConfig } from '../kind/destination.js'

export type LaneState = 'healthy' | 'throttled' | 'failing' | 'paused'

/** The cause of a pause that someone asked for, and that ends when someone resumes the destination. */
export const pausedByHand = 'paused by hand'

/** Wire names: these are members of `GET /event_destinations/{id}/status`. */
export interface LaneStatus extends LastOutcomes {
  readonly state: LaneState
  /** The class of the fault that led to the state, or that someone paused the destination; null when healthy. */
  readonly cause: FaultClass | typeof pausedByHand | null
  readonly since: string
}

/** The status of a destination to which this process has sent nothing, since a time in milliseconds since the epoch. */
export const healthySince = (ms: number): LaneStatus => ({
  state: 'healthy',
  cause: null,
  since: isoMillis(ms),
  last_success_at: null,
  last_error: null,
})

/** A deliverer's answer about a destination. */
export interface LaneReport extends LaneStatus {
  /** Earlier versions do not report it. */
  readonly usage?: Usage | undefined
  /** Events accepted per second, over about the last minute. Earlier versions do not report it. */
  readonly rate?: number | undefined
}

/** The state of a destination in one process, among those of others. */
export interface StateReport extends Pick<LaneStatus, 'state' | 'cause' | 'since'> {
  readonly destination_id: string
  /** Was anything accepted since the process started? A lane is healthy until it has tried. */
  readonly has_succeeded: boolean
}

/** A `failing` lane keeps trying; a `paused` one waits for credentials, configuration or a person. */
const stateOf: Record<FaultClass, LaneState> = {
  throttle: 'throttled',
  transient: 'failing',
  credentials: 'paused',
  configuration: 'paused',
  poison: 'paused',
}

export class Health {
  readonly #changed: (status: LaneStatus) => void
  #state: LaneState = 'healthy'
  #cause: FaultClass | null = null
  #sinceMs = now()
  #lastSuccessMs: number | undefined
  #lastError: { atMs: number; fault: Fault } | undefined

  constructor(changed: (status: LaneStatus) => void) {
    this.#changed = changed
  }

  get paused(): boolean {
    return this.#state === 'paused'
  }

  /** Asked for each pack, for which `status` would take too long. */
  get isHealthy(): boolean {
    return this.#state === 'healthy'
  }

  /** A request was accepted; `recovered`: no event waits to be sent again. */
  accepted(recovered: boolean): void {
    this.#lastSuccessMs = now()
    if (recovered) this.#enter('healthy', null)
  }

  /** Remembers a fault that does not change the state by itself. */
  note(fault: Fault): void {
    this.#lastError = { atMs: now(), fault }
  }

  suffer(fault: Fault): void {
    this.note(fault)
    this.#enter(stateOf[fault.class], fault.class)
  }

  status(): LaneStatus {
    const { fault, atMs = 0 } = this.#lastError ?? {}
    return {
      state: this.#state,
      cause: this.#cause,
      since: isoMillis(this.#sinceMs),
      last_success_at: this.#lastSuccessMs === undefined ? null : isoMillis(this.#lastSuccessMs),
      last_error: fault === undefined ? null : { at: isoMillis(atMs), code: fault.code, msg: fault.msg },
    }
  }

  #enter(state: LaneState, cause: FaultClass | null): void {
    if (state === this.#state && cause === this.#cause) return
    this.#state = state
    this.#cause = cause
    this.#sinceMs = now()
    this.#changed(this.status())
  }
}

/** Logs and counts that the state of a destination has changed. */
export function reportState(
  occurrences: Occurrences,
  { id, kind }: Pick<DestinationConfig, 'id' | 'kind'>,
  { state, cause, last_error }: LaneStatus,
): void {
  const fields = { target: kind, destination_id: id, state, cause, last_error }
  if (cause === pausedByHand) occurrences.destinationPausedByHand(fields)
  else if (state === 'healthy') occurrences.destinationHealthy(fields)
  else if (state === 'paused') occurrences.destinationPaused(fields)
  else occurrences.destinationStruggles(fields)
}
