/** The outcomes of random expressions, the same for the same seed. It runs in browsers, too, so it knows nothing of Node. */
import { compileClosures, compileExpression } from '../../../src/ground/expr/expression.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope } from '../../../src/ground/expr/scope.js'
import { Generator, mapName, names } from './generator.js'

export type Context = Record<string, unknown>

export const generatedScope = defineScope<Context>({
  names: {
    ...Object.fromEntries(
      names.map((name) => [name, { type: 'any' as const, read: (context: Context) => context[name] }]),
    ),
    [mapName]: { type: 'map', read: (context, key = '') => (context[mapName] as Context)[key] },
  },
})

/**
 * A line for each text that is refused, and for each expression in each of three contexts, as a function and as closures.
 */
export function corpusOutcomes(linesMin: number, seed: number): string[] {
  const generator = new Generator(seed)
  const lines: string[] = []
  while (lines.length < linesMin) {
    const text = generator.text()
    const compiled = [compileExpression, compileClosures].map((compile) => compile(text, generatedScope))
    const contexts = [generator.context(), generator.context(), generator.context()]
    for (const each of compiled) {
      if (!each.ok) lines.push(`${text}: refused, ${each.problem.reason}: ${each.problem.msg}`)
      else for (const context of contexts) lines.push(`${text}: ${outcomeOf(each.value, context)}`)
    }
  }
  return lines
}

interface Evaluating {
  evaluate(context: Context, budget: StepBudget): unknown
}

function outcomeOf({ evaluate }: Evaluating, context: Context): string {
  const budget = new StepBudget()
  const outcome = (): string => {
    try {
      return exactly(evaluate(context, budget))
    } catch (error) {
      return String(error)
    }
  }
  return `${outcome()} on ${exactly(context)} after ${budget.spent} steps`
}

/** As JSON, with the values that JSON does not have. */
const exactly = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => {
    if (
      each === undefined ||
      Number.isNaN(each) ||
      Object.is(each, -0) ||
      Math.abs(each as number) === Infinity
    )
      return Object.is(each, -0) ? '[-0]' : `[${each}]`
    return each
  }) ?? '[undefined]'
