/** What one stream, delivery stream or log group has received. */
import type { Keep, ReceivedCounts, ReceivedEvent, ReceivedPage } from './wire.js'

/** An arrival; `data` is decoded only when it is read. */
export interface Arrival extends Omit<ReceivedEvent, 'sequence' | 'eventId'> {
  readonly encoding: 'base64' | 'utf8'
  readonly bytes: number
}

const idForm = /^\{"event_id":"([^"\\]+)"/
/** Enough for `{"event_id":"…"` with an id of 64 characters, in whole base64 groups. */
const headChars = 120

export class Ledger {
  readonly keep: Keep
  #arrivals: Arrival[] = []
  #seen = new Map<string, number>()
  #events = 0
  #bytes = 0
  #duplicates = 0

  constructor(keep: Keep) {
    this.keep = keep
  }

  add(arrival: Arrival): void {
    this.#events += 1
    this.#bytes += arrival.bytes
    if (this.keep === 'counts') return
    const id = eventId(arrival)
    if (id !== null) {
      const seen = this.#seen.get(id) ?? 0
      this.#seen.set(id, seen + 1)
      if (seen > 0) this.#duplicates += 1
    }
    if (this.keep === 'all') this.#arrivals.push(arrival)
  }

  counts(): ReceivedCounts {
    return {
      events: this.#events,
      bytes: this.#bytes,
      unique: this.#seen.size,
      duplicates: this.#duplicates,
    }
  }

  /** Each id and how often it arrived; `repeatedOnly`: those that arrived more than once. */
  ids(repeatedOnly: boolean): Record<string, number> {
    const entries = [...this.#seen].filter(([, times]) => !repeatedOnly || times > 1)
    return Object.fromEntries(entries)
  }

  page(after: number, limit: number): ReceivedPage {
    const end = Math.min(after + limit, this.#arrivals.length)
    const events = this.#arrivals.slice(after, end).map((arrival, index) => shown(arrival, after + index + 1))
    return { events, next: end < this.#arrivals.length ? end : null }
  }

  arrivals(): readonly Arrival[] {
    return this.#arrivals
  }

  clear(): void {
    this.#arrivals = []
    this.#seen = new Map()
    this.#events = this.#bytes = this.#duplicates = 0
  }
}

export const textOf = ({ data, encoding }: Pick<Arrival, 'data' | 'encoding'>): string =>
  encoding === 'utf8' ? data : Buffer.from(data, 'base64').toString()

function eventId({ data, encoding }: Arrival): string | null {
  return idForm.exec(textOf({ data: data.slice(0, headChars), encoding }))?.[1] ?? null
}

function shown(arrival: Arrival, sequence: number): ReceivedEvent {
  const { encoding: _encoding, bytes: _bytes, ...kept } = arrival
  return { sequence, eventId: eventId(arrival), ...kept, data: textOf(arrival) }
}
