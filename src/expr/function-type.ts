import type { Result } from '../core/errors.js'
import type { StepBudget } from './budget.js'

/** A function of the language: pure, bounded, and the same whether called as a function or as a transform. */
export interface ExpressionFunction {
  readonly name: string
  /** The result, in a sentence of the documents. */
  readonly about: string
  /** An expression with it, over the names of traffic policies. */
  readonly example: string
  /** Names of the parameters, as messages show them. */
  readonly parameters: readonly string[]
  call(first: unknown, second: unknown, budget: StepBudget): unknown
  /** The problem of a first argument that is known when the expression is saved. */
  checkFirst?(first: unknown): string | undefined
  /** The problem of a known item of a list that is the second argument. */
  checkItem?(item: unknown): string | undefined
  /** The function for a second argument that is known when the expression is saved, or what is wrong with it. */
  withSecond?(second: unknown): Result<(first: unknown, budget: StepBudget) => unknown>
  /** The second argument has to be known when the expression is saved. */
  readonly secondIsLiteral?: boolean
  /** Its value is always true or false. */
  readonly isQuestion?: boolean
  /** Not evaluated when the expression is saved, even if all arguments are known. */
  readonly neverFolded?: boolean
}
