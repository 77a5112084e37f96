import type { ExpressionFunction } from './functions.js'
import type { NameType, ScopeName, Spelling } from './scope.js'

/** An expression whose names, functions and argument counts are known to be right. */
export type Tree<C> =
  | { readonly kind: 'constant'; readonly value: unknown; readonly offset?: number }
  | NameTree<C>
  | EntryTree<C>
  /** A member of the element a filter looks at; `outer` if that element is not a value, as in jexl. */
  | { readonly kind: 'element'; readonly path: readonly string[]; readonly outer: Tree<C> | undefined }
  | { readonly kind: 'member'; readonly subject: Tree<C>; readonly key: string }
  | { readonly kind: 'not'; readonly operand: Tree<C> }
  | BinaryTree<C>
  | LogicTree<C>
  | ChoiceTree<C>
  | { readonly kind: 'list'; readonly items: readonly Tree<C>[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Tree<C>])[] }
  | { readonly kind: 'pick'; readonly subject: Tree<C>; readonly test: Tree<C> }
  | { readonly kind: 'index'; readonly subject: Tree<C>; readonly key: Tree<C> }
  | CallTree<C>

export interface NameTree<C> {
  readonly kind: 'name'
  readonly type: NameType
  readonly read: (context: C) => unknown
  readonly spelling?: Spelling | undefined
}

/** The text of a map under a key; or whether a value is in the list that is called like the key. */
export interface EntryTree<C> {
  readonly kind: 'entry'
  readonly map: Pick<ScopeName<C>, 'read'>
  readonly key: string
  /** The place of the name of a list. */
  readonly offset?: number | undefined
}

export interface BinaryTree<C> {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Tree<C>
  readonly right: Tree<C>
}

/** `a && b && c` as one: the first part that decides, or the last. */
export interface LogicTree<C> {
  readonly kind: 'logic'
  readonly operator: '&&' | '||'
  readonly parts: Tree<C>[]
}

export interface ChoiceTree<C> {
  readonly kind: 'choice'
  readonly test: Tree<C>
  /** Undefined: the value of the test. */
  readonly consequent: Tree<C> | undefined
  readonly alternate: Tree<C>
}

export interface CallTree<C> {
  readonly kind: 'call'
  readonly callee: ExpressionFunction
  readonly args: readonly Tree<C>[]
  readonly offset: number
}

export type BinaryOperator =
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'in'
  | '+'
  | '-'
  | '*'
  | '/'
  | '//'
  | '%'
  | '^'

const conditions: ReadonlySet<BinaryOperator> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in'])

/** Whether the value is known to be true or false, and never another one that only counts as such. */
export function isCondition<C>(tree: Tree<C>): boolean {
  switch (tree.kind) {
    case 'constant':
      return typeof tree.value === 'boolean'
    case 'not':
      return true
    case 'binary':
      return conditions.has(tree.operator)
    case 'logic':
      return tree.parts.every((part) => isCondition(part))
    case 'choice':
      return isCondition(tree.consequent ?? tree.test) && isCondition(tree.alternate)
    case 'call':
      return tree.callee.isQuestion === true
    default:
      return false
  }
}
