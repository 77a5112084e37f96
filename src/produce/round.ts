/**
 * One subject of a record, for the sources of a list: equal filters are evaluated once, and equal selections of fields
 * are written once.
 */
import { JsonBytes } from '../core/text/json-bytes.js'
import type { FilterInput } from '../event/define.js'
import type { EventObject } from '../event/envelope.js'
import type { RecordPart } from '../event/event-id.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import type { EventSource, SourceFilter } from './source-list.js'

/** The events of many records share a buffer: one for each would cost more than what is written. */
const written = new JsonBytes(64 * 1024)
const noBytes = Buffer.alloc(0)

/** The answer of a filter or its failure, and what it cost. */
interface Outcome {
  readonly isTrue: boolean
  readonly failure: ExpressionFailure | undefined
  readonly steps: number
}

export class Round<S> {
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
