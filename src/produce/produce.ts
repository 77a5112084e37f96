/**
 * Start here: from a record and the decision about it to the events it causes. Pure, like the evaluation: the pipeline
 * sends these events, others only count or show them. The room knows subscriptions and never who sends the events.
 */
import type { Judgement } from '../evaluate/judgement.js'
import type { FilterInput } from '../event/define.js'
import { eventId, recordPart } from '../event/event-id.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import type { AccountSources, CompiledSource, EventSource } from './subscriptions.js'

interface ProducedEvent {
  readonly id: string
  /** The whole event. */
  readonly json: string
  readonly source: CompiledSource
}

/** The events of a record, and the sources whose filter made none. */
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
  judgement: Judgement,
  timestamp: string,
  budget: StepBudget,
): Production {
  if (sources === undefined) return noProduction
  const { record, verdict } = judgement
  const producer = new Producer(recordPart(record.record_id), judgement, timestamp, budget)
  producer.addEvents(sourcesFor(record, sources), record)
  for (const action of verdict.logs) producer.addEvents(sources.log_action, action)
  return producer
}

/** The sources under a record's type are about records of that type. */
const sourcesFor = (record: TrafficRecord, sources: AccountSources) =>
  sources[record.type] as readonly EventSource<TrafficRecord>[]

class Producer implements Production {
  readonly events: ProducedEvent[] = []
  readonly filtered: CompiledSource[] = []
  readonly failed: CompiledSource[] = []
  readonly #recordPart: string
  readonly #judgement: Judgement
  readonly #timestamp: string
  readonly #budget: StepBudget

  constructor(recordPart: string, judgement: Judgement, timestamp: string, budget: StepBudget) {
    this.#recordPart = recordPart
    this.#judgement = judgement
    this.#timestamp = timestamp
    this.#budget = budget
  }

  addEvents<S>(sources: readonly EventSource<S>[], subject: S): void {
    // Subscriptions with the same selection share a serializer, and its text.
    let serialize: EventSource<S>['serialize'] | undefined
    let objectJson = ''
    const input: FilterInput<S> = { subject, decided: this.#judgement }
    for (let index = 0; index < sources.length; index += 1) {
      const source = sources[index]!
      if (!this.#matches(source, input)) {
        this.filtered.push(source)
        continue
      }
      const id = eventId(this.#recordPart, source.purposeOf(subject))
      if (serialize !== source.serialize) {
        serialize = source.serialize
        objectJson = serialize(subject, this.#judgement)
      }
      const json = source.envelope(id, this.#timestamp, objectJson)
      this.events.push({ id, json, source })
    }
  }

  #matches<S>(source: EventSource<S>, input: FilterInput<S>): boolean {
    if (source.filter === undefined) return true
    try {
      return source.filter(input, this.#budget)
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      this.failed.push(source)
      return false
    }
  }
}
