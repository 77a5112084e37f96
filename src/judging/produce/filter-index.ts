/**
 * Finds the filters that may be true for a record without asking all of them: those whose requirement is met, and those
 * that have none. Each filter is filed under the conditions of its requirement that fewest others share; a filter that
 * is found is evaluated as a whole.
 *
 * Matching by predicates that many subscriptions share: Aguilera et al., PODC 1999; Fabret et al., SIGMOD 2001.
 */

import { parseAddress } from '../../ground/core/address/ip.js'
import { NestedRanges } from '../../ground/core/address/nested-ranges.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Comparable, Condition, OrderOperator, Requirement } from '../../ground/expr/requirement.js'

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

/** Sorts, and drops duplicates. */
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

/** The places of filters in their list. */
type Places = number[]

/** Conditions of one name, filed so that a value finds those that it meets. */
class NameIndex<C> {
  readonly #read: (context: C) => unknown
  /** The type of the values that conditions are about. */
  readonly #type: string
  readonly #all: Places = []
  readonly #equal = new Map<Comparable, Places>()
  readonly #beginnings = new TextParts((text, length) => text.slice(0, length))
  readonly #ends = new TextParts((text, length) => text.slice(-length))
  readonly #bounds = new Bounds()
  readonly #ranges: NestedRanges<number> | undefined

  constructor(conditions: readonly (readonly [Condition<C>, number])[]) {
    const [{ name }] = conditions[0]!
    this.#read = name.read
    this.#type = name.type
    for (const [condition, place] of conditions) this.#add(condition, place)
    const ranges = conditions.flatMap(([condition, place]) =>
      condition.kind === 'range' ? [[condition.range, place] as const] : [],
    )
    if (ranges.length > 0) this.#ranges = new NestedRanges(ranges)
    this.#bounds.sort()
  }

  #add(condition: Condition<C>, place: number): void {
    this.#all.push(place)
    switch (condition.kind) {
      case 'equal':
        getOrMake(this.#equal, condition.value, () => []).push(place)
        break
      case 'beginning':
        this.#beginnings.add(condition.value, place)
        break
      case 'end':
        this.#ends.add(condition.value, place)
        break
      case 'order':
        this.#bounds.add(condition.operator, condition.value, place)
    }
  }

  /** Adds the places of the conditions that hold to `found`, some of them more than once. */
  find(context: C, found: Places): void {
    const value = this.#read(context)
    if (value === undefined) return
    // In the language, an order takes null for 0.
    if (value === null) this.#bounds.find(0, found)
    else if (typeof value !== this.#type) addAll(found, this.#all)
    else {
      const equal = this.#equal.get(value as Comparable)
      if (equal !== undefined) addAll(found, equal)
      if (typeof value === 'string') this.#findText(value, found)
      else if (typeof value === 'number') this.#bounds.find(value, found)
    }
  }

  #findText(text: string, found: Places): void {
    this.#beginnings.find(text, found)
    this.#ends.find(text, found)
    this.#ranges?.find(parseAddress(text), (place) => found.push(place))
  }
}

/** Beginnings or ends of texts, by length. */
class TextParts {
  readonly #cut: (text: string, length: number) => string
  readonly #byLength = new Map<number, Map<string, Places>>()

  constructor(cut: (text: string, length: number) => string) {
    this.#cut = cut
  }

  add(part: string, place: number): void {
    const ofLength = getOrMake(this.#byLength, part.length, () => new Map<string, Places>())
    getOrMake(ofLength, part, () => []).push(place)
  }

  find(text: string, found: Places): void {
    for (const [length, parts] of this.#byLength) {
      if (length > text.length) continue
      const places = parts.get(this.#cut(text, length))
      if (places !== undefined) addAll(found, places)
    }
  }
}

interface Bound {
  readonly value: number
  readonly isIncluded: boolean
  readonly place: number
}

/** Lower and upper bounds of numbers; those that a number meets come first. */
class Bounds {
  readonly #lower: Bound[] = []
  readonly #upper: Bound[] = []

  add(operator: OrderOperator, value: number, place: number): void {
    const bounds = operator.startsWith('>') ? this.#lower : this.#upper
    bounds.push({ value, isIncluded: operator.endsWith('='), place })
  }

  sort(): void {
    this.#lower.sort((a, b) => a.value - b.value)
    this.#upper.sort((a, b) => b.value - a.value)
  }

  find(number: number, found: Places): void {
    for (const { value, isIncluded, place } of this.#lower) {
      if (!(value <= number)) break
      if (isIncluded || value < number) found.push(place)
    }
    for (const { value, isIncluded, place } of this.#upper) {
      if (!(value >= number)) break
      if (isIncluded || value > number) found.push(place)
    }
  }
}
