/** Interprets the outcome of a request for each of its events. */

import type { Fault } from '../../outgoing/fault-class.js'
import type { Receipt, Rejection, SendAnswer, SendOutcome, Suspects } from './sender.js'

/** An event that no request can hold. */
export const tooLarge: Fault = {
  class: 'poison',
  code: 'TooLarge',
  msg: 'The event exceeds the limit of the service.',
}

/** The events of an answered request that the service did not accept. */
export function notAcceptedIn(answer: SendAnswer): Set<number> {
  if (answer.outcome === 'accepted') return new Set()
  const { retry, rejected, suspects } = answer
  return new Set([...retry, ...rejected.map(({ index }) => index), ...(suspects?.indices ?? [])])
}

/** The items of an answered request whose events the service accepted. */
export function acceptedOf<T>(items: readonly T[], answer: SendAnswer): readonly T[] {
  if (answer.outcome === 'accepted') return items
  const notAccepted = notAcceptedIn(answer)
  return items.filter((_, index) => !notAccepted.has(index))
}

/** Why events of a request failed. There may be several reasons; for people, one is enough. */
export function faultIn(outcome: SendOutcome): Fault | undefined {
  if (outcome.outcome === 'accepted') return undefined
  if (outcome.outcome === 'failed') return outcome.fault
  return outcome.reason ?? outcome.suspects?.fault ?? outcome.rejected[0]?.fault
}

/** How many events of a request were throttled. */
export function throttledIn(outcome: SendOutcome, events: number): number {
  if (outcome.outcome === 'accepted') return 0
  if (outcome.outcome === 'failed') return outcome.fault.class === 'throttle' ? events : 0
  return outcome.reason?.class === 'throttle' ? outcome.retry.length : 0
}

/** Events that were not accepted, and share the reason. */
export interface Group {
  readonly indices: readonly number[]
  readonly fault: Fault
}

/**
 * The outcome of a request that was answered group by group. If no event was accepted, the events may not be at fault, but
 * the target: then the whole request has failed, and the lane finds out by sending parts of it.
 */
export function outcomeOfGroups(count: number, groups: readonly Group[], receipt: Receipt = {}): SendOutcome {
  if (groups.length === 0) return { outcome: 'accepted', ...receipt }
  const retry: number[] = []
  const rejected: Rejection[] = []
  let suspects: Suspects | undefined
  let reason: Fault | undefined
  for (const { indices, fault } of groups) {
    const [first, ...others] = indices
    if (fault.class === 'poison' && others.length === 0) rejected.push({ index: first!, fault })
    else if (fault.class === 'poison' && suspects === undefined) suspects = { indices, fault }
    else {
      retry.push(...indices)
      reason ??= fault
    }
  }
  const refused = rejected.length + (suspects?.indices.length ?? 0)
  if (retry.length + refused === count)
    return { outcome: 'failed', fault: reason ?? suspects?.fault ?? rejected[0]!.fault }
  return partial({ retry, rejected, suspects, reason }, receipt)
}

interface NotAccepted {
  readonly retry: readonly number[]
  readonly rejected: readonly Rejection[]
  readonly suspects: Suspects | undefined
  readonly reason: Fault | undefined
}

/**
 * Events of groups, and of records that were filled at the same time, are interleaved: they are tried again in their order.
 */
export const partial = (
  { retry, rejected, suspects, reason }: NotAccepted,
  receipt: Receipt,
): SendOutcome => ({
  outcome: 'partial',
  retry: retry.toSorted((a, b) => a - b),
  rejected,
  ...(suspects !== undefined && { suspects }),
  ...(reason !== undefined && { reason }),
  ...receipt,
})

/** The same for a request that was answered event by event. */
export const outcomeOfEach = (
  count: number,
  failed: readonly Rejection[],
  receipt: Receipt = {},
): SendOutcome =>
  outcomeOfGroups(
    count,
    failed.map(({ index, fault }) => ({ indices: [index], fault })),
    receipt,
  )
