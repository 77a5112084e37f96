/** Requests whose entries are accepted or refused one by one, with nothing between entry and event: SQS, EventBridge. */
import type { Fault, Receipt, Rejection, SendOutcome } from '../destination.js'

/** An entry that was not accepted. */
export type FailedEntry = Rejection

/** An entry that the answer does not mention: it may have been accepted. */
export const notMentioned: Fault = {
  class: 'transient',
  code: 'NoResult',
  msg: 'The answer has no result for the event.',
}

/**
 * The outcome of an answer with a result for each of so many entries. If none was accepted, the events may not be at fault,
 * but the target: then the whole request has failed, and the lane finds out by sending parts of it.
 */
export function outcomeOfEntries(
  count: number,
  failed: readonly FailedEntry[],
  receipt: Receipt,
): SendOutcome {
  const [first] = failed
  if (first === undefined) return { outcome: 'accepted', ...receipt }
  const passing = failed.filter(({ fault }) => fault.class !== 'poison')
  const reason = passing[0]?.fault
  if (failed.length === count) return { outcome: 'failed', fault: reason ?? first.fault }
  return {
    outcome: 'partial',
    retry: passing.map(({ index }) => index),
    rejected: failed.filter(({ fault }) => fault.class === 'poison'),
    ...(reason !== undefined && { reason }),
    ...receipt,
  }
}
