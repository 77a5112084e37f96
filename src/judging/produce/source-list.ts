/** The sources of an account that are about the same subjects, and which of them to ask about a subject. */

import type { EventTemplate } from '../../delivery/wire/event-template.js'
import type { Requirement } from '../../ground/expr/requirement.js'
import type { StepBudget } from '../../ground/expr/run.js'
import type { FilterInput, Origin, Subjects } from '../../words/event/define.js'
import type { EventObject } from '../../words/event/envelope.js'
import type { LogAction } from '../evaluate/traffic-policy.js'
import { FilterIndex } from './filter-index.js'

/** One source of one subscription. */
export interface CompiledSource {
  readonly subscriptionId: string
  /** `tcp_connection_closed.v0` … */
  readonly kindName: string
  readonly destinationIds: readonly string[]
}

export interface SourceFilter<S> {
  /** Throws `ExpressionFailure`. */
  isTrue(input: FilterInput<S>, budget: StepBudget): boolean
  /** The condition that an input must meet; undefined if the filter must always be evaluated. */
  readonly requirement: Requirement<FilterInput<S>> | undefined
}

export interface EventSource<S> extends CompiledSource {
  /** The same object for sources of a kind with equal filters; undefined if every record is meant. */
  readonly filter: SourceFilter<S> | undefined
  readonly object: EventObject<S>
  /** The same for equal subjects. */
  readonly templateOf: (subject: S) => EventTemplate
}

/** The subjects that the walk makes events from; a log action also has its policy and its place there. */
type PipelineSubjects = { readonly [O in Origin]: O extends 'log_action' ? LogAction : Subjects[O] }

/**
 * The sources of an account, by what their events are made from: records of each type, log actions, differences of
 * challengers.
 */
export type AccountSources = { readonly [O in Origin]: SourceList<PipelineSubjects[O]> }

/** With fewer sources, asking each is quicker. */
const indexedSourcesMin = 8

export class SourceList<S> {
  readonly sources: readonly EventSource<S>[]
  /** Filters that several sources have. */
  readonly repeated: ReadonlySet<SourceFilter<S>>
  readonly #places: readonly number[]
  #index: FilterIndex<FilterInput<S>> | undefined

  constructor(sources: readonly EventSource<S>[]) {
    this.sources = sources
    this.repeated = repeatedFilters(sources)
    this.#places = [...sources.keys()]
  }

  /** The places of all sources but those whose filter is false for the input and would have taken no step. */
  placesToAsk(input: FilterInput<S>): readonly number[] {
    if (this.sources.length < indexedSourcesMin) return this.#places
    // Made when the first record comes: many accounts have no traffic in this process.
    this.#index ??= new FilterIndex(this.sources.map(({ filter }) => filter?.requirement))
    return this.#index.find(input)
  }
}

function repeatedFilters<S>(sources: readonly EventSource<S>[]): Set<SourceFilter<S>> {
  const known = new Set<SourceFilter<S>>()
  const repeated = new Set<SourceFilter<S>>()
  for (const { filter } of sources) {
    if (filter === undefined) continue
    if (known.has(filter)) repeated.add(filter)
    known.add(filter)
  }
  return repeated
}
