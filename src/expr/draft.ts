/**
 * One JavaScript function for each shape of expression. Closures that call one another share their code, and V8 can't
 * adapt that to any of them; the function of a shape is in one piece, with the readers of its names in it.
 *
 * Nothing that a user wrote becomes code, not even escaped. The text of a function is put together from texts that stand
 * in this room; whatever comes from an expression (literals, names of members) is an argument. So expressions that differ
 * only in literals share a function.
 */
import { firstItem, indexed, memberOfFirst } from './members.js'
import { looselyEqual } from './operators.js'
import type { Run } from './run.js'
import { primitiveOf } from './values.js'

/** JavaScript for one operand: a name, a call, or something in parentheses. */
export type Script = string

/** Writes a part of an expression into a draft. */
export type Writer = (draft: Draft) => Script

/** Makes the function of an expression from its literals. */
type Shape = (...values: readonly unknown[]) => unknown

/** Some 2 KB each, for the life of the process. Expressions of other shapes stay closures. */
const shapesMax = 1000
const shapes = new Map<string, Shape>()

const numbers = new WeakMap<object, number>()
let lastNumber = 0

/** The same number for the same object, another for each other. */
function numberOf(object: object): number {
  const number = numbers.get(object) ?? ++lastNumber
  if (number === lastNumber) numbers.set(object, number)
  return number
}

/** What functions call by name. */
const helpers = { firstItem, indexed, looselyEqual, memberOfFirst, primitiveOf }

/** The parameters of a `Run`. */
const parameters = 'context, budget, element'

/** A function while it is written. */
export class Draft {
  readonly #values: unknown[] = []
  readonly #common = new Map<object | string, Script>()
  readonly #loops: string[] = []
  #variables = 0

  /** A value of this expression; others of its shape have others here. */
  value(value: unknown): Script {
    return `c${this.#values.push(value) - 1}`
  }

  /**
   * A function, or the name of a member, that all expressions of this shape have here. So V8 always sees the same one,
   * and takes the function's code in, or knows where the member is.
   */
  common(value: object | string): Script {
    const script = this.#common.get(value) ?? `k${this.#common.size}`
    this.#common.set(value, script)
    return script
  }

  variable(): Script {
    return `t${this.#variables++}`
  }

  /** A call of a part that is a closure. */
  callOf<C>(run: Run<C>): Script {
    return `${this.value(run)}(${parameters})`
  }

  /** A call of a function of its own with these statements. */
  loop(statements: string): Script {
    return `f${this.#loops.push(statements) - 1}(${parameters})`
  }

  /** The function whose result is `script`; undefined if there is no room for its shape, or no code may be made. */
  finish<C>(script: Script): Run<C> | undefined {
    const declared = this.#variables === 0 ? '' : `let ${listed('t', this.#variables)}`
    const text = [
      `'use strict'`,
      `const { ${Object.keys(helpers).join(', ')} } = helpers`,
      `const [${listed('k', this.#common.size)}] = common`,
      `return (${listed('c', this.#values.length)}) => {`,
      ...this.#loops.map(
        (statements, index) => `const f${index} = (${parameters}) => {\n${declared}\n${statements}\n}`,
      ),
      // Outside of filters there is no element, and V8 takes 5 ns to supply a parameter that the caller left out.
      `return (context, budget) => {\nlet element\n${declared}\nreturn ${script}\n}`,
      '}',
    ].join('\n')
    const common = [...this.#common.keys()]
    const key = JSON.stringify([text, common.map((one) => (typeof one === 'string' ? one : numberOf(one)))])
    const shape = shapes.get(key) ?? makeShape(key, text, common)
    return shape?.(...this.#values) as Run<C> | undefined
  }
}

const listed = (letter: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`).join(', ')

function makeShape(key: string, text: string, common: readonly unknown[]): Shape | undefined {
  if (shapes.size >= shapesMax) return undefined
  try {
    const shape = new Function('helpers', 'common', text)(helpers, common) as Shape
    shapes.set(key, shape)
    return shape
  } catch (error) {
    // Node runs with --disallow-code-generation-from-strings.
    if (error instanceof EvalError) return undefined
    throw error
  }
}
