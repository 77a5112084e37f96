/**
 * Conditions that a context must meet for an expression to be true, so that an index over many expressions can leave out
 * most of them.
 *
 * The requirement is exact about what it rules out: if it is not met, the expression is false, does not fail, and takes
 * no step of the budget. So leaving the expression out changes nothing, not even what is left of the budget for others.
 * An expression for which this can't be said has no requirement: it must be evaluated.
 */
import { type Cidr, parseCidr } from '../core/address/cidr.js'
import type { BinaryTree, CallTree, NameTree, Tree } from './tree.js'
import { charsPerStep } from './values.js'

export type Requirement<C> =
  | Condition<C>
  /** At least one of these; an empty list is never met. */
  | { readonly kind: 'any'; readonly of: readonly Requirement<C>[] }
  /** Each of these; any single one is also a requirement. */
  | { readonly kind: 'all'; readonly of: readonly Requirement<C>[] }

/** A condition of one name. */
export type Condition<C> = (
  | { readonly kind: 'equal'; readonly value: Comparable }
  | { readonly kind: 'range'; readonly range: Cidr; readonly value: string }
  | { readonly kind: 'beginning' | 'end'; readonly value: string }
  | { readonly kind: 'order'; readonly operator: OrderOperator; readonly value: number }
) & { readonly name: NameTree<C> }

export type Comparable = string | number | boolean
export type OrderOperator = '<' | '<=' | '>' | '>='

/** Undefined if the expression must be evaluated for each context. */
export function requirementOf<C>(tree: Tree<C>): Requirement<C> | undefined {
  switch (tree.kind) {
    case 'constant':
      return tree.value ? undefined : { kind: 'any', of: [] }
    case 'logic':
      return tree.operator === '||' ? anyOf(tree.parts) : allOf(tree.parts)
    case 'binary':
      return comparisonOf(tree)
    case 'call':
      return questionOf(tree)
    default:
      return undefined
  }
}

function anyOf<C>(parts: readonly Tree<C>[]): Requirement<C> | undefined {
  const requirements = parts.map((part) => requirementOf(part))
  return requirements.every(isDefined) ? { kind: 'any', of: requirements } : undefined
}

/** Parts are evaluated in order, so one of them rules out the others only if those before it are free of effects. */
function allOf<C>(parts: readonly Tree<C>[]): Requirement<C> | undefined {
  const bound = parts.findIndex((part) => !isFree(part))
  const evaluated = bound === -1 ? parts : parts.slice(0, bound + 1)
  const requirements = evaluated.map((part) => requirementOf(part)).filter(isDefined)
  return requirements.length === 0 ? undefined : { kind: 'all', of: requirements }
}

const isDefined = <T>(value: T | undefined): value is T => value !== undefined

/** Does it always have a value, without taking a step? */
function isFree<C>(tree: Tree<C>): boolean {
  switch (tree.kind) {
    case 'constant':
    case 'name':
      return true
    case 'not':
      return isFree(tree.operand)
    case 'logic':
      return tree.parts.every(isFree)
    case 'binary':
      return comparisonOf(tree.operator === '!=' ? { ...tree, operator: '==' } : tree) !== undefined
    case 'call':
      return questionOf(tree) !== undefined
    default:
      return false
  }
}

const mirrored = { '==': '==', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** The comparison of a name with a literal of its type: values of other types are converted, which may take steps. */
function comparisonOf<C>({ operator, left, right }: BinaryTree<C>): Requirement<C> | undefined {
  if (operator === 'in') return membershipOf(left, right)
  if (!(operator in mirrored)) return undefined
  const known = operator as keyof typeof mirrored
  if (left.kind === 'name') return comparedTo(left, known, right)
  return right.kind === 'name' ? comparedTo(right, mirrored[known], left) : undefined
}

function comparedTo<C>(
  name: NameTree<C>,
  operator: keyof typeof mirrored,
  other: Tree<C>,
): Condition<C> | undefined {
  const value = literalFor(name, other)
  if (value === undefined) return undefined
  if (operator === '==') return { kind: 'equal', name, value }
  return typeof value === 'number' ? { kind: 'order', name, operator, value } : undefined
}

function membershipOf<C>(left: Tree<C>, right: Tree<C>): Requirement<C> | undefined {
  if (left.kind !== 'name' || right.kind !== 'list') return undefined
  const values = right.items.map((item) => literalFor(left, item))
  if (!values.every(isDefined)) return undefined
  return { kind: 'any', of: values.map((value) => ({ kind: 'equal', name: left, value })) }
}

/** The value of a literal that has the type of the name; long texts take steps wherever they are compared. */
function literalFor<C>(name: NameTree<C>, tree: Tree<C>): Comparable | undefined {
  if (tree.kind !== 'constant' || typeof tree.value !== name.type || typeof tree.value === 'object')
    return undefined
  const value = tree.value as Comparable
  return typeof value === 'string' && value.length >= charsPerStep ? undefined : value
}

function questionOf<C>({ callee, args }: CallTree<C>): Requirement<C> | undefined {
  const [name, second] = args
  if (name?.kind !== 'name' || name.type !== 'string' || second === undefined) return undefined
  switch (callee.name) {
    case 'inCidrRange':
      return rangeOf(name, second)
    case 'inCidrRanges': {
      const ranges = second.kind === 'list' ? second.items.map((item) => rangeOf(name, item)) : [undefined]
      return ranges.every(isDefined) ? { kind: 'any', of: ranges } : undefined
    }
    case 'startsWith':
      return textOf('beginning', name, second)
    case 'endsWith':
      return textOf('end', name, second)
    default:
      return undefined
  }
}

function rangeOf<C>(name: NameTree<C>, tree: Tree<C>): Condition<C> | undefined {
  if (tree.kind !== 'constant' || typeof tree.value !== 'string') return undefined
  const range = parseCidr(tree.value, { hostBits: 'allow' })
  return range.ok ? { kind: 'range', name, range: range.value, value: tree.value } : undefined
}

/** Every text begins and ends with the empty text. */
function textOf<C>(kind: 'beginning' | 'end', name: NameTree<C>, tree: Tree<C>): Condition<C> | undefined {
  const value = literalFor(name, tree)
  return typeof value === 'string' && value !== '' ? { kind, name, value } : undefined
}
