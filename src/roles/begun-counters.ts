/**
 * Counters whose labels have values that rooms declare: each role begins those that it counts, because an increase is seen
 * only from a value that was there before. A call with 0 logs nothing. Values that are no one's declaration stand in the
 * tables of `core/telemetry`.
 */

import { destinationKinds } from '../delivery/deliver/kinds.js'
import type { PartitionSet } from '../delivery/wire/partitions.js'
import type { Occurrences } from '../ground/core/telemetry/occurrences.js'

/** Of a role that looks at the versions of others. */
export function beginVersionCounters(occurrences: Occurrences, role: string): void {
  occurrences.roleWaits({ role, reason: '' }, 0)
  occurrences.roleWaitEnded({ role }, 0)
  occurrences.rolesUnheard({ role }, 0)
}

/** `kinds`: those of traffic events. */
export function beginPipelineCounters(
  occurrences: Occurrences,
  kinds: readonly { readonly name: string }[],
  { all }: PartitionSet,
): void {
  for (const { name: kind } of kinds) occurrences.filterFailed({ kind }, 0)
  for (const { recordsStream } of all) occurrences.inputRemoved({ stream: recordsStream }, 0)
}

export function beginDeliverCounters(occurrences: Occurrences): void {
  for (const { name: target, aws } of destinationKinds) {
    for (const { name: unit } of aws?.billing ?? []) occurrences.billingUnits({ target, unit }, 0)
    occurrences.eventsDelivered({ target }, 0)
    occurrences.eventsRetried({ target }, 0)
    occurrences.eventDeadLettered({ target }, 0)
    occurrences.destinationHealthy({ target }, 0)
    occurrences.destinationStruggles({ target }, 0)
    occurrences.destinationPausedByHand({ target }, 0)
    occurrences.destinationPaused({ target }, 0)
  }
}
