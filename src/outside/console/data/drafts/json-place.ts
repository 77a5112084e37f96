/** Where a value stands in a text of JSON, so that a fault that the API names by its place can be marked. */

interface Range {
  readonly from: number
  readonly to: number
}

/** The steps of a place: `inbound[0].expressions[1]` has four. */
const stepsOf = (place: string): (string | number)[] =>
  [...place.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? name! : Number(index),
  )

/**
 * The range of the value at a place, in characters from 0. If the text ends before, or lacks the value, the range of what
 * was found on the way; undefined if the text does not even begin like the place.
 */
export function rangeOfPlace(text: string, place: string): Range | undefined {
  const reader = new Reader(text)
  let found: Range | undefined
  for (const step of stepsOf(place)) {
    if (!reader.enter(step)) return found
    const from = reader.position
    found = { from, to: reader.endOfValue(from) }
  }
  return found
}

/** Walks through JSON without making values. What is broken ends the walk; it never throws. */
class Reader {
  readonly #text: string
  position = 0

  constructor(text: string) {
    this.#text = text
    this.#skipSpace()
  }

  /** Moves to the value of a member or an element of the value at the position. */
  enter(step: string | number): boolean {
    const open = typeof step === 'number' ? '[' : '{'
    if (this.#text[this.position] !== open) return false
    this.position += 1
    for (let index = 0; this.position < this.#text.length; index += 1) {
      this.#skipSpace()
      if (typeof step === 'string') {
        const name = this.#name()
        if (name === undefined) return false
        if (name === step) return true
      } else if (index === step) return this.#text[this.position] !== ']'
      this.position = this.endOfValue(this.position)
      this.#skipSpace()
      if (this.#text[this.position] !== ',') return false
      this.position += 1
    }
    return false
  }

  /** The name of a member; the position is that of its value then. */
  #name(): string | undefined {
    const end = this.#endOfString(this.position)
    if (this.#text[this.position] !== '"') return undefined
    const written = this.#text.slice(this.position, end)
    this.position = end
    this.#skipSpace()
    if (this.#text[this.position] !== ':') return undefined
    this.position += 1
    this.#skipSpace()
    try {
      return JSON.parse(written)
    } catch {
      return undefined
    }
  }

  endOfValue(start: number): number {
    let depth = 0
    for (let index = start; index < this.#text.length; ) {
      const character = this.#text[index]!
      if (character === '"') {
        index = this.#endOfString(index)
        if (depth === 0) return index
        continue
      }
      if (character === '{' || character === '[') depth += 1
      else if (character === '}' || character === ']') {
        if (depth <= 1) return depth === 1 ? index + 1 : index
        depth -= 1
      } else if (depth === 0 && /[,\s]/.test(character)) return index
      index += 1
    }
    return this.#text.length
  }

  #endOfString(start: number): number {
    for (let index = start + 1; index < this.#text.length; index += 1) {
      if (this.#text[index] === '\\') index += 1
      else if (this.#text[index] === '"') return index + 1
    }
    return this.#text.length
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.position] ?? '')) this.position += 1
  }
}
