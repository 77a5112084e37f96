/**
 * Start here: expressions of traffic policies and event filters. The room knows the names of no record or resource: a
 * scope is given.
 *
 * An expression goes through one phase per file: parse (jexl's lexer and parser, and limits in front of them) ▸ check
 * (names, functions and arguments known) ▸ compile (constants folded, a function made). All of it happens once, when the
 * expression is saved or a view is built; per record only that function runs.
 */
import { fail, ok, type Result, shown } from '../core/errors.js'
import { checkNames } from './check.js'
import { compileInstruction, compileShape, compileTree } from './compile.js'
import { comparedTexts, listReadsOf, namesOf, type UsedName } from './names.js'
import { parseExpression } from './parse.js'
import { type MarkedProblem, Refusal, withMark } from './problem.js'
import { type Requirement, requirementOf } from './requirement.js'
import type { Instruction, Run, StepBudget } from './run.js'
import type { Scope } from './scope.js'
import { isCondition, type Tree } from './tree.js'
import { type Truth, type TruthWork, truthOfTree } from './truth.js'

export interface CompiledExpression<C> {
  /** As it was written. */
  readonly text: string
  /** The value for this context. Throws `ExpressionFailure` if there is none. */
  evaluate(context: C, budget: StepBudget): unknown
  /** The value, taken for true or false as the language's own operators would. Throws like `evaluate`. */
  isTrue(context: C, budget: StepBudget): boolean
  /** For an index over many expressions; undefined if this one must be evaluated for each context. */
  readonly requirement: Requirement<C> | undefined
}

/** For an expression that is evaluated often. Never throws, however bad the text is. */
export const compileExpression = <C>(
  text: unknown,
  scope: Scope<C>,
): Result<CompiledExpression<C>, MarkedProblem> =>
  compileWith(text, scope, (tree, text) => compiledAs(tree, text, compileShape(tree)))

/** For an expression that is one of many in a list. Never throws, however bad the text is. */
export const compileToInstruction = <C>(
  text: unknown,
  scope: Scope<C>,
): Result<Instruction<C>, MarkedProblem> => compileWith(text, scope, compileInstruction)

/** For an expression that is evaluated a few times and then forgotten: makes no code. Never throws. */
export const compileClosures = <C>(
  text: unknown,
  scope: Scope<C>,
): Result<CompiledExpression<C>, MarkedProblem> =>
  compileWith(text, scope, (tree, text) => compiledAs(tree, text, compileTree(tree)))

/** The names that an expression uses, each once; none if it is refused. */
export function namesIn<C>(text: unknown, scope: Scope<C>): readonly UsedName<C>[] {
  const found = compileWith(text, scope, (tree) => namesOf(tree, scope))
  return found.ok ? found.value : []
}

/** The texts that an expression compares a name with; undefined if it does not use the name, or is refused. */
export function textsComparedWith<C>(
  name: string,
  text: unknown,
  scope: Scope<C>,
): readonly string[] | undefined {
  const found = compileWith(text, scope, (tree) =>
    namesOf(tree, scope).some((used) => used.name === name) ? comparedTexts(tree, scope, name) : undefined,
  )
  return found.ok ? found.value : undefined
}

/** A list that an expression asks about. */
interface UsedList {
  readonly name: string
  /** The problem of this place, if the list does not exist; `hint` is the rest of its sentence. */
  problem(hint?: string): MarkedProblem
}

/** The lists that an expression asks about, as often as it does; none if it is refused. */
export function listsIn<C>(text: unknown, scope: Scope<C>): readonly UsedList[] {
  const found = compileWith(text, scope, (tree) => listReadsOf(tree, scope))
  if (!found.ok) return []
  return found.value.map(({ key, offset }) => ({
    name: key,
    problem: (hint) =>
      withMark(new Refusal('unknown_list', `There is no IP list ${shown(key)}`, offset, hint).problem, text),
  }))
}

/** Whether it is the same for every record; undefined if it depends on the record, or is refused. */
export function truthOf<C>(text: unknown, scope: Scope<C>, work?: TruthWork): Truth | undefined {
  const found = compileWith(text, scope, (tree) => truthOfTree(tree, scope, work))
  return found.ok ? found.value : undefined
}

function compileWith<C, T>(
  text: unknown,
  scope: Scope<C>,
  compile: (tree: Tree<C>, text: string) => T,
): Result<T, MarkedProblem> {
  try {
    return ok(compile(checkNames(parseExpression(text), scope), text as string))
  } catch (error) {
    if (error instanceof Refusal) return fail(withMark(error.problem, text))
    throw error
  }
}

function compiledAs<C>(tree: Tree<C>, text: string, evaluate: Run<C>): CompiledExpression<C> {
  const isTrue: CompiledExpression<C>['isTrue'] = isCondition(tree)
    ? (evaluate as (context: C, budget: StepBudget) => boolean)
    : (context, budget) => Boolean(evaluate(context, budget))
  return { text, evaluate, isTrue, requirement: requirementOf(tree) }
}

/** The problem of a text; the compiled expression is dropped. */
export function checkExpression<C>(text: unknown, scope: Scope<C>): MarkedProblem | undefined {
  const compiled = compileClosures(text, scope)
  return compiled.ok ? undefined : compiled.problem
}
