/**
 * Start here: from a record and the decision about it to the events it causes. Pure, like the evaluation: the pipeline
 * sends these events, others only count or show them. The room knows subscriptions and never who sends the events.
 */
import type { Judgement } from '../evaluate/judgement.js'
import { RecordPart } from '../event/event-id.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import type { EventTemplate, EventTime } from '../wire/event-template.js'
import type { EventParts } from '../wire/pack.js'
import { type PackedEvent, TemplatedEvent } from '../wire/packed-event.js'
import { Round } from './round.js'
import type { AccountSources, CompiledSource, EventSource, SourceList } from './source-list.js'

/** An event in the parts that others share with it. */
class ProducedEvent implements EventParts {
  readonly template: EventTemplate
  readonly line: Uint8Array
  readonly source: CompiledSource

  constructor(template: EventTemplate, line: Uint8Array, source: CompiledSource) {
    this.template = template
    this.line = line
    this.source = source
  }

  get id(): string {
    return this.template.idOf(this.line.subarray(0, RecordPart.byteLength))
  }

  /** As a deliverer gets it. */
  at(time: EventTime): PackedEvent {
    const { line: bytes } = this
    const line = { bytes, start: 0, idEnd: RecordPart.byteLength, end: bytes.length }
    return new TemplatedEvent(line, this.template, time)
  }
}

/** The events of a record, and the sources that made none. */
export interface Production {
  readonly events: readonly ProducedEvent[]
  /** The lists whose sources each made an event or were filtered, one for each subject of the record. */
  readonly lists: readonly { readonly sources: readonly CompiledSource[] }[]
  /** Sources whose filter did not match. There may be thousands: they are found when they are asked for. */
  readonly filtered: readonly CompiledSource[]
  /** Those of them whose filter had no result. */
  readonly failed: readonly CompiledSource[]
}

const nothing: readonly never[] = []
const noProduction: Production = { events: nothing, lists: nothing, filtered: nothing, failed: nothing }

/** The events of one record. */
export function produce(
  sources: AccountSources | undefined,
  judgement: Judgement,
  budget: StepBudget,
): Production {
  if (sources === undefined) return noProduction
  const { record, verdict } = judgement
  const producer = new Producer(judgement, budget)
  producer.addEvents(sourcesFor(record, sources), record)
  for (const action of verdict.logs) producer.addEvents(sources.log_action, action)
  return producer
}

/** The sources under a record's type are about records of that type. */
const sourcesFor = (record: TrafficRecord, sources: AccountSources) =>
  sources[record.type] as SourceList<TrafficRecord>

interface AskedList {
  readonly sources: readonly CompiledSource[]
  /** How many events there were when its sources had been asked. */
  readonly eventsUntil: number
}

class Producer implements Production {
  readonly events: ProducedEvent[] = []
  readonly lists: AskedList[] = []
  readonly failed: CompiledSource[] = []
  readonly #recordPart: RecordPart
  readonly #judgement: Judgement
  readonly #budget: StepBudget

  constructor(judgement: Judgement, budget: StepBudget) {
    this.#recordPart = new RecordPart(judgement.record.record_id)
    this.#judgement = judgement
    this.#budget = budget
  }

  addEvents<S>(list: SourceList<S>, subject: S): void {
    const { sources } = list
    if (sources.length === 0) return
    const round = new Round(
      list.repeated,
      { subject, decided: this.#judgement },
      this.#recordPart,
      this.#budget,
    )
    const places = list.placesToAsk(round.input)
    for (let index = 0; index < places.length; index += 1) {
      const source = sources[places[index]!]!
      if (!this.#matches(source, round)) continue
      const template = source.templateOf(subject)
      this.events.push(new ProducedEvent(template, round.lineOf(source), source))
    }
    this.lists.push({ sources, eventsUntil: this.events.length })
  }

  #matches<S>(source: EventSource<S>, round: Round<S>): boolean {
    try {
      return round.isTrue(source.filter)
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      this.failed.push(source)
      return false
    }
  }

  get filtered(): readonly CompiledSource[] {
    return this.lists.flatMap(({ sources, eventsUntil }, index) => {
      const events = this.events.slice(this.lists[index - 1]?.eventsUntil ?? 0, eventsUntil)
      const matched = new Set<CompiledSource>(events.map(({ source }) => source))
      return sources.filter((source) => !matched.has(source))
    })
  }
}
