/** `send_test_event`: sends one event to a destination at once, to show whether it works. */
import { after } from '../core/clock.js'
import { fail, ok, type Result } from '../core/errors.js'
import { PackWriter, readPack } from '../wire/pack.js'
import { checkRole, requestTimeoutMsDefault } from './aws.js'
import type { DestinationConfig, Fault, Sender } from './destination.js'
import { type DeliverySettings, openSender } from './kinds.js'

interface TestEvent {
  readonly partitionKey: string
  readonly timestampMs: number
  /** Begins with `{"event_id":"`, as every event does. */
  readonly json: string
}

const timedOut: Fault = {
  class: 'transient',
  code: 'Timeout',
  msg: 'The destination did not answer in time.',
}

/** How destinations are reached. */
export interface DestinationAccess {
  readonly openSender: (config: DestinationConfig) => Sender
  /** Checks that only this account can use the destination's role. Never rejects. */
  readonly checkRole: (config: DestinationConfig, signal: AbortSignal) => Promise<Result<undefined, Fault>>
}

/** How destinations are reached under the settings of a process. */
export function destinationAccess({
  aws,
  destinationKinds: kinds,
}: {
  readonly aws: DeliverySettings['aws']
  readonly destinationKinds: DeliverySettings['kinds']
}): DestinationAccess {
  const delivery = { kinds, aws, requestTimeoutMs: requestTimeoutMsDefault }
  return {
    openSender: (config) => openSender(config, delivery),
    checkRole: (config, signal) => checkRole(config, delivery, signal),
  }
}

/**
 * Uses a separate sender, with fresh credentials. The fault is the service's reason, or what is wrong with the role;
 * in that case nothing is sent. Never rejects.
 */
export async function sendTestEvent(
  config: DestinationConfig,
  event: TestEvent,
  timeoutMs: number,
  access: DestinationAccess,
): Promise<Result<undefined, Fault>> {
  const writer = new PackWriter()
  writer.append(event.partitionKey, event.timestampMs, event.json)
  const { events } = readPack(writer.take())
  const sender = access.openSender(config)
  const abort = new AbortController()
  const deadline = after(timeoutMs, () => abort.abort())
  try {
    const role = await access.checkRole(config, abort.signal)
    if (!role.ok) return fail(abort.signal.aborted ? timedOut : role.problem)
    const outcome = await sender.send(events, abort.signal)
    if (outcome.outcome === 'accepted') return ok(undefined)
    const fault =
      outcome.outcome === 'failed' ? outcome.fault : (outcome.reason ?? outcome.rejected[0]!.fault)
    return fail(abort.signal.aborted ? timedOut : fault)
  } finally {
    deadline.stop()
    sender.close()
  }
}
