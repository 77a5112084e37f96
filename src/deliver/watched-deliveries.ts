/** Publishes attempts to deliver for those who watch a destination: some events of each, as many as a person can see. */
import { monotonicMs } from '../core/clock.js'
import { watchedLinesPerSecondMax } from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import type { Nats } from '../nats/nats.js'
import type { DeliveryRow } from '../wire/delivery-rows.js'
import { watchedDeliveriesSubject } from '../wire/names.js'
import type { PackedEvent } from '../wire/packed-event.js'
import { writeWatchedDelivery } from '../wire/watched-deliveries.js'

/** Bytes of events in a message about a delivery; it must fit a NATS message. */
export const watchedDeliveryBytesMax = 256 * 1024

const secondMs = 1_000

export class WatchedDeliveries {
  readonly #nats: Pick<Nats, 'emit'>
  readonly #nowMs: () => number
  /** Events published in this second, by destination and outcome, so that the few that fail are seen among the many. */
  readonly #published = new Map<string, number>()
  #secondEndsMs = 0

  constructor(nats: Pick<Nats, 'emit'>, nowMs = monotonicMs) {
    this.#nats = nats
    this.#nowMs = nowMs
  }

  add(row: Omit<DeliveryRow, 'tags'>, events: readonly PackedEvent[]): void {
    const { accountId, destinationId, at, outcome, attempt, requestId, errorCode, error } = row
    const shown = this.#sample(`${destinationId} ${outcome}`, events)
    const about = { accountId, destinationId, at, outcome, attempt, requestId, errorCode, error }
    const message = writeWatchedDelivery({ ...about, events: events.length }, shown)
    this.#nats.emit(watchedDeliveriesSubject, message)
  }

  #sample(key: string, events: readonly PackedEvent[]): Buffer[] {
    this.#countSeconds()
    const published = getOrMake(this.#published, key, () => 0)
    const room = Math.min(events.length, watchedLinesPerSecondMax - published)
    const sample: Buffer[] = []
    let bytes = 0
    for (let index = 0; index < room; index += 1) {
      // Spread over the request.
      const { data } = events[Math.floor((index * events.length) / room)]!
      if (bytes + data.length > watchedDeliveryBytesMax) continue
      bytes += data.length
      sample.push(data)
    }
    this.#published.set(key, published + sample.length)
    return sample
  }

  #countSeconds(): void {
    const nowMs = this.#nowMs()
    if (nowMs < this.#secondEndsMs) return
    this.#secondEndsMs = nowMs + secondMs
    this.#published.clear()
  }
}
