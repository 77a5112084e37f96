/** Compares expressions, as functions and as closures, with jexl. */
import { isDeepStrictEqual } from 'node:util'
import {
  type CompiledExpression,
  compileClosures,
  compileExpression,
} from '../../../src/ground/expr/expression.js'
import { StepBudget } from '../../../src/ground/expr/run.js'
import { type Context, generatedScope } from './corpus.js'
import { Generator } from './generator.js'
import { compileAmongOthers } from './instruction.js'
import { compileReference } from './reference.js'

/** The result of a comparison. `stricter` and `looser` count by kind. */
interface Comparison {
  pairs: number
  /** Pairs where both had the same value. */
  equal: number
  /** Pairs where neither had a value. */
  bothFailed: number
  /** Texts that neither accepts. */
  bothRefused: number
  /** Texts that are refused when saved although jexl accepts them, by reason. */
  stricter: Record<string, number>
  /** Texts that only jexl refuses; intended. */
  looser: Record<string, number>
  /** Unwanted differences, one line each. */
  differences: string[]
}

type Outcome = { readonly value: unknown } | { readonly error: string }

function outcomeOf(work: () => unknown): Outcome {
  try {
    return { value: work() }
  } catch (error) {
    return { error: String(error) }
  }
}

const isSame = (one: Outcome, other: Outcome): boolean =>
  'value' in one ? 'value' in other && isDeepStrictEqual(one.value, other.value) : 'error' in other

/** jexl drops the subject of a method call; written as a transform, both read it the same way. Literals stay. */
const withoutMethods = (text: string): string =>
  text.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<=[\w$)\]}'"]\s*)\.(?=\s*[\w$]+\s*\()/g, (found) =>
    found === '.' ? '|' : found,
  )

/** Compares random expressions on random contexts until `pairs` pairs are done. */
export function compareWithReference(pairs: number, seed: number): Comparison {
  const generator = new Generator(seed)
  const result: Comparison = newComparison()
  while (result.pairs < pairs) {
    const text = generator.text()
    compareText(text, withoutMethods(text), generator, result)
    // jexl reads a conditional after a call only with parentheses.
    if (generator.chance(0.1)) {
      const test = generator.call(3, false)
      const rest = ` ? ${generator.expression(1, false)} : ${generator.expression(1, false)}`
      compareText(test + rest, `(${withoutMethods(test)})${withoutMethods(rest)}`, generator, result)
    }
  }
  return result
}

const newComparison = (): Comparison => ({
  pairs: 0,
  equal: 0,
  bothFailed: 0,
  bothRefused: 0,
  stricter: {},
  looser: {},
  differences: [],
})

function compareText(text: string, referenceText: string, generator: Generator, result: Comparison): void {
  const compiled = compileExpression(text, generatedScope)
  const parsed = outcomeOf(() => compileReference(referenceText))
  if (!compiled.ok) {
    if ('error' in parsed) result.bothRefused++
    else count(result.stricter, compiled.problem.reason)
    return
  }
  if ('error' in parsed) {
    if (/Token \?\s*\(question\) unexpected/.test(parsed.error))
      count(result.looser, 'conditional_behind_call')
    else result.differences.push(`accepted: ${text} (jexl: ${parsed.error})`)
    return
  }
  const reference = parsed.value as { evalSync(context: Context): unknown }
  const others = [compileClosures, compileAmongOthers].map((compile) => {
    const other = compile(text, generatedScope)
    if (!other.ok) throw new Error(`${text}: ${other.problem.msg}`)
    return other.value
  })
  for (let round = 0; round < 3; round++) {
    const context = generator.context()
    comparePair(compiled.value, reference, context, result)
    for (const other of others) compareCosts(compiled.value, other, context, result)
  }
}

function comparePair(
  compiled: CompiledExpression<Context>,
  reference: { evalSync(context: Context): unknown },
  context: Context,
  result: Comparison,
): void {
  result.pairs++
  const ours = outcomeOf(() => compiled.evaluate(context, new StepBudget()))
  const theirs = outcomeOf(() => reference.evalSync(context))
  const truth = outcomeOf(() => compiled.isTrue(context, new StepBudget()))
  const sameTruth = 'error' in theirs || ('value' in truth && truth.value === Boolean(theirs.value))
  if (!isSame(ours, theirs) || !sameTruth) {
    const [we, they] = [ours, theirs].map((outcome) => JSON.stringify(outcome))
    result.differences.push(`${compiled.text} on ${JSON.stringify(context)}: ${we}, jexl ${they}`)
  } else if ('error' in ours) result.bothFailed++
  else result.equal++
}

/** A function, closures and an instruction have the same value, or the same failure, and take the same steps. */
function compareCosts(
  compiled: CompiledExpression<Context>,
  another: Pick<CompiledExpression<Context>, 'evaluate'>,
  context: Context,
  result: Comparison,
): void {
  const [one, other] = [compiled, another].map(({ evaluate }) => {
    const budget = new StepBudget()
    const outcome = outcomeOf(() => evaluate(context, budget))
    return { outcome, spent: budget.spent }
  })
  if (isDeepStrictEqual(one, other)) return
  const [ours, theirs] = [one, other].map((outcome) => JSON.stringify(outcome))
  result.differences.push(`${compiled.text} on ${JSON.stringify(context)}: ${ours}, otherwise ${theirs}`)
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1
}
