/**
 * Rows of attempts to deliver, for the decision log: a row per request, so that they cost little per event. Delivery
 * never waits for them. Some events of each attempt go to those who watch the destination.
 */
import { monotonicMs, now } from '../../ground/core/clock.js'
import { watchedLinesPerSecondMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Fault } from '../outgoing/fault-class.js'
import { type DeliveryOutcome, type DeliveryRow, DeliveryRows } from '../wire/delivery-rows.js'
import { isLogged, type LogMode, LogPublisher } from '../wire/log-publisher.js'
import { deliveryRowsSubject, watchedDeliveriesSubject } from '../wire/names.js'
import type { PackedEvent } from '../wire/packed-event.js'
import { type Watched, writeWatchedDelivery } from '../wire/watched.js'
import type { DestinationConfig } from './kind/destination.js'
import { faultIn, notAcceptedIn } from './kind/outcomes.js'
import type { Receipt, SendOutcome } from './kind/sender.js'
import type { AttemptLog } from './lane/attempt-log.js'
import type { Item } from './lane/job.js'

interface DeliveryLogOptions {
  readonly nats: Pick<Nats, 'publish' | 'emit'>
  /** `blocked`: attempts that did not deliver. */
  readonly mode: LogMode
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
  /** Destinations whose attempts are published in any mode. */
  readonly watched: Pick<Watched, 'has'>
}

export class DeliveryLog {
  readonly #options: DeliveryLogOptions
  readonly #logged: LogPublisher<DeliveryRows>
  readonly #watchers: WatchedDeliveries

  constructor(options: DeliveryLogOptions) {
    this.#options = options
    this.#logged = new LogPublisher({ ...options, rows: new DeliveryRows(), subject: deliveryRowsSubject })
    this.#watchers = new WatchedDeliveries(options.nats)
  }

  /** The log of one destination. */
  of(destination: Destination): AttemptLog {
    return {
      requested: (items, outcome, beganMs) => {
        const attempt = { at: now(), beganMs, requests: 1 }
        for (const part of partsOf(items, outcome)) {
          this.#add(destination, part, attempt)
          attempt.requests = 0
        }
      },
      deadLettered: (item, fault) => {
        const at = now()
        const part: Part = { outcome: 'dead_lettered', items: [item], receipt: fault, fault }
        this.#add(destination, part, { at, beganMs: at, requests: 0 })
      },
    }
  }

  #add(destination: Destination, part: Part, attempt: Attempt): void {
    const isRow = isLogged(this.#options.mode, part.outcome !== 'delivered')
    const isWatched = this.#options.watched.has(destination.id)
    if (!isRow && !isWatched) return
    const row = rowOf(destination, part, attempt)
    if (isRow) {
      this.#logged.batch.collected.add(row)
      this.#logged.batch.added()
    }
    if (isWatched)
      this.#watchers.add(
        row,
        part.items.map(({ event }) => event),
      )
  }

  /** Publishes what is left; waits for batches under way. */
  close(): Promise<void> {
    return this.#logged.close()
  }
}

type Destination = Pick<DestinationConfig, 'id' | 'accountId'>

interface Attempt {
  readonly at: number
  readonly beganMs: number
  readonly requests: number
}

/** Events of a request with the same outcome. */
interface Part {
  readonly outcome: DeliveryOutcome
  readonly items: readonly Item[]
  readonly receipt: Receipt
  readonly fault?: Fault | undefined
}

function partsOf(items: readonly Item[], answer: SendOutcome): Part[] {
  switch (answer.outcome) {
    case 'accepted':
      return [{ outcome: 'delivered', items, receipt: answer }]
    case 'failed':
      return [{ outcome: 'failed', items, receipt: answer.fault, fault: answer.fault }]
    case 'partial': {
      const { requestId } = answer
      const failed = notAcceptedIn(answer)
      const parts: Part[] = [
        { outcome: 'delivered', items: items.filter((_, index) => !failed.has(index)), receipt: answer },
        {
          outcome: 'failed',
          items: items.filter((_, index) => failed.has(index)),
          receipt: requestId === undefined ? {} : { requestId },
          fault: faultIn(answer),
        },
      ]
      return parts.filter((part) => part.items.length > 0)
    }
  }
}

function rowOf(
  { id, accountId }: Destination,
  { outcome, items, receipt, fault }: Part,
  { at, beganMs, requests }: Attempt,
): DeliveryRow {
  const [first] = items
  const tags: number[] = []
  let attempt = 0
  let eventsFrom = Number.POSITIVE_INFINITY
  let eventsUntil = 0
  for (const { event, sent } of items) {
    tags.push(event.tag)
    attempt = Math.max(attempt, sent)
    eventsFrom = Math.min(eventsFrom, event.timestampMs)
    eventsUntil = Math.max(eventsUntil, event.timestampMs)
  }
  return {
    accountId,
    destinationId: id,
    at,
    tookMs: Math.max(0, at - beganMs),
    outcome,
    attempt,
    requests,
    pack: first!.job.pack,
    requestId: receipt.requestId ?? '',
    shard: receipt.shard ?? '',
    receipt: receipt.receipt ?? '',
    errorCode: fault?.code ?? '',
    error: fault?.msg ?? '',
    eventsFrom,
    eventsUntil,
    events: tags.length,
    tags,
  }
}

/** Bytes of events in a message about a delivery; it must fit a NATS message. */
export const watchedDeliveryBytesMax = 256 * 1024

const secondMs = 1_000

/** Publishes attempts to deliver for those who watch a destination: some events of each, as many as a person can see. */
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

  add(row: Omit<DeliveryRow, 'tags' | 'events'>, events: readonly PackedEvent[]): void {
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
      // Takes events from all over the request.
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
