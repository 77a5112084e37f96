/** The delivery of an event to a destination, from the log of deliveries. */
import { isoMillis } from '../../ground/core/clock.js'
import { type EventDelivery, type EventRequest, requestsShownMax } from '../../words/shape/traced-record.js'
import type { Attempt } from '../store/logs/delivery-reader.js'

interface Circumstances {
  /** Does the destination exist? */
  readonly isKnown: boolean
  /** Has the log every attempt, also those that delivered? */
  readonly isLogComplete: boolean
}

/**
 * The end of an event at one destination, from the attempts in the log. `attempts`: those with the event, oldest
 * first.
 */
export function deliveryOf(
  destinationId: string,
  attempts: readonly Attempt[],
  circumstances: Circumstances,
): EventDelivery {
  // An event may be sent again after it was delivered, because an acknowledgement was lost.
  const end =
    attempts.find(({ outcome }) => outcome === 'delivered') ??
    attempts.findLast(({ outcome }) => outcome === 'dead_lettered')
  const last = end ?? attempts.at(-1)
  const failure = attempts.findLast(({ outcome }) => outcome !== 'delivered')
  return {
    destination_id: destinationId,
    state: stateOf(end ?? last, circumstances),
    at: last === undefined ? null : isoMillis(last.at),
    request_id: last?.requestId || null,
    receipt: last?.receipt || null,
    shard: last?.shard || null,
    attempts: attempts.filter(({ outcome }) => outcome !== 'dead_lettered').length,
    last_error:
      failure === undefined
        ? null
        : { at: isoMillis(failure.at), code: failure.errorCode, msg: failure.error },
    requests: attempts.slice(-requestsShownMax).toReversed().map(requestOf),
  }
}

const requestOf = ({ at, tookMs, outcome, requestId, errorCode, error }: Attempt): EventRequest => ({
  at: isoMillis(at),
  took_ms: tookMs,
  outcome,
  request_id: requestId || null,
  error: outcome === 'delivered' ? null : { code: errorCode, msg: error },
})

function stateOf(
  last: Attempt | undefined,
  { isKnown, isLogComplete }: Circumstances,
): EventDelivery['state'] {
  if (last !== undefined && last.outcome !== 'failed') return last.outcome
  // An attempt that delivered the event would not be in the log.
  if (!isLogComplete) return 'unknown'
  if (!isKnown) return 'dropped'
  return last === undefined ? 'pending' : 'retrying'
}
