import type { PlacedValue } from './tokens.js'

/** The tree as jexl's parser builds it; names and literals are `PlacedValue`s. */
export type JexlNode =
  | { readonly type: 'Literal'; readonly value: PlacedValue }
  | IdentifierNode
  | { readonly type: 'UnaryExpression'; readonly operator: string; readonly right: JexlNode }
  | BinaryNode
  | ConditionalNode
  | { readonly type: 'ArrayLiteral'; readonly value: readonly JexlNode[] }
  | { readonly type: 'ObjectLiteral'; readonly value: Readonly<Record<string, JexlNode>> }
  | FilterNode
  | CallNode

export interface IdentifierNode {
  readonly type: 'Identifier'
  readonly value: PlacedValue
  /** The value that has the member; absent for a name. */
  readonly from?: JexlNode
  /** `.name`: read from the element a filter looks at. */
  readonly relative?: boolean
}

interface BinaryNode {
  readonly type: 'BinaryExpression'
  readonly operator: string
  readonly left: JexlNode
  readonly right: JexlNode
}

interface ConditionalNode {
  readonly type: 'ConditionalExpression'
  readonly test: JexlNode
  /** Null in `a ?: b`, which stands for `a ? a : b`. */
  readonly consequent: JexlNode | null
  readonly alternate: JexlNode
}

interface FilterNode {
  readonly type: 'FilterExpression'
  readonly subject: JexlNode
  readonly expr: JexlNode
  /** `list[.x == 1]` picks elements; `list[1]` reads a member. */
  readonly relative: boolean
}

export interface CallNode {
  readonly type: 'FunctionCall'
  readonly pool: 'functions' | 'transforms'
  readonly name: PlacedValue
  readonly args: readonly JexlNode[]
}
