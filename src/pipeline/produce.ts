/** From a record and what was decided about it to the events it causes. */
import type { Verdict } from '../evaluate/evaluate.js'
import { eventId, recordPart } from '../event/event-id.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import type { AccountSources, CompiledSource, EventSource, LogSource } from './subscriptions.js'

export interface ProducedEvent {
  readonly id: string
  /** The whole event. */
  readonly json: string
  readonly source: CompiledSource
}

/** What a record caused. */
export interface Production {
  readonly events: readonly ProducedEvent[]
  /** Sources whose filter did not match. */
  readonly filtered: readonly CompiledSource[]
  /** Those of them whose filter had no result. */
  readonly failed: readonly CompiledSource[]
}

const nothing: readonly never[] = []
const noProduction: Production = { events: nothing, filtered: nothing, failed: nothing }

/** The events of one record; `timestamp` is RFC 3339 with milliseconds. */
export function produce(
  sources: AccountSources | undefined,
  record: TrafficRecord,
  verdict: Verdict,
  timestamp: string,
  budget: StepBudget,
): Production {
  if (sources === undefined) return noProduction
  const producer = new Producer(recordPart(record.record_id), verdict, timestamp, budget)
  if (record.type === 'tcp_connection') {
    producer.addEvents(sources.connections, record)
    producer.addLogs(sources.logs)
  } else {
    producer.addEvents(sources.requests, record)
  }
  return producer
}

class Producer implements Production {
  readonly events: ProducedEvent[] = []
  readonly filtered: CompiledSource[] = []
  readonly failed: CompiledSource[] = []
  readonly #recordPart: string
  readonly #verdict: Verdict
  readonly #timestamp: string
  readonly #budget: StepBudget

  constructor(recordPart: string, verdict: Verdict, timestamp: string, budget: StepBudget) {
    this.#recordPart = recordPart
    this.#verdict = verdict
    this.#timestamp = timestamp
    this.#budget = budget
  }

  addEvents<R>(sources: readonly EventSource<R>[], record: R): void {
    // Subscriptions with the same selection share a serializer: what it wrote for one is good for the next.
    let serialize: EventSource<R>['serialize'] | undefined
    let objectJson = ''
    for (let at = 0; at < sources.length; at += 1) {
      const source = sources[at]!
      if (!this.#matches(source, record)) {
        this.filtered.push(source)
        continue
      }
      const id = eventId(this.#recordPart, source.purpose)
      if (serialize !== source.serialize) {
        serialize = source.serialize
        objectJson = serialize(record, this.#verdict)
      }
      const json = source.envelope(id, this.#timestamp, objectJson)
      this.events.push({ id, json, source })
    }
  }

  /** One event per log action that was run, for each source. */
  addLogs(sources: readonly LogSource[]): void {
    for (const action of this.#verdict.logs) {
      for (const source of sources) {
        const id = eventId(this.#recordPart, source.purposeOf(action))
        const json = source.envelope(id, this.#timestamp, source.serialize(action, this.#verdict))
        this.events.push({ id, json, source })
      }
    }
  }

  #matches<R>(source: EventSource<R>, record: R): boolean {
    if (source.filter === undefined) return true
    try {
      return source.filter(record, this.#budget)
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      this.failed.push(source)
      return false
    }
  }
}
