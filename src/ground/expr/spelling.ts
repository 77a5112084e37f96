/**
 * Literals that are compared with a name get the spelling of the name's values. Without that, `conn.server_name ==
 * 'Example.COM'` would never be true, because `conn.server_name` is always lower-case.
 *
 * Only literals change. Computed text (`'Example' + '.COM'`) and the pattern of `matches` stay as they are: in a
 * pattern, upper case may have another meaning (`\\D`).
 */
import type { ExpressionFunction } from './functions.js'
import type { Spelling } from './scope.js'
import type { BinaryOperator, Tree } from './tree.js'

const searches: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])

/** Both sides of an operator, with literals spelled like the values of the other side. */
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

/** The arguments of a function; if it searches the first for the second, the second is spelled like the first. */
export function spelledArguments<C>(
  { name }: ExpressionFunction,
  args: readonly Tree<C>[],
): readonly Tree<C>[] {
  const [text, sought] = args
  const spelling = text && spellingOf(text)
  if (spelling === undefined || sought === undefined || !searches.has(name)) return args
  return [text!, spelled(sought, name === 'endsWith' ? spelling.end : undefined, spelling)]
}

const spellingOf = <C>(tree: Tree<C>): Spelling | undefined =>
  tree.kind === 'name' ? tree.spelling : undefined

/** `ofText` spells a single literal (default: as part of a value). Entries of a list are always whole values. */
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
