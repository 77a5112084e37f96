/**
 * Start here: expressions of traffic policies and event filters. The room knows the names of no record or resource: a
 * scope is given.
 *
 * An expression goes through one phase per file: parse (jexl's lexer and parser, and limits in front of them) ▸ check
 * (names, functions and arguments known) ▸ compile (constants folded, closures). All of it happens once, when the
 * expression is saved or a view is built; per record only the closures run.
 */
import { fail, ok, type Result } from '../core/errors.js'
import type { StepBudget } from './budget.js'
import { checkNames } from './check.js'
import { compileTree } from './compile.js'
import { parseExpression } from './parse.js'
import { type ExpressionProblem, Refusal } from './problem.js'
import type { Scope } from './scope.js'

export interface CompiledExpression<C> {
  /** As it was written. */
  readonly text: string
  /** The value for this context. Throws `ExpressionFailure` if there is none. */
  evaluate(context: C, budget: StepBudget): unknown
  /** The value, taken for true or false as the language's own operators would. Throws like `evaluate`. */
  isTrue(context: C, budget: StepBudget): boolean
}

/** Text ▸ closures. Never throws, however bad the text is. */
export function compileExpression<C>(
  text: unknown,
  scope: Scope<C>,
): Result<CompiledExpression<C>, ExpressionProblem> {
  try {
    const tree = checkNames(parseExpression(text), scope)
    const run = compileTree(tree)
    return ok({
      text: text as string,
      evaluate: (context, budget) => run(context, undefined, budget),
      isTrue: (context, budget) => Boolean(run(context, undefined, budget)),
    })
  } catch (error) {
    if (error instanceof Refusal) return fail(error.problem)
    throw error
  }
}

/** The problem of a text; the compiled expression is dropped. */
export function checkExpression<C>(text: unknown, scope: Scope<C>): ExpressionProblem | undefined {
  const compiled = compileExpression(text, scope)
  return compiled.ok ? undefined : compiled.problem
}
