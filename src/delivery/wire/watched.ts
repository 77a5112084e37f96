/** Accounts or destinations that are watched, as the API reports them. One without a watcher is forgotten after a while. */
import { jsonOf } from '../../ground/core/bytes.js'
import { monotonicMs } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { DeliveryRow } from './delivery-rows.js'
import { watchedSubject } from './names.js'

/** Pipelines and deliverers forget what the API has not named as watched for this long. */
export const watchedForMs = 6_000
/** Accounts or destinations that count as watched at once; they are named again within two seconds. */
const watchedAtOnceMax = 1_000

/** A message on `watchedSubject`: ids. */
export interface WatchedIds {
  /** Whose decisions are watched. */
  readonly accounts: readonly string[]
  /** Whose deliveries are watched. */
  readonly destinations: readonly string[]
}

export class Watched {
  readonly #untilMs = new Map<string, number>()
  readonly #kind: keyof WatchedIds
  readonly #nowMs: () => number

  constructor(kind: keyof WatchedIds, nowMs = monotonicMs) {
    this.#kind = kind
    this.#nowMs = nowMs
  }

  /** Listens to the API until the result is closed. */
  listen(nats: Pick<Nats, 'subscribe'>, occurrences: Pick<Occurrences, 'watchersUnheard'>) {
    const unheard = (error: Error): void => occurrences.watchersUnheard({ reason: messageOf(error) })
    return nats.subscribe(watchedSubject, (data) => this.receive(data), unheard)
  }

  /** A message of the API; anything else is ignored, since nothing depends on it. */
  receive(data: Uint8Array): void {
    for (const id of idsIn(data, this.#kind)) {
      if (this.#untilMs.size >= watchedAtOnceMax) this.#untilMs.clear()
      this.#untilMs.set(id, this.#nowMs() + watchedForMs)
    }
  }

  has(id: string): boolean {
    if (this.#untilMs.size === 0) return false
    const untilMs = this.#untilMs.get(id)
    if (untilMs === undefined) return false
    if (untilMs > this.#nowMs()) return true
    this.#untilMs.delete(id)
    return false
  }
}

function idsIn(data: Uint8Array, kind: keyof WatchedIds): readonly string[] {
  try {
    const { [kind]: ids } =
      jsonOf<{
        [Kind in keyof WatchedIds]?: unknown
      }>(data)
    return Array.isArray(ids) ? ids.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

/**
 * Attempts to deliver to a watched destination, as deliverers publish them: a line of JSON about the attempt, then a
 * line per event, as it was sent. Not all events need be there.
 */
export type WatchedAttempt = Pick<
  DeliveryRow,
  | 'accountId'
  | 'destinationId'
  | 'at'
  | 'outcome'
  | 'attempt'
  | 'requestId'
  | 'errorCode'
  | 'error'
  | 'events'
>

interface WatchedDelivery {
  readonly attempt: WatchedAttempt
  /** JSON. */
  readonly events: readonly string[]
}

/** The events end with their line breaks. */
export const writeWatchedDelivery = (attempt: WatchedAttempt, events: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat([Buffer.from(`${JSON.stringify(attempt)}\n`), ...events])

/** Throws for bytes that are none. */
export function readWatchedDelivery(data: Uint8Array): WatchedDelivery {
  const [first = '', ...events] = Buffer.from(data).toString().trimEnd().split('\n')
  return { attempt: JSON.parse(first), events }
}
