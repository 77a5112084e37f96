/** Records and events that one stream, delivery stream or log group has received. */
import type { Keep, ReceivedCounts, ReceivedEvent, ReceivedPage } from './wire.js'

/** A record or log event that arrived; `data` is decoded only when it is read. */
export interface Arrival extends Omit<ReceivedEvent, 'sequence' | 'eventId'> {
  readonly encoding: 'base64' | 'utf8'
  readonly bytes: number
}

const idForm = /^\{"event_id":"([^"\\]+)"/

export class Ledger {
  readonly keep: Keep
  #arrivals: Arrival[] = []
  #seen = new Map<string, number>()
  #records = 0
  #events = 0
  #bytes = 0
  #duplicates = 0

  constructor(keep: Keep) {
    this.keep = keep
  }

  /** A record may hold several events, a line each. */
  add(arrival: Arrival): void {
    const events = linesOf(textOf(arrival))
    this.#records += 1
    this.#events += events.length
    this.#bytes += arrival.bytes
    if (this.keep === 'counts') return
    for (const event of events) this.#see(eventId(event))
    if (this.keep === 'all') this.#arrivals.push(arrival)
  }

  #see(id: string | null): void {
    if (id === null) return
    const seen = this.#seen.get(id) ?? 0
    this.#seen.set(id, seen + 1)
    if (seen > 0) this.#duplicates += 1
  }

  counts(): ReceivedCounts {
    return {
      records: this.#records,
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
    this.#records = this.#events = this.#bytes = this.#duplicates = 0
  }
}

export const textOf = ({ data, encoding }: Pick<Arrival, 'data' | 'encoding'>): string =>
  encoding === 'utf8' ? data : Buffer.from(data, 'base64').toString()

/** The events of a record; text without a line feed is one. */
const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')

const eventId = (text: string): string | null => idForm.exec(text)?.[1] ?? null

function shown(arrival: Arrival, sequence: number): ReceivedEvent {
  const { encoding: _encoding, bytes: _bytes, ...kept } = arrival
  const data = textOf(arrival)
  return { sequence, eventId: eventId(data), ...kept, data }
}
