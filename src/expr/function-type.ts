import type { Result } from '../core/errors.js'
import type { StepBudget } from './budget.js'

/** A function of the language: pure, bounded, and the same whether called as a function or as a transform. */
export interface ExpressionFunction {
  readonly name: string
  /** The result, in a sentence of the documents. */
  readonly about: string
  /** An expression with it, over the names of traffic policies. */
  readonly example: string
  /** What the parameters are called in messages; their number is the number of arguments. */
  readonly parameters: readonly string[]
  call(first: unknown, second: unknown, budget: StepBudget): unknown
  /** What is wrong with a first argument that is known when the expression is saved. */
  checkFirst?(first: unknown): string | undefined
  /** What is wrong with an item of a list given as second argument, where that item is known. */
  checkItem?(item: unknown): string | undefined
  /** The function for a second argument that is known when the expression is saved, or what is wrong with it. */
  withSecond?(second: unknown): Result<(first: unknown, budget: StepBudget) => unknown>
  /** The second argument has to be known when the expression is saved. */
  readonly secondIsLiteral?: boolean
  /** Not worked out when the expression is saved, even where all arguments are known. */
  readonly neverFolded?: boolean
}
