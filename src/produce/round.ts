/**
 * One subject of a record, for the sources of a list: equal filters are evaluated once, and equal selections of fields
 * are written once.
 */
import type { FilterInput } from '../event/define.js'
import type { ObjectSerializer } from '../event/envelope.js'
import { ExpressionFailure, type StepBudget } from '../expr/budget.js'
import type { EventSource, SourceFilter } from './source-list.js'

/** The answer of a filter or its failure, and what it cost. */
interface Outcome {
  readonly isTrue: boolean
  readonly failure: ExpressionFailure | undefined
  readonly steps: number
}

export class Round<S> {
  readonly input: FilterInput<S>
  readonly #repeated: ReadonlySet<SourceFilter<S>>
  readonly #budget: StepBudget
  #outcomes: Map<SourceFilter<S>, Outcome> | undefined
  #serialize: ObjectSerializer<S> | undefined
  #objectJson = ''
  /** What the serializers before the last one wrote. */
  #objects: Map<ObjectSerializer<S>, string> | undefined

  /** `repeated`: filters that several sources have. */
  constructor(repeated: ReadonlySet<SourceFilter<S>>, input: FilterInput<S>, budget: StepBudget) {
    this.#repeated = repeated
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

  /** The event's `object`, as the source selects it. */
  objectJson({ serialize }: EventSource<S>): string {
    if (serialize === this.#serialize) return this.#objectJson
    if (this.#serialize !== undefined) {
      this.#objects ??= new Map()
      this.#objects.set(this.#serialize, this.#objectJson)
    }
    this.#serialize = serialize
    this.#objectJson = this.#objects?.get(serialize) ?? serialize(this.input.subject, this.input.decided)
    return this.#objectJson
  }
}
