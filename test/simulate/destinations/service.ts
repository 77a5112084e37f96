/** A model of a service that takes events, and of Weir's way to it: late, in part, not at all, or without an answer. */

import type { BatchLimits, Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'

/** What becomes of a request. */
export type RequestFate =
  | 'accepted'
  /** All are stored, but Weir does not hear of it. */
  | 'unanswered'
  /** Some are stored, the others are throttled. */
  | 'partial'
  | 'throttled'
  | 'unreachable'
  /** The service refuses the rights for now. */
  | 'denied'

/** What the model takes from its world. */
interface ServiceWorld {
  /** Resolves after as long as the way there or back takes. */
  travelled(): Promise<void>
  fateOf(service: Service): RequestFate
  /** In [0, 1). */
  random(): number
  /** An event has been stored. */
  stored(service: Service, id: string, data: string): void
}

const limits: BatchLimits = {
  eventsMax: 20,
  requestBytesMax: 256 * 1024,
  eventBytesMax: 64 * 1024,
  sizeOf: ({ dataBytes }) => dataBytes,
}

/** Events of connections with so many bytes out are poison for the service. */
export const poisonBytes = 666
const poisonMark = `"bytes_out":${poisonBytes}`

export class Service {
  readonly name: string
  readonly #world: ServiceWorld
  /** How often each event was stored, by its id. */
  readonly stored = new Map<string, number>()
  requests = 0

  constructor(name: string, world: ServiceWorld) {
    this.name = name
    this.#world = world
  }

  /** For one process that sends. */
  sender(): Sender {
    return {
      limits: () => limits,
      send: (events, signal) => this.#send(events, signal),
      dropCredentials: () => {},
      close: () => {},
    }
  }

  async #send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    // The bytes are on their way; the pack may be used again.
    const sent = events.map((event) => ({ id: event.id, data: event.data.toString('utf8') }))
    const aborted = new Promise<'aborted'>((resolve) => {
      signal.addEventListener('abort', () => resolve('aborted'), { once: true })
    })
    const outcome = await Promise.race([this.#take(sent), aborted])
    if (outcome !== 'aborted') return outcome
    return failed('transient', 'Timeout')
  }

  async #take(events: readonly { id: string; data: string }[]): Promise<SendOutcome> {
    await this.#world.travelled()
    this.requests += 1
    const fate = this.#world.fateOf(this)
    if (fate === 'unreachable') return failed('transient', 'ECONNREFUSED')
    if (fate === 'denied') return failed('credentials', 'AccessDeniedException')
    if (fate === 'throttled') return failed('throttle', 'ProvisionedThroughputExceededException')
    const outcome = this.#store(events, fate === 'partial')
    await this.#world.travelled()
    return fate === 'unanswered' ? failed('transient', 'ECONNRESET') : outcome
  }

  #store(events: readonly { id: string; data: string }[], isPartial: boolean): SendOutcome {
    const retry: number[] = []
    const rejected: number[] = []
    events.forEach(({ id, data }, index) => {
      if (data.includes(poisonMark)) rejected.push(index)
      else if (isPartial && this.#world.random() < 0.4) retry.push(index)
      else {
        this.stored.set(id, (this.stored.get(id) ?? 0) + 1)
        this.#world.stored(this, id, data)
      }
    })
    if (retry.length + rejected.length === 0) return { outcome: 'accepted' }
    const poison = faultOf('poison', 'ValidationException')
    if (rejected.length === events.length) return { outcome: 'failed', fault: poison }
    if (retry.length + rejected.length === events.length) return failed('throttle', 'ThrottlingException')
    return {
      outcome: 'partial',
      retry,
      ...(retry.length > 0 && { reason: faultOf('throttle', 'ThrottlingException') }),
      rejected: rejected.map((index) => ({ index, fault: poison })),
    }
  }
}

const faultOf = (cls: 'transient' | 'throttle' | 'credentials' | 'poison', code: string) => ({
  class: cls,
  code,
  msg: `The service says ${code}.`,
})

const failed = (cls: 'transient' | 'throttle' | 'credentials', code: string): SendOutcome => ({
  outcome: 'failed',
  fault: faultOf(cls, code),
})
