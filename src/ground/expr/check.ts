/**
 * jexl's tree ▸ a checked tree: names are resolved to accessors, functions are found, argument counts are right.
 * Only nested brackets make the checker recurse. It follows a long chain (`a + b + …`, `!!!…`, `a.b.c`) in a loop, so
 * 4,096 tokens in a row do not use up the stack.
 */
import { nearestNames } from '../core/nearest.js'
import { type ExpressionFunction, expressionFunctions } from './functions.js'
import type { CallNode, IdentifierNode, JexlNode } from './parse.js'
import { Refusal } from './problem.js'
import { inList, namesNear, resolveName, type Scope } from './scope.js'
import { spelledArguments, spelledSides } from './spelling.js'
import { forbiddenNames } from './tokens.js'
import type { BinaryOperator, Tree } from './tree.js'

/** Patterns in one expression: each may take about 4 ms to compile, and views are built between records. */
export const exprPatternsMax = 20

/** Throws a `Refusal` that names the unknown name or function. */
export function checkNames<C>(node: JexlNode, scope: Scope<C>): Tree<C> {
  return new Checker(scope).check(node, false)
}

/** Names that never have a value. jexl looks them up in the context like any other name and finds nothing. */
const valueless: ReadonlySet<string> = new Set(['null', 'undefined'])

/** The next node of a chain, on the way to its first operand. */
function nextInChain(node: JexlNode): JexlNode | undefined {
  switch (node.type) {
    case 'BinaryExpression':
      return node.left
    case 'UnaryExpression':
      return node.right
    case 'Identifier':
      return node.from
    case 'FilterExpression':
      return node.subject
    case 'FunctionCall':
      return node.pool === 'transforms' ? node.args[0] : undefined
    default:
      return undefined
  }
}

class Checker<C> {
  readonly #scope: Scope<C>
  #patterns = 0

  constructor(scope: Scope<C>) {
    this.#scope = scope
  }

  /** `inFilter`: a name with a leading dot is read from the element; outside of filters, from the context. */
  check(node: JexlNode | null | undefined, inFilter: boolean): Tree<C> {
    if (!node) throw new Refusal('missing_operand', 'A value is missing')
    const chain: JexlNode[] = []
    for (let next: JexlNode | undefined = node; next !== undefined; next = nextInChain(next)) {
      chain.push(next)
    }
    let tree = this.#beginChain(chain, inFilter)
    for (let link = chain.pop(); link !== undefined; link = chain.pop()) {
      tree = this.#extend(tree, link, inFilter)
    }
    return tree
  }

  /** Takes the first operand from the end of the chain. */
  #beginChain(chain: JexlNode[], inFilter: boolean): Tree<C> {
    const node = chain.pop()!
    switch (node.type) {
      case 'Literal':
        return { kind: 'constant', value: node.value.value, offset: node.value.offset }
      case 'Identifier':
        return this.#path(node, chain, inFilter)
      case 'ArrayLiteral':
        return { kind: 'list', items: node.value.map((item) => this.check(item, inFilter)) }
      case 'ObjectLiteral':
        return {
          kind: 'object',
          entries: Object.entries(node.value).map(
            ([key, value]) => [key, this.check(value, inFilter)] as const,
          ),
        }
      case 'ConditionalExpression':
        return {
          kind: 'choice',
          test: this.check(node.test, inFilter),
          consequent: node.consequent ? this.check(node.consequent, inFilter) : undefined,
          alternate: this.check(node.alternate, inFilter),
        }
      case 'FunctionCall':
        return this.#call(
          node,
          node.args.map((arg) => this.check(arg, inFilter)),
        )
      default:
        // An operator or filter whose operand jexl's parser left out.
        throw new Refusal('missing_operand', 'A value is missing')
    }
  }

  /** Wraps the tree built so far in the next link of the chain. */
  #extend(tree: Tree<C>, link: JexlNode, inFilter: boolean): Tree<C> {
    switch (link.type) {
      case 'Identifier':
        return { kind: 'member', subject: tree, key: String(link.value) }
      case 'UnaryExpression':
        return negated(tree)
      case 'BinaryExpression':
        return joined(tree, link.operator, this.check(link.right, inFilter))
      case 'FilterExpression':
        return this.#filter(tree, link.expr, link.relative, inFilter)
      case 'FunctionCall':
        return this.#call(link, [tree, ...link.args.slice(1).map((arg) => this.check(arg, inFilter))])
      default:
        throw new Error(`A ${link.type} can't be a link of a chain.`)
    }
  }

  #filter(subject: Tree<C>, expr: JexlNode, relative: boolean, inFilter: boolean): Tree<C> {
    const inner = this.check(expr, inFilter || relative)
    if (relative) return { kind: 'pick', subject, test: inner }
    if (inner.kind === 'constant' && forbiddenNames.has(inner.value)) {
      throw new Refusal('forbidden_name', `${inner.value} can't be used as a name`, inner.offset)
    }
    return { kind: 'index', subject, key: inner }
  }

  /** Takes a name and the members that follow it from the end of the chain. */
  #path(first: IdentifierNode, chain: JexlNode[], inFilter: boolean): Tree<C> {
    const path = [String(first.value)]
    for (let link = chain.at(-1); link?.type === 'Identifier'; link = chain.at(-1)) {
      path.push(String(link.value))
      chain.pop()
    }
    const isElement = first.relative && inFilter
    const named = this.#named(path, first.value.offset, isElement ? [] : chain)
    if (isElement) return { kind: 'element', path, outer: named }
    if (named !== undefined) return named
    throw unknownName(this.#scope, path.join('.'), first.value.offset)
  }

  #named(path: readonly string[], offset: number, chain: JexlNode[]): Tree<C> | undefined {
    const resolved = resolveName(this.#scope, path)
    if (resolved !== undefined) {
      const { type, read, spelling, hasCase } = resolved.name
      if (type === 'map') {
        const key = resolved.members[0] ?? keyFrom(chain)
        if (key !== undefined)
          return { kind: 'entry', map: resolved.name, key: hasCase ? key : key.toLowerCase() }
        throw mapAsValue(path.join('.'), offset)
      }
      const name: Tree<C> = { kind: 'name', type, read, spelling }
      return resolved.members.reduce<Tree<C>>((subject, key) => ({ kind: 'member', subject, key }), name)
    }
    if (valueless.has(path[0]!)) return { kind: 'constant', value: undefined }
    return undefined
  }

  #call(node: CallNode, args: readonly Tree<C>[]): Tree<C> {
    const name = String(node.name)
    const offset = node.name.offset
    if (name === inList.name) return this.#listEntry(args, offset)
    const callee = expressionFunctions.get(name)
    if (callee === undefined) throw unknownFunction(name, offset)
    if (args.length !== callee.parameters.length) throw wrongCount(callee, args.length, offset)
    if (callee.secondIsLiteral && ++this.#patterns > exprPatternsMax) {
      throw new Refusal('too_large', `The expression has more than ${exprPatternsMax} patterns`, offset)
    }
    return { kind: 'call', callee, args: spelledArguments(callee, args), offset }
  }

  /** `inList(name, 'list')` reads the context. */
  #listEntry(args: readonly Tree<C>[], offset: number): Tree<C> {
    const { lists, names } = this.#scope
    if (lists === undefined)
      throw new Refusal('unknown_function', 'inList is known in expressions of traffic policies only', offset)
    const [value, list] = args
    if (value === undefined || list === undefined || args.length !== 2)
      throw wrongCount(inList, args.length, offset)
    if (value.kind !== 'name' || value.read !== names.get(lists.about)?.read)
      throw new Refusal('wrong_arguments', `inList can be asked about ${lists.about} only`, offset)
    if (list.kind !== 'constant' || typeof list.value !== 'string')
      throw new Refusal('bad_literal', 'inList: the name of the list must be a literal text', offset)
    return { kind: 'entry', map: lists, key: list.value, offset: list.offset }
  }
}

