/**
 * Texts that are compared with a name whose values have one spelling get that spelling, too: `conn.server_name` is
 * always lower-case, so `conn.server_name == 'Example.COM'` would never be true.
 *
 * This goes for texts written in the expression. A text that is worked out (`'Example' + '.COM'`) and the pattern of
 * `matches` stay as they are: in a pattern, upper case may mean something else (`\\D`).
 */
import type { ExpressionFunction } from './function-type.js'
import type { Spelling } from './scope.js'
import type { BinaryOperator, Tree } from './tree.js'

const searches: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])

/** Both sides of an operator, literals spelled like the other side. */
export function spelledSides<C>(
  left: Tree<C>,
  operator: BinaryOperator,
  right: Tree<C>,
): readonly [left: Tree<C>, right: Tree<C>] {
  const isEquality = operator === '==' || operator === '!='
  if (!isEquality && operator !== 'in') return [left, right]
  const [ofLeft, ofRight] = [spellingOf(left), spellingOf(right)]
  if (ofLeft !== undefined) return [left, spelled(right, isEquality ? ofLeft.whole : undefined, ofLeft)]
  if (ofRight !== undefined) return [spelled(left, isEquality ? ofRight.whole : undefined, ofRight), right]
  return [left, right]
}

/** The arguments of a function that searches its first one for its second one. */
export function spelledArguments<C>(
  { name }: ExpressionFunction,
  args: readonly Tree<C>[],
): readonly Tree<C>[] {
  const [text, sought] = args
  const spelling = text && spellingOf(text)
  if (spelling === undefined || sought === undefined || !searches.has(name)) return args
  return [text!, spelled(sought, undefined, spelling)]
}

const spellingOf = <C>(tree: Tree<C>): Spelling | undefined =>
  tree.kind === 'name' ? tree.spelling : undefined

/** `ofText`: of a text alone, if it is not part of a value or the other way round. Entries of a list are whole values. */
function spelled<C>(
  tree: Tree<C>,
  ofText: Spelling['whole'] | undefined,
  { whole, part }: Spelling,
): Tree<C> {
  if (tree.kind === 'constant' && typeof tree.value === 'string')
    return { ...tree, value: (ofText ?? part)(tree.value) }
  if (tree.kind !== 'list') return tree
  return {
    ...tree,
    items: tree.items.map((item) =>
      item.kind === 'constant' && typeof item.value === 'string'
        ? { ...item, value: whole(item.value) }
        : item,
    ),
  }
}
