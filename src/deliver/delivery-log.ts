/**
 * Rows of attempts to deliver, for the decision log: a row per request, so that they cost little per event. Delivery
 * never waits for them.
 */
import { now } from '../core/clock.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { type DeliveryOutcome, type DeliveryRow, DeliveryRows } from '../wire/delivery-rows.js'
import { isLogged, type LogMode, LogPublisher } from '../wire/log-publisher.js'
import { deliveryRowsSubject } from '../wire/names.js'
import type { Watched } from '../wire/watched.js'
import type { AttemptLog } from './attempt-log.js'
import type { DestinationConfig, Fault, Receipt, SendOutcome } from './destination.js'
import type { Item } from './job.js'
import { faultIn, notAcceptedIn } from './lane/outcomes.js'
import { WatchedDeliveries } from './watched-deliveries.js'

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
    tags,
  }
}