/** The key in brackets at the end of the chain, if it is a text. */
function keyFrom(chain: JexlNode[]): string | undefined {
  const link = chain.at(-1)
  if (link?.type !== 'FilterExpression' || link.relative || link.expr?.type !== 'Literal') return undefined
  const key = link.expr.value.value
  if (typeof key !== 'string') return undefined
  chain.pop()
  return key
}

const mapAsValue = (name: string, offset: number): Refusal =>
  new Refusal('unknown_name', `${name} has a value for each key only: write one as ${name}['a-key']`, offset)

/** `!!!x` is `!x`, so no more than two are kept. */
function negated<C>(tree: Tree<C>): Tree<C> {
  return tree.kind === 'not' && tree.operand.kind === 'not' ? tree.operand : { kind: 'not', operand: tree }
}

/** Both sides of an operator; a run of the same `&&` or `||` becomes one list of parts. */
function joined<C>(left: Tree<C>, operator: string, right: Tree<C>): Tree<C> {
  if (operator !== '&&' && operator !== '||') {
    const [spelledLeft, spelledRight] = spelledSides(left, operator as BinaryOperator, right)
    return { kind: 'binary', operator: operator as BinaryOperator, left: spelledLeft, right: spelledRight }
  }
  if (left.kind !== 'logic' || left.operator !== operator)
    return { kind: 'logic', operator, parts: [left, right] }
  left.parts.push(right)
  return left
}

function unknownName<C>(scope: Scope<C>, name: string, offset: number): Refusal {
  const reason = scope.unavailable.get(name)
  if (reason !== undefined) return new Refusal('unknown_name', `${name} ${reason}`, offset)
  return new Refusal(
    'unknown_name',
    `${cut(name)} is not a known name`,
    offset,
    didYouMean(namesNear(scope, name)),
  )
}

function unknownFunction(name: string, offset: number): Refusal {
  const known = [...expressionFunctions.keys(), inList.name]
  const hint = didYouMean(nearestNames(name, known)) ?? `known functions: ${known.join(', ')}`
  return new Refusal('unknown_function', `${cut(name)} is not a known function`, offset, hint)
}

function wrongCount(
  { name, parameters }: Pick<ExpressionFunction, 'name' | 'parameters'>,
  given: number,
  offset: number,
): Refusal {
  const what = `${name} takes ${parameters.length} (${parameters.join(', ')}), not ${given}`
  return new Refusal('wrong_arguments', what, offset)
}

const didYouMean = (names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `did you mean ${names.join(' or ')}?`

const cut = (name: string): string => (name.length <= 100 ? name : `${name.slice(0, 100)}…`)
