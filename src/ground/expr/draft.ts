/**
 * One JavaScript function for each shape of expression. Closures of one kind share their machine code, so V8 can't adapt it
 * to any of them (Node 20); the function of a shape is one piece of code, with the readers of its names inlined.
 *
 * Nothing that a user wrote becomes code, not even escaped. The text of a function is put together from texts that stand
 * in this room; whatever comes from an expression (literals, names of members) is an argument. So expressions that differ
 * only in literals share a function.
 *
 * An expression becomes a function of its own, for a filter, or an instruction, for a list of policies. Neither does for
 * both (CPU time, Node 20.20): filters as instructions take 1.3 times as long, because V8 compiles the literals of a
 * function that is the only one of its shape into its code, and reads each literal of an instruction; and 5,000 functions
 * that are called one after the other take 2.8 times as long as a list of instructions, because they are spread over memory.
 */
import { firstItem, memberOfFirst, unreadable } from './members.js'
import { looselyEqual } from './operators.js'
import type { Instruction, Operation, Run } from './run.js'
import { primitiveOf } from './values.js'

/** JavaScript for one operand: a name, a call, or something in parentheses. */
export type Script = string

/** Writes a part of an expression into a draft. */
export type Writer = (draft: Draft) => Script

/**
 * Some 2 KB each. The one that was asked for longest ago makes room for a new one, so that no account can use up the
 * room of all. An expression keeps its own function, which goes with it; one of a forgotten shape that is compiled later
 * gets another function.
 */
const shapesMax = 1000
/** In the order in which they were last asked for. */
const shapes = new Map<string, unknown>()

const numbers = new WeakMap<object, number>()
let lastNumber = 0

/** The same number for the same object, another for each other. */
function numberOf(object: object): number {
  const number = numbers.get(object) ?? ++lastNumber
  if (number === lastNumber) numbers.set(object, number)
  return number
}

/** The functions that generated code calls by name. */
const helpers = { firstItem, looselyEqual, memberOfFirst, primitiveOf, unreadable }

/** Where a function finds the literals of its expression. */
interface Form {
  /** Reads the literal at this place, from 0. */
  readonly literal: (place: number) => Script
  /** The parameters of a loop. */
  readonly parameters: string
  /** The text that returns what expressions of the shape share. */
  readonly text: (body: string, loops: readonly string[], literals: number) => readonly string[]
}

/** A function makes the functions of expressions from their literals. */
const functionForm: Form = {
  literal: (place) => `c${place}`,
  parameters: 'context, budget, element',
  text: (body, loops, literals) => [
    `return (${listed('c', literals)}) => {`,
    ...loops,
    `return (context, budget) => ${body}`,
    '}',
  ],
}

/** A function gets the literals with each call, behind itself. */
const instructionForm: Form = {
  literal: (place) => `instructions[at + ${place + 1}]`,
  parameters: 'context, budget, element, instructions, at',
  text: (body, loops) => [...loops, `return (context, budget, instructions, at) => ${body}`],
}

let isCodeAllowed = true

/**
 * No code is made from text from now on: expressions stay closures. A page whose content security policy forbids such code
 * would report each attempt.
 */
export function forbidCode(): void {
  isCodeAllowed = false
}

/** The function of the expression that `write` writes; undefined if no code may be made. */
export function functionOf<C>(write: Writer): Run<C> | undefined {
  if (!isCodeAllowed) return undefined
  const draft = new Draft(functionForm)
  const shape = draft.shapeOf(write(draft)) as ((...literals: readonly unknown[]) => Run<C>) | undefined
  return shape?.(...draft.values)
}

/** The same as an instruction. */
export function instructionOf<C>(write: Writer): Instruction<C> | undefined {
  if (!isCodeAllowed) return undefined
  const draft = new Draft(instructionForm)
  const operation = draft.shapeOf(write(draft)) as Operation<C> | undefined
  return operation && [operation, ...draft.values]
}

/** A function while it is written. */
export class Draft {
  /** The literals. */
  readonly values: unknown[] = []
  readonly #form: Form
  readonly #common = new Map<object | string, Script>()
  readonly #loops: string[] = []
  #variables = 0

  constructor(form: Form) {
    this.#form = form
  }

  /** A value of this expression; others of its shape have others here. */
  value(value: unknown): Script {
    return this.#form.literal(this.values.push(value) - 1)
  }

  /**
   * A function, or the name of a member, that all expressions of this shape have here. So V8 always sees the same one,
   * and can inline the function, or knows where the member is (Node 20).
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
    return `${this.value(run)}(context, budget, element)`
  }

  /** A call of a function of its own with these statements. */
  loop(statements: string): Script {
    return `f${this.#loops.push(statements) - 1}(${this.#form.parameters})`
  }

  /** The function that all expressions of this shape share; undefined if no code may be made. */
  shapeOf(script: Script): unknown {
    const declared = this.#variables === 0 ? '' : `let ${listed('t', this.#variables)}`
    const loops = this.#loops.map(
      (statements, index) =>
        `const f${index} = (${this.#form.parameters}) => {\n${declared}\n${statements}\n}`,
    )
    // Outside of filters there is no element; a parameter that the caller leaves out would cost 5 ns (Node 20).
    const body = `{\nlet element\n${declared}\nreturn ${script}\n}`
    const text = [
      `'use strict'`,
      `const { ${Object.keys(helpers).join(', ')} } = helpers`,
      `const [${listed('k', this.#common.size)}] = common`,
      ...this.#form.text(body, loops, this.values.length),
    ].join('\n')
    const common = [...this.#common.keys()]
    const key = JSON.stringify([text, common.map((one) => (typeof one === 'string' ? one : numberOf(one)))])
    const shape = shapes.get(key) ?? makeShape(text, common)
    if (shape !== undefined) keepShape(key, shape)
    return shape
  }
}

const listed = (letter: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`).join(', ')

function makeShape(text: string, common: readonly unknown[]): unknown {
  try {
    return new Function('helpers', 'common', text)(helpers, common) as unknown
  } catch (error) {
    // Node runs with --disallow-code-generation-from-strings.
    if (error instanceof EvalError) return undefined
    throw error
  }
}

function keepShape(key: string, shape: unknown): void {
  shapes.delete(key)
  shapes.set(key, shape)
  if (shapes.size <= shapesMax) return
  const [longestAgo] = shapes.keys()
  shapes.delete(longestAgo!)
}
