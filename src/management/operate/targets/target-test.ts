/** A test event to a target that is not stored yet: what a person tries before a destination is created. */

import {
  type DestinationAccess,
  sendTestEvent,
  type TestEvent,
} from '../../../delivery/deliver/test-event.js'
import { monotonicMs, now } from '../../../ground/core/clock.js'
import { newId } from '../../../ground/core/ids.js'
import { testEventJson } from '../../../words/event/event-schemas.js'
import { givenTarget } from '../../../words/resource/destination-secrets.js'
import { chosenTarget, type Target } from '../../../words/resource/destination-target.js'
import { eventDestination } from '../../../words/resource/event-destination.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { TargetTest } from '../../../words/shape/delivery/target-test.js'
import { faultAdvice } from '../advice/delivery-advice.js'

/** Throws if the target could not be created. What goes wrong at the other side is an answer. */
export async function testedTarget(
  accountId: string,
  target: Target,
  { access, timeoutMs }: { readonly access: DestinationAccess; readonly timeoutMs: number },
): Promise<TargetTest> {
  const chosen = chosenTarget(target)
  // This id belongs to the test alone: it names the session of a role and the object of a bucket, and no destination gets
  // it.
  const id = newId(eventDestination.idPrefix)
  const config = { id, accountId, ...givenTarget(chosen) }
  const event = testEventFor({ account_id: accountId, id })
  const beganMs = monotonicMs()
  const sent = await sendTestEvent(config, event, timeoutMs, access)
  const took_ms = Math.round(monotonicMs() - beganMs)
  const tested = { event: JSON.parse(event.json) as Record<string, unknown>, took_ms }
  if (sent.ok) {
    const { requestId = null, receipt = null } = sent.value
    return { ...tested, result: 'accepted', request_id: requestId, receipt, error: null, advice: null }
  }
  const { code, msg, requestId = null } = sent.problem
  return {
    ...tested,
    result: 'refused',
    request_id: requestId,
    receipt: null,
    error: { code, msg },
    // Nothing is stored, so nothing waits and nothing is tried again: that of the fault is all.
    advice: faultAdvice(chosen.kind, sent.problem.class, { code, msg }) ?? null,
  }
}

export function testEventFor({ account_id, id }: Pick<Row, 'account_id' | 'id'>): TestEvent {
  const eventId = newId('ev_')
  const timestampMs = now()
  return { partitionKey: eventId, timestampMs, json: testEventJson(eventId, timestampMs, account_id, id) }
}
