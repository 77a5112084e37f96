/** Random expressions and contexts for the comparison with jexl, the same for the same seed. */

/** Mulberry32: numbers from 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Names of the generated contexts; `missing` never has a value. */
export const names = [
  ...[
    'a',
    'b',
    'c',
    'n',
    's',
    'e',
    't',
    'fl',
    'arr',
    'em',
    'objs',
    'o',
    'x',
    'y',
    'missing',
    'mixed',
    'deep',
    'k',
  ],
] as const

/** A name of the type `map`, its keys and its texts. */
export const mapName = 'h'
const mapKeys = ['k', 'x', 'y', 'host']
const mapTexts = ['', 'a', 'hello', '1', '10.1.2.3', '::1']

const texts = ["'a'", "'p'", '"q"', "''", "'x'", "'y'", "'1'", "'k'", "'hello'", "'a\\'b'", "'0'", "'length'"]
const addresses = ["'10.1.2.3'", "'::1'", "'10.0.0.0/8'", "'2001:db8::/32'"]
const numbers = ['0', '1', '2', '3', '1.5', '-1', '10', '-0']
const operators = ['+', '-', '*', '/', '//', '%', '^', '==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in']
const oneArgument = ['double', 'int', 'string', 'size', 'lower', 'upper']
const twoArguments = ['startsWith', 'endsWith', 'contains', 'inCidrRange']
const patterns = ["'^a'", "'l+'", "'[0-9]$'", "'(a|b)c?'"]
const soup = [
  ...[
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '.',
    ',',
    ':',
    '?',
    '|',
    '!',
    '-',
    ' ',
    "'",
    '"',
    '\\',
    '//',
    '1e5',
    'null',
    '=',
  ],
  ...['&', '#', 'é', '$', 'zz', 'constructor', 'lower', ...operators, ...names, ...texts, ...numbers],
]

export class Generator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  /** A text that is often an expression and sometimes nearly one. */
  text(): string {
    let text = this.expression(4, false)
    if (this.chance(0.3)) text = this.#mutated(text)
    return this.chance(0.1) ? this.#mutated(text) : text
  }

  expression(depth: number, inFilter: boolean): string {
    const inner = () => this.expression(depth - 1, inFilter)
    const kinds: (() => string)[] = [
      () => this.pick(numbers),
      () => this.pick(this.chance(0.9) ? texts : addresses),
      () => this.pick(['true', 'false', 'null', 'undefined']),
      () => this.#name(inFilter),
      () => `${this.#name(inFilter)}${this.#many(1, 2, () => `.${this.pick(names)}`).join('')}`,
      () => `${inner()} ${this.pick(operators)} ${inner()}`,
      () => `${inner()} ${this.pick(operators)} ${inner()}`,
      () => `(${inner()} ${this.pick(operators)} ${inner()})`,
      () => `${inner()} in [${this.#many(1, 3, () => this.pick([...texts, ...numbers])).join(', ')}]`,
      () => `(${inner()})${this.chance(0.15) ? `.${this.pick(names)}` : ''}`,
      () => `!${inner()}`,
      () => `(${inner()}) ? ${this.chance(0.1) ? '' : inner()} : ${inner()}`,
      () => `[${this.#many(0, 3, inner).join(', ')}]`,
      () => `{${this.#many(0, 2, () => `${this.pick(['k', 'x', 'y'])}: ${inner()}`).join(', ')}}`,
      () => `${this.pick(names)}[${this.expression(depth - 1, true)}]${this.#behindFilter(depth)}`,
      () => this.call(depth - 1, inFilter),
      () => this.#entry(),
    ]
    return (depth <= 0 ? this.pick(kinds.slice(0, 4)) : this.pick(kinds))()
  }

  /** A text of the map, in one of the ways to write it, or nearly so. */
  #entry(): string {
    const key = this.pick([...mapKeys, 'missing'])
    return this.pick([
      () => `${mapName}['${key}']`,
      () => `${mapName}["${key}"]`,
      () => `${mapName}.${key}`,
      () => `${mapName}['${key}'].length`,
      () => `${mapName}[${this.pick(names)}]`,
      () => mapName,
    ])()
  }

  /** A call in one of the three ways to write it. */
  call(depth: number, inFilter: boolean): string {
    const inner = () => this.expression(depth - 1, inFilter)
    const [name, ...args] = this.pick([
      () => [this.pick(oneArgument), inner()],
      () => [this.pick(twoArguments), inner(), inner()],
      () => ['matches', inner(), this.pick(patterns)],
      () => [this.pick([...oneArgument, ...twoArguments]), ...this.#many(0, 3, inner)],
    ])()
    const [first, ...rest] = args
    const way = this.below(3)
    if (way === 0 || first === undefined) return `${name}(${args.join(', ')})`
    if (way === 1) return `(${first})|${name}${rest.length > 0 ? `(${rest.join(', ')})` : ''}`
    return `(${first}).${name}(${rest.join(', ')})`
  }

  context(): Record<string, unknown> {
    const present = names.filter((name) => name !== 'missing' && this.chance(0.85))
    return {
      ...Object.fromEntries(present.map((name) => [name, this.#valueOf(name)])),
      [mapName]: Object.fromEntries(
        mapKeys.filter(() => this.chance(0.7)).map((key) => [key, this.pick(mapTexts)]),
      ),
    }
  }

  #name(inFilter: boolean): string {
    return `${inFilter && this.chance(0.5) ? '.' : ''}${this.pick(names)}`
  }

  #behindFilter(depth: number): string {
    const which = this.#random()
    if (which < 0.4) return `.${this.pick(names)}`
    return which < 0.6 ? `[${this.expression(depth - 2, true)}]` : ''
  }

  #many(least: number, most: number, make: () => string): string[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make)
  }

  #mutated(text: string): string {
    const at = this.below(text.length + 1)
    return this.pick([
      () => text.slice(0, at) + this.pick(soup) + text.slice(at),
      () => text.slice(0, at) + text.slice(at + 1 + this.below(3)),
      () => text.slice(0, at) + this.pick(soup) + text.slice(at + 1),
      () => this.#many(1, 8, () => this.pick(soup)).join(this.pick([' ', ''])),
    ])()
  }

  #valueOf(name: string): unknown {
    if (name === 'objs') {
      return Array.from({ length: this.below(4) }, () => ({
        x: this.#value(0),
        y: this.#value(0),
        k: this.#value(1),
      }))
    }
    return name === 'o' ? { k: this.#value(1), x: this.#value(0), length: 5 } : this.#value(2)
  }

  #value(depth: number): unknown {
    return this.pick<() => unknown>([
      () => this.below(5),
      () => this.pick(['', 'a', 'hello', '1', 'p', 'x', '10.1.2.3', '::ffff:10.0.0.1']),
      () => this.chance(0.5),
      () => null,
      () => 0,
      () => this.below(100) / 4,
      () => 'k',
      ...(depth > 0 ? [() => this.#list(depth), () => this.#object(depth), () => this.#list(depth)] : []),
    ])()
  }

  #list(depth: number): unknown[] {
    return Array.from({ length: this.below(4) }, () => this.#value(depth - 1))
  }

  #object(depth: number): unknown {
    return Object.fromEntries(
      Array.from({ length: this.below(4) }, () => [this.pick(names), this.#value(depth - 1)]),
    )
  }
}
