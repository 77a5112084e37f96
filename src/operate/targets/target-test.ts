/** A test event to a target that is not stored yet: what a person tries before a destination is created. */
import { monotonicMs, now } from '../../core/clock.js'
import { newId } from '../../core/ids.js'
import { isClockRefusal } from '../../deliver/aws/aws-clock.js'
import type { Fault, FaultClass } from '../../deliver/destination.js'
import { type DestinationAccess, sendTestEvent, type TestEvent } from '../../deliver/test-event.js'
import { testEventJson } from '../../event/event-schemas.js'
import type { Row } from '../../resource/define.js'
import { givenTarget } from '../../resource/destination-secrets.js'
import { chosenTarget, type Target } from '../../resource/destination-target.js'
import { eventDestination } from '../../resource/event-destination.js'
import { ownReasons } from '../../shape/delivery/delivery-advice.js'
import type { TargetTest } from '../../shape/delivery/target-test.js'

/** Throws if the target could not be created. What goes wrong at the other side is an answer. */
export async function testedTarget(
  accountId: string,
  target: Target,
  { access, timeoutMs }: { readonly access: DestinationAccess; readonly timeoutMs: number },
): Promise<TargetTest> {
  const chosen = chosenTarget(target)
  // This id belongs to the test alone: it names the session of a role and the object of a bucket, and no destination gets it.
  const id = newId(eventDestination.idPrefix)
  const { kind, address, packing } = chosen
  const config = { id, accountId, kind, address, packing, ...givenTarget(chosen) }
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
    advice: adviceAbout(sent.problem),
  }
}

function adviceAbout({ class: cause, code, msg }: Fault): string | null {
  // The message itself says what must be changed.
  if (ownReasons.has(code)) return null
  return isClockRefusal(code, msg) ? clockAdvice : adviceOf[cause]
}

const clockAdvice =
  'The service refuses the time of the signature: set the clock of the machine of Weir (with NTP). The credentials need no change.'

/** About what is being filled in. Nothing is stored, so nothing waits and nothing is tried again. */
const adviceOf: Readonly<Record<FaultClass, string>> = {
  throttle: 'The other side gets too many requests at present: test again in a while.',
  transient:
    'It did not answer, or not in time: look at the address, and whether the machine of Weir can reach it.',
  credentials: 'It refuses the credentials: look at the token, the password, the key or the role.',
  configuration:
    'It refuses every request: look at the address, at what the credentials may do there, and at the form of the request.',
  poison: 'It refuses the contents of the event: the target may expect another form.',
}

export function testEventFor({ account_id, id }: Pick<Row, 'account_id' | 'id'>): TestEvent {
  const eventId = newId('ev_')
  const timestampMs = now()
  return { partitionKey: eventId, timestampMs, json: testEventJson(eventId, timestampMs, account_id, id) }
}
