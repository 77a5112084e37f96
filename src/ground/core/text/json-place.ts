/** Finds places in JSON text: where it stops being JSON, and where the value of a member begins. */

/** Deeper text has no places: the scanner recurses into it. */
const nestingMax = 500

/** The index at which the text stops being JSON; undefined if it is JSON, or nested too deep to say. */
export function syntaxErrorIndex(text: string): number | undefined {
  const { fault } = scanned(text, () => {})
  return fault?.isTooDeep ? undefined : fault?.index
}

/** A value in the text: its index, and the members that lead to it. */
interface JsonPlace {
  readonly index: number
  readonly path: readonly string[]
}

/** The value at a path; if it is missing, the innermost value around its place. Undefined if the text is not JSON. */
export function placeIn(text: string, path: readonly string[]): JsonPlace | undefined {
  let found: JsonPlace | undefined
  const { fault } = scanned(text, (at, index) => {
    const leadsThere = at.length <= path.length && at.every((member, depth) => member === path[depth])
    if (leadsThere && at.length >= (found?.path.length ?? 0)) found = { index, path: [...at] }
  })
  return fault === undefined ? found : undefined
}

/** Called with the members that lead to a value, and the index at which it begins. */
type Visit = (path: readonly string[], index: number) => void

class Fault extends Error {
  readonly index: number
  readonly isTooDeep: boolean

  constructor(index: number, isTooDeep = false) {
    super()
    this.index = index
    this.isTooDeep = isTooDeep
  }
}

function scanned(text: string, visit: Visit): { readonly fault?: Fault } {
  try {
    new Scanner(text, visit).document()
    return {}
  } catch (error) {
    if (error instanceof Fault) return { fault: error }
    throw error
  }
}

const numberForm = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const escapeForm = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const literals = ['true', 'false', 'null']

class Scanner {
  readonly #text: string
  readonly #visit: Visit
  readonly #path: string[] = []
  #index = 0

  constructor(text: string, visit: Visit) {
    this.#text = text
    this.#visit = visit
  }

  document(): void {
    this.#value()
    if (this.#next() !== '') throw new Fault(this.#index)
  }

  #value(): void {
    if (this.#path.length > nestingMax) throw new Fault(this.#index, true)
    const first = this.#next()
    this.#visit(this.#path, this.#index)
    if (first === '{') this.#members('}', () => this.#member())
    else if (first === '[') this.#members(']', (position) => this.#under(String(position)))
    else if (first === '"') this.#string()
    else this.#scalar()
  }

  /** The members between two brackets, with commas. */
  #members(end: string, one: (position: number) => void): void {
    this.#index += 1
    if (this.#next() === end) this.#index += 1
    else
      for (let position = 0; ; position += 1) {
        one(position)
        const next = this.#next()
        if (next !== end && next !== ',') throw new Fault(this.#index)
        this.#index += 1
        if (next === end) return
      }
  }

  #member(): void {
    if (this.#next() !== '"') throw new Fault(this.#index)
    const start = this.#index
    this.#string()
    const name = JSON.parse(this.#text.slice(start, this.#index)) as string
    if (this.#next() !== ':') throw new Fault(this.#index)
    this.#index += 1
    this.#under(name)
  }

  #under(member: string): void {
    this.#path.push(member)
    this.#value()
    this.#path.pop()
  }

  #string(): void {
    const text = this.#text
    for (this.#index += 1; text[this.#index] !== '"'; ) {
      const char = text[this.#index] ?? ''
      // The end of the text, too: '' is less than any character.
      if (char < ' ') throw new Fault(this.#index)
      if (char === '\\') this.#match(escapeForm)
      else this.#index += 1
    }
    this.#index += 1
  }

  #scalar(): void {
    const literal = literals.find((word) => this.#text.startsWith(word, this.#index))
    if (literal === undefined) this.#match(numberForm)
    else this.#index += literal.length
  }

  #match(form: RegExp): void {
    form.lastIndex = this.#index
    const [found] = form.exec(this.#text) ?? []
    if (found === undefined) throw new Fault(this.#index)
    this.#index += found.length
  }

  /** The next character that is no space; '' at the end. */
  #next(): string {
    while (/^[ \t\n\r]$/.test(this.#text[this.#index] ?? '')) this.#index += 1
    return this.#text[this.#index] ?? ''
  }
}
