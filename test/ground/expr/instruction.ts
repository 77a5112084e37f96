import type { Result } from '../../../src/ground/core/errors.js'
import { type CompiledExpression, compileToInstruction } from '../../../src/ground/expr/expression.js'
import type { ExpressionProblem } from '../../../src/ground/expr/problem.js'
import type { Scope } from '../../../src/ground/expr/scope.js'

/** An expression that is evaluated as the second of three equal instructions in one array. */
export function compileAmongOthers<C>(
  text: string,
  scope: Scope<C>,
): Result<Pick<CompiledExpression<C>, 'evaluate'>, ExpressionProblem> {
  const compiled = compileToInstruction(text, scope)
  if (!compiled.ok) return compiled
  const { value: instruction } = compiled
  const [operation] = instruction
  const instructions = [...instruction, ...instruction, ...instruction]
  return {
    ok: true,
    value: { evaluate: (context, budget) => operation(context, budget, instructions, instruction.length) },
  }
}
