/** What is known of an expression's truth without any record. */
import { compileTree } from './compile.js'
import { namesOf } from './names.js'
import { ExpressionFailure, StepBudget } from './run.js'
import type { Scope } from './scope.js'
import type { ChoiceTree, LogicTree, Tree } from './tree.js'

/**
 * - `always`: true for every record. `never`: for none it is true; it may fail for some.
 * - `fails`: it has a result for no record.
 */
export type Truth = 'always' | 'never' | 'fails'

/** Enough for any literals that fit into an expression. */
const stepsMax = 10_000

interface Known {
  readonly truth: boolean
  /** May its evaluation fail before that? */
  readonly mayFail: boolean
}

/** Undefined if it depends on the record. */
export function truthOfTree<C>(tree: Tree<C>, scope: Scope<C>): Truth | undefined {
  const known = knownOf(tree, scope)
  if (known === 'fails') return 'fails'
  if (known === undefined) return undefined
  if (!known.truth) return 'never'
  return known.mayFail ? undefined : 'always'
}

function knownOf<C>(tree: Tree<C>, scope: Scope<C>): Known | 'fails' | undefined {
  if (namesOf(tree, scope).length === 0) return valueWithoutRecord(tree)
  switch (tree.kind) {
    case 'not': {
      const known = knownOf(tree.operand, scope)
      return known === undefined || known === 'fails' ? known : { ...known, truth: !known.truth }
    }
    case 'logic':
      return ofLogic(tree, scope)
    case 'choice':
      return ofChoice(tree, scope)
    default:
      return undefined
  }
}

/** The value of a part that reads no record. */
function valueWithoutRecord<C>(tree: Tree<C>): Known | 'fails' {
  try {
    const value = compileTree(tree)(undefined as C, new StepBudget(stepsMax), undefined)
    return { truth: Boolean(value), mayFail: false }
  } catch (error) {
    if (error instanceof ExpressionFailure) return 'fails'
    throw error
  }
}

/** One part that decides is enough; those before it are evaluated, and may fail. */
function ofLogic<C>({ operator, parts }: LogicTree<C>, scope: Scope<C>): Known | 'fails' | undefined {
  const deciding = operator === '||'
  let isUnknown = false
  let mayFail = false
  for (const part of parts) {
    const known = knownOf(part, scope)
    if (known === 'fails') return isUnknown ? undefined : 'fails'
    if (known?.truth === deciding) return { truth: deciding, mayFail: mayFail || known.mayFail || isUnknown }
    if (known === undefined) isUnknown = true
    else mayFail ||= known.mayFail
  }
  return isUnknown ? undefined : { truth: !deciding, mayFail }
}

function ofChoice<C>(
  { test, consequent, alternate }: ChoiceTree<C>,
  scope: Scope<C>,
): Known | 'fails' | undefined {
  const tested = knownOf(test, scope)
  if (tested === undefined || tested === 'fails') return tested
  const chosen = tested.truth ? knownOf(consequent ?? test, scope) : knownOf(alternate, scope)
  if (chosen === undefined || chosen === 'fails') return tested.mayFail ? undefined : chosen
  return { truth: chosen.truth, mayFail: chosen.mayFail || tested.mayFail }
}
