/** Running expressions: the form of compiled ones, and the steps that they may take. */

/**
 * A compiled part of an expression. `element` is the element that a filter tests: undefined outside of filters, and for
 * falsy elements (as in jexl).
 */
export type Run<C> = (context: C, budget: StepBudget, element?: unknown) => unknown

/**
 * The function of all expressions of one shape. An expression is an `Instruction`; it begins at `at` in `instructions`.
 */
export type Operation<C> = (
  context: C,
  budget: StepBudget,
  instructions: readonly unknown[],
  at: number,
) => unknown

/**
 * An expression as data: its operation and, behind that, its literals. Instructions of many expressions can stand in one
 * array, so that evaluating them reads a few neighbouring cache lines.
 */
export type Instruction<C> = readonly [Operation<C>, ...unknown[]]

/** Steps for all expressions of one record, about 50 ns each: 5 ms, and 100 ms with the worst patterns. */
export const exprStepsMax = 100_000

/**
 * An expression failed for this record: `double("abc")`, a text too long, the budget spent. An expected error: the
 * evaluator catches and counts it, and treats the expression as not matching.
 */
export class ExpressionFailure extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ExpressionFailure'
  }
}

/**
 * The steps all expressions may take for one record together. A step is a piece of work in the order of 50 ns; only
 * work that can repeat or grow with its input is counted (the rest is bounded by the length of the text).
 */
export class StepBudget {
  readonly #limit: number
  #left: number

  constructor(limit: number = exprStepsMax) {
    this.#limit = limit
    this.#left = limit
  }

  /** Begins the next record. */
  reset(): void {
    this.#left = this.#limit
  }

  get spent(): number {
    return this.#limit - this.#left
  }

  /** Takes `steps`; throws an `ExpressionFailure` if not enough are left. */
  take(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new ExpressionFailure(`The record needs more than ${this.#limit} steps.`)
  }
}
