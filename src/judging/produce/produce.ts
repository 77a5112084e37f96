/**
 * Start here: from a record and the decision about it to the events it causes. Pure, like the evaluation: the pipeline
 * sends these events, others only count or show them. The room knows subscriptions and never who sends the events.
 */

import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { EventTemplate, EventTime } from '../../delivery/wire/event-template.js'
import type { EventParts } from '../../delivery/wire/pack.js'
import { type PackedEvent, TemplatedEvent } from '../../delivery/wire/packed-event.js'
import { JsonBytes } from '../../ground/core/text/json-bytes.js'
import { ExpressionFailure, type StepBudget } from '../../ground/expr/run.js'
import type { FilterInput } from '../../words/event/define.js'
import { type EventObject, RecordPart } from '../../words/event/envelope.js'
import type { Challenger } from '../evaluate/challenger.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { AccountSources, CompiledSource, EventSource, SourceFilter, SourceList } from './source-list.js'

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
  /** Sources whose filter did not match. There may be thousands, so they are looked up on first use. */
  readonly filtered: readonly CompiledSource[]
  /** Sources of `filtered` whose filter had no result, and why. */
  readonly failed: readonly FailedSource[]
}

interface FailedSource {
  readonly source: CompiledSource
  readonly msg: string
}

const nothing: readonly never[] = []
const noProduction: Production = { events: nothing, lists: nothing, filtered: nothing, failed: nothing }

/** The events of one record. `challenger`: the one that it is compared with. */
export function produce(
  sources: AccountSources | undefined,
  judgement: Judgement,
  budget: StepBudget,
  challenger?: Challenger,
): Production {
  if (sources === undefined) return noProduction
  const { record, verdict } = judgement
  const producer = new Producer(judgement, budget)
  producer.addEvents(sourcesFor(record, sources), record)
  for (const action of verdict.logs) producer.addEvents(sources.log_action, action)
  // Last, so that the filters of other sources have all steps of the record.
  if (challenger !== undefined && sources.difference.sources.length > 0) {
    const challenged = judgement.by(challenger)
    if (challenged.decision !== judgement.decision) producer.addEvents(sources.difference, challenged)
  }
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
  readonly failed: FailedSource[] = []
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
      this.failed.push({ source, msg: error.message })
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

/** The events of many records share a buffer: one for each would cost more than what is written. */
const written = new JsonBytes(64 * 1024)
const noBytes = Buffer.alloc(0)

/** The answer of a filter or its failure, and what it cost. */
interface Outcome {
  readonly isTrue: boolean
  readonly failure: ExpressionFailure | undefined
  readonly steps: number
}

/**
 * One subject of a record, for the sources of a list: equal filters are evaluated once, and equal selections of fields
 * are written once.
 */
class Round<S> {
  readonly input: FilterInput<S>
  readonly #repeated: ReadonlySet<SourceFilter<S>>
  readonly #recordPart: RecordPart
  readonly #budget: StepBudget
  #outcomes: Map<SourceFilter<S>, Outcome> | undefined
  #object: EventObject<S> | undefined
  #line: Uint8Array = noBytes
  /** The lines of the objects before the last one. */
  #lineOf: Map<EventObject<S>, Uint8Array> | undefined

  /** `repeated`: filters that several sources have. */
  constructor(
    repeated: ReadonlySet<SourceFilter<S>>,
    input: FilterInput<S>,
    recordPart: RecordPart,
    budget: StepBudget,
  ) {
    this.#repeated = repeated
    this.#recordPart = recordPart
    this.input = input
    this.#budget = budget
  }

  /** Throws `ExpressionFailure`. */
  isTrue(filter: SourceFilter<S> | undefined): boolean {
    if (filter === undefined) return true
    if (!this.#repeated.has(filter)) return filter.isTrue(this.input, this.#budget)
    const known = this.#outcomes?.get(filter)
    // Each source pays for its filter, so that a record has the events it would have if each were evaluated.
    if (known !== undefined && known.steps > 0) this.#budget.take(known.steps)
    const { isTrue, failure } = known ?? this.#evaluate(filter)
    if (failure !== undefined) throw failure
    return isTrue
  }

  #evaluate(filter: SourceFilter<S>): Outcome {
    const { spent } = this.#budget
    let isTrue = false
    let failure: ExpressionFailure | undefined
    try {
      isTrue = filter.isTrue(this.input, this.#budget)
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error
      failure = error
    }
    const outcome = { isTrue, failure, steps: this.#budget.spent - spent }
    this.#outcomes ??= new Map()
    this.#outcomes.set(filter, outcome)
    return outcome
  }

  /** The line of an event in a pack, behind the number of its template. */
  lineOf({ object }: EventSource<S>): Uint8Array {
    if (object === this.#object) return this.#line
    if (this.#object !== undefined) {
      this.#lineOf ??= new Map()
      this.#lineOf.set(this.#object, this.#line)
    }
    this.#object = object
    this.#line = this.#lineOf?.get(object) ?? this.#write(object)
    return this.#line
  }

  #write({ writeValues }: EventObject<S>): Uint8Array {
    written.clear()
    this.#recordPart.write(written)
    writeValues(this.input.subject, this.input.decided, written)
    return written.take()
  }
}
