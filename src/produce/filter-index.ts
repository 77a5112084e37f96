/**
 * Finds the filters that may be true for a record without asking all of them: those whose requirement is met, and those
 * that have none. Each filter is filed under the conditions of its requirement that fewest others share; a filter that
 * is found is evaluated as a whole.
 *
 * Matching by predicates that many subscriptions share: Aguilera et al., PODC 1999; Fabret et al., SIGMOD 2001.
 */
import { getOrMake } from '../core/maps.js'
import type { Condition, Requirement } from '../expr/requirement.js'
import { NameIndex } from './name-index.js'

export class FilterIndex<C> {
  readonly #names: readonly NameIndex<C>[]
  /** Places of the filters that are always asked. */
  readonly #unfiled: readonly number[]
  /** Reused for each record. */
  readonly #found: number[] = []

  /** The requirement of the filter at each place. */
  constructor(requirements: readonly (Requirement<C> | undefined)[]) {
    const popularity = new Popularity(requirements)
    const byName = new Map<unknown, [Condition<C>, number][]>()
    const unfiled: number[] = []
    for (const [place, requirement] of requirements.entries()) {
      if (requirement === undefined) unfiled.push(place)
      else
        for (const condition of popularity.rarest(requirement).conditions)
          getOrMake(byName, condition.name.read, () => []).push([condition, place])
    }
    this.#names = [...byName.values()].map((conditions) => new NameIndex(conditions))
    this.#unfiled = unfiled
  }

  /** The places of the filters to ask, in ascending order. */
  find(context: C): readonly number[] {
    const found = this.#found
    found.length = 0
    for (let index = 0; index < this.#names.length; index++) this.#names[index]!.find(context, found)
    if (found.length === 0) return this.#unfiled
    addAll(found, this.#unfiled)
    return inOrder(found)
  }
}

/** Sorts, and drops what is there more than once. */
function inOrder(places: number[]): readonly number[] {
  if (places.length > 1) places.sort((a, b) => a - b)
  return places.filter((place, index) => place !== places[index - 1])
}

function addAll(found: number[], places: readonly number[]): void {
  for (let index = 0; index < places.length; index++) found.push(places[index]!)
}

interface Choice<C> {
  /** A filter that is true meets one of them. */
  readonly conditions: readonly Condition<C>[]
  /** How many filters have these conditions, the sum over all. */
  readonly filters: number
}

/** How many filters have a condition. All orders of a name count as one condition: large values meet most of them. */
class Popularity<C> {
  readonly #counts = new Map<unknown, Map<string, number>>()

  constructor(requirements: readonly (Requirement<C> | undefined)[]) {
    for (const requirement of requirements) if (requirement !== undefined) this.#add(requirement)
  }

  #add(requirement: Requirement<C>): void {
    if (requirement.kind === 'any' || requirement.kind === 'all') {
      for (const part of requirement.of) this.#add(part)
      return
    }
    const counts = getOrMake(this.#counts, requirement.name.read, () => new Map<string, number>())
    const key = keyOf(requirement)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }

  rarest(requirement: Requirement<C>): Choice<C> {
    switch (requirement.kind) {
      case 'any': {
        const choices = requirement.of.map((part) => this.rarest(part))
        return {
          conditions: choices.flatMap(({ conditions }) => conditions),
          filters: choices.reduce((sum, { filters }) => sum + filters, 0),
        }
      }
      case 'all':
        return requirement.of
          .map((part) => this.rarest(part))
          .reduce((rarest, choice) => (choice.filters < rarest.filters ? choice : rarest))
      default: {
        const filters = this.#counts.get(requirement.name.read)?.get(keyOf(requirement)) ?? 0
        return { conditions: [requirement], filters }
      }
    }
  }
}

const keyOf = ({ kind, value }: Condition<never>): string => (kind === 'order' ? kind : `${kind} ${value}`)
