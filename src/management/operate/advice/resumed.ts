/** Says what resuming an event destination did. */
import { type LaneStatus, pausedByHand } from '../../../delivery/deliver/lane/health.js'
import type { FaultClass } from '../../../delivery/outgoing/fault-class.js'
import type { DestinationPause } from '../../../words/resource/event-destination.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { Resumption } from '../../../words/shape/resumption.js'
import { adviceFor } from './delivery-advice.js'

/** One question proves no more. */
const unanswered =
  'No deliverer answered in time, so it was not tried now; its status shows whether that lasts.'

/**
 * `pausedAt`: the beginning of the pause by hand that has ended. `before`: the answers of deliverers when they began to try.
 */
export function resumptionOf(
  destination: Row,
  before: Pick<LaneStatus, 'state' | 'cause' | 'since' | 'last_error'> | undefined,
): Resumption {
  const pause = destination['paused'] as DestinationPause | null | undefined
  const none = { was_paused_by_hand: false, state: null, cause: null, tried_now: false }
  if (pause)
    return {
      ...none,
      was_paused_by_hand: true,
      tried_now: true,
      msg: `It was paused by hand at ${pause.at}; its events are sent from now on.`,
    }
  const notByHand = 'It was not paused by hand.'
  if (before === undefined) return { ...none, msg: `${notByHand} ${unanswered}` }
  const { state, cause, since, last_error } = before
  const found = { ...none, state, cause }
  if (cause === pausedByHand)
    return { ...found, msg: `It was resumed before: its events are sent within 2 s.` }
  if (cause === null)
    return { ...found, tried_now: true, msg: `${notByHand} It is healthy: nothing keeps its events back.` }
  const why = `It is ${state} since ${since} because of ${causeText[cause]}, and is tried now.`
  const advice = adviceFor(cause, destination, null, null, last_error)
  return { ...found, tried_now: true, msg: `${notByHand} ${why} ${advice}` }
}

const causeText: Readonly<Record<FaultClass, string>> = {
  throttle: 'throttling',
  transient: 'transient faults',
  credentials: 'its credentials',
  configuration: 'its configuration',
  poison: 'the contents of its events',
}
