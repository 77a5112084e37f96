/** Conditions of one name, filed so that a value finds those that it meets. */

import { parseAddress } from '../core/address/ip.js'
import { NestedRanges } from '../core/address/nested-ranges.js'
import { getOrMake } from '../core/maps.js'
import type { Comparable, Condition, OrderOperator } from '../expr/requirement.js'

/** The places of filters in their list. */
type Places = number[]

export class NameIndex<C> {
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

function addAll(found: Places, places: readonly number[]): void {
  for (let index = 0; index < places.length; index++) found.push(places[index]!)
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
