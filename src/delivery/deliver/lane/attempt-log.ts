/** The part of the log that a lane calls: the outcome of each request, and events that were given up. */
import type { Fault } from '../../outgoing/fault-class.js'
import type { SendOutcome } from '../kind/sender.js'
import type { Item } from './job.js'

export interface AttemptLog {
  /** A request that began at this time was answered, or failed. */
  requested(items: readonly Item[], outcome: SendOutcome, beganMs: number): void
  deadLettered(item: Item, fault: Fault): void
}
