/** Events of one destination that go to the dead letters: stored there, and remembered while their packs are under way. */
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Fault } from '../outgoing/fault-class.js'
import { deadLetter } from '../wire/dead-letter.js'
import { deadEventsSubject, deadLetterHeaders } from '../wire/names.js'
import { parseSegments, sequenceOfEvent } from '../wire/pack-message.js'
import type { PackedEvent } from '../wire/packed-event.js'
import type { DestinationConfig } from './kind/destination.js'

interface DeadEventsDeps {
  readonly nats: Pick<Nats, 'publish' | 'payloadBytesMax'>
  readonly occurrences: Pick<Occurrences, 'eventDeadLettered'>
}

export class DeadEvents {
  readonly #deps: DeadEventsDeps
  readonly #dead = new WeakSet<PackedEvent>()
  /** Events of dead letters that were sent again, and their packs. */
  readonly #again = new WeakMap<PackedEvent, string>()

  constructor(deps: DeadEventsDeps) {
    this.#deps = deps
  }

  /** These events were dead letters before, and are sent again in this pack. */
  sentAgain(events: readonly PackedEvent[], pack: string): void {
    for (const event of events) this.#again.set(event, pack)
  }

  /** Resolves when the event is stored as a dead letter. */
  async park(
    event: PackedEvent,
    fault: Fault,
    { id, accountId, kind }: DestinationConfig,
    signal: AbortSignal,
  ): Promise<void> {
    const { nats, occurrences } = this.#deps
    const origin = {
      [deadLetterHeaders.reason]: `${fault.code}: ${fault.msg}`,
      [deadLetterHeaders.destination]: id,
      [deadLetterHeaders.eventId]: event.id,
      [deadLetterHeaders.account]: accountId,
    }
    const { data, headers } = deadLetter(event.data, origin, nats.payloadBytesMax)
    // An event that was a dead letter before becomes another one: the first was removed when it was sent again.
    const again = this.#again.get(event)
    const msgId = [id, event.id, ...(again === undefined ? [] : [again])].join('.')
    await nats.publish(deadEventsSubject, data, { msgId, headers, signal })
    this.#dead.add(event)
    occurrences.eventDeadLettered({
      target: kind,
      destination_id: id,
      event_id: event.id,
      reason: fault.msg,
    })
  }

  /** Counts a pack's dead events per input message that caused them; `segments` is the pack's header. */
  perMessage(events: readonly PackedEvent[], segments: string): [sequence: number, events: number][] {
    if (!events.some((event) => this.#dead.has(event))) return []
    const parsed = parseSegments(segments)
    const counts = new Map<number, number>()
    for (const [position, event] of events.entries()) {
      if (!this.#dead.has(event)) continue
      const sequence = sequenceOfEvent(parsed, position) ?? 0
      counts.set(sequence, (counts.get(sequence) ?? 0) + 1)
    }
    return [...counts]
  }
}
