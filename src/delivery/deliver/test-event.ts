/** Tries a destination at once: `send_test_event` sends one event to it; `check` finds out what it can without a write. */
import { after } from '../../ground/core/clock.js'
import { fail, ok, type Result } from '../../ground/core/errors.js'
import type { Fault } from '../outgoing/fault-class.js'
import { ReachableNetworks } from '../outgoing/private-networks.js'
import { PackWriter, readPack } from '../wire/pack.js'
import type { PackedEvent } from '../wire/packed-event.js'
import type { AwsClock } from './aws/aws-clock.js'
import type { SharedBodies } from './aws/shared-bodies.js'
import type { DestinationConfig } from './kind/destination.js'
import { faultIn } from './kind/outcomes.js'
import type { EventPublisher, Finding, Receipt, Sender } from './kind/sender.js'
import { type DeliverySettings, openSender, requestTimeoutMsDefault } from './kinds.js'

export interface TestEvent {
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
}

/** The parts that all destinations of a process share. */
interface OfProcess {
  readonly clock: AwsClock
  /** Weir's own NATS. */
  readonly cluster?: EventPublisher
  readonly bodies?: SharedBodies
}

/** How destinations are reached under the settings of a process. */
export function destinationAccess(
  {
    aws,
    delivery: { privateNetworks },
    destinationKinds: kinds,
  }: {
    readonly aws: DeliverySettings['aws']
    readonly delivery: { readonly privateNetworks?: readonly string[] | undefined }
    readonly destinationKinds: DeliverySettings['kinds']
  },
  { clock, cluster, bodies }: OfProcess,
): DestinationAccess {
  const networks = new ReachableNetworks(privateNetworks)
  const delivery = { kinds, aws, clock, networks, cluster, requestTimeoutMs: requestTimeoutMsDefault }
  return { openSender: (config) => openSender(config, delivery, bodies) }
}

/** The fault is the service's reason, or what is wrong with its role; in that case nothing is sent. Never rejects. */
export const sendTestEvent = (
  config: DestinationConfig,
  event: TestEvent,
  timeoutMs: number,
  access: DestinationAccess,
): Promise<Result<Receipt, Fault>> =>
  withSender(config, timeoutMs, access, async (sender, signal) => {
    const outcome = await sender.send([packedTestEvent(event)], signal)
    const fault = faultIn(outcome)
    return fault === undefined ? ok(outcome as Receipt) : fail(fault)
  })

const nothingAsked: Finding = {
  mayWrite: false,
  proved: [],
  notProved: ['Anything: a target of this kind has no request that writes nothing.'],
}

/** The fault is the service's reason, or what is wrong with the role. Never rejects. */
export const checkDestination = (
  config: DestinationConfig,
  event: TestEvent,
  timeoutMs: number,
  access: DestinationAccess,
): Promise<Result<Finding, Fault>> =>
  withSender(config, timeoutMs, access, async (sender, signal, proved) => {
    const found = (await sender.check?.(packedTestEvent(event), signal)) ?? ok(nothingAsked)
    return found.ok ? ok({ ...found.value, proved: [...proved, ...found.value.proved] }) : found
  })

function packedTestEvent({ partitionKey, timestampMs, json }: TestEvent): PackedEvent {
  const writer = new PackWriter()
  writer.append(partitionKey, timestampMs, json)
  return readPack(writer.take()).events[0]!
}

/** Tries something with a separate sender and fresh credentials, once what it borrows is checked, and within the time. */
async function withSender<T>(
  config: DestinationConfig,
  timeoutMs: number,
  access: DestinationAccess,
  attempt: (sender: Sender, signal: AbortSignal, proved: readonly string[]) => Promise<Result<T, Fault>>,
): Promise<Result<T, Fault>> {
  const sender = access.openSender(config)
  const abort = new AbortController()
  const deadline = after(timeoutMs, () => abort.abort())
  try {
    const borrowed = (await sender.checkBorrowed?.(abort.signal)) ?? ok([])
    const result = borrowed.ok ? await attempt(sender, abort.signal, borrowed.value) : borrowed
    return !result.ok && abort.signal.aborted ? fail(timedOut) : result
  } finally {
    deadline.stop()
    sender.close()
  }
}
