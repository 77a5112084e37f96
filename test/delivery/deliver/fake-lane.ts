/** A lane over a sender whose outcomes the test chooses. */

import type { AwsDestination } from '../../../src/delivery/deliver/aws/aws-kind.js'
import type { BatchLimits, Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import type { AttemptLog } from '../../../src/delivery/deliver/lane/attempt-log.js'
import type { HoldingBudget } from '../../../src/delivery/deliver/lane/held-packs.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import type { LaneSettings } from '../../../src/delivery/deliver/lane/lane-settings.js'
import type { Fault, FaultClass } from '../../../src/delivery/outgoing/fault-class.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'

export const config: AwsDestination = {
  id: 'ed_1',
  accountId: 'ac_1',
  kind: 'kinesis',
  address: 'arn:aws:kinesis:us-east-1:000000000000:stream/one',
  auth: { role: { role_arn: 'arn:aws:iam::000000000000:role/x' } },
  packing: 'none',
  options: {},
}

export const fault = (faultClass: FaultClass, code = faultClass): Fault => ({
  class: faultClass,
  code,
  msg: `${code}.`,
})
export const failed = (faultClass: FaultClass): SendOutcome => ({
  outcome: 'failed',
  fault: fault(faultClass),
})
export const accepted: SendOutcome = { outcome: 'accepted' }

type Behaviour = (events: readonly PackedEvent[], request: number) => SendOutcome | Promise<SendOutcome>

interface Opened {
  readonly lane: Lane
  /** The ids of each request, in order. */
  readonly requests: string[][]
  readonly dead: string[]
  /** The states of the lane, beginning with the first change. */
  readonly states: string[]
  readonly counts: { drops: number; closed: number; underWayMax: number }
}

const fast: Partial<LaneSettings> = {
  probeMinMs: 2,
  probeMaxMs: 4,
  closeTimeoutMs: 50,
  abortTimeoutMs: 50,
  backoffs: {
    throttle: { baseMs: 1, capMs: 1e6 },
    transient: { baseMs: 1, capMs: 1e6 },
    record: { baseMs: 1, capMs: 1e6 },
  },
}

export function openLane(
  behave: Behaviour,
  settings: Partial<LaneSettings> = {},
  deadLetter: (event: PackedEvent) => Promise<void> = async () => {},
  budget: HoldingBudget = roomForAll,
  log?: AttemptLog,
  limits: Partial<BatchLimits> = {},
  isFull = () => false,
): Opened {
  const requests: string[][] = []
  const dead: string[] = []
  const states: string[] = []
  const counts = { drops: 0, closed: 0, underWayMax: 0 }
  let underWay = 0
  const open = (): Sender => ({
    limits: () => ({
      eventsMax: 4,
      requestBytesMax: 1e6,
      eventBytesMax: 1000,
      sizeOf: ({ dataBytes }) => dataBytes,
      ...limits,
    }),
    async send(events, signal) {
      requests.push(events.map(({ id }) => id))
      underWay += 1
      counts.underWayMax = Math.max(counts.underWayMax, underWay)
      const outcome = await Promise.race([behave(events, requests.length), aborted(signal)])
      underWay -= 1
      return outcome
    },
    dropCredentials: () => {
      counts.drops += 1
    },
    close: () => {
      counts.closed += 1
    },
  })
  const lane = new Lane(config, {
    open,
    budget,
    isFull,
    ...(log !== undefined && { log }),
    settings: { ...fast, ...settings },
    changed: ({ state }) => states.push(state),
    deadLetter: async (event) => {
      await deadLetter(event)
      dead.push(event.id)
    },
  })
  return { lane, requests, dead, states, counts }
}

export const roomForAll: HoldingBudget = { hold: () => true, release: () => {} }

/** One per signal, so that many requests leave no listeners behind. */
const abortions = new WeakMap<AbortSignal, Promise<SendOutcome>>()

function aborted(signal: AbortSignal): Promise<SendOutcome> {
  const known = abortions.get(signal)
  if (known !== undefined) return known
  const made = new Promise<SendOutcome>((resolve) => {
    signal.addEventListener('abort', () => resolve(failed('transient')))
  })
  abortions.set(signal, made)
  return made
}

/** A promise and the function that resolves it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

export const done = (delivered: number, dead_lettered: number, retried: number) => ({
  outcome: 'done',
  counts: { delivered, dead_lettered, retried },
})
