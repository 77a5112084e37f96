/** The reference: jexl itself, with the functions of the language added to it. */
import jexl from 'jexl'
import { expressionFunctions } from '../../../src/ground/expr/functions.js'
import { StepBudget } from '../../../src/ground/expr/run.js'

const reference = new jexl.Jexl()
for (const { name, call, withSecond, secondIsLiteral } of expressionFunctions.values()) {
  const callback = (first: unknown, second: unknown): unknown => {
    if (!secondIsLiteral) return call(first, second, new StepBudget())
    const known = withSecond?.(second)
    if (!known?.ok) throw new Error(known?.problem.msg)
    return known.value(first, new StepBudget())
  }
  reference.addFunction(name, callback)
  reference.addTransform(name, callback)
}

/** jexl's compiled expression; throws what jexl throws. */
export const compileReference = (text: string): { evalSync(context: object): unknown } =>
  reference.compile(text)
