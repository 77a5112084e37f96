/** The parts of an expression that nothing connects, and what each can come to for the values that names can have. */
import { compileTree } from './compile.js'
import { anyBoolean, anyNumber, anyText, type Candidate, candidatesOf, type Domain } from './domain.js'
import { partsIn, partsOf } from './names.js'
import { anyOutcome, type Connected, fails, isFalse, isTrue, type Outcomes } from './outcomes.js'
import { ExpressionFailure, type Run, StepBudget } from './run.js'
import type { NameType, Scope, ScopeName } from './scope.js'
import { type BinaryOperator, isCondition, type Tree } from './tree.js'

/** Enough for any literals that fit into an expression. */
const stepsMax = 10_000
/** Larger parts are taken for unknown. */
const partsMax = 5_000
/** Larger parts are not run. */
const partsRunMax = 100

/** A name, or an entry of a map, whose values are known. */
export interface Variable {
  readonly domain: Domain
  readonly constants: unknown[]
  isOrdered: boolean
  leaves: number
}

/** A part that connects no others. */
export interface Leaf {
  /** Parts with the same text come to the same; undefined if that is not known. */
  readonly text: string | undefined
  /** The only name in it. */
  readonly variable: Variable | undefined
  /** Compares the variable with constants, and does nothing else. */
  readonly isComparison: boolean
  /** If nothing is known of the names in it. */
  readonly outcomes: Outcomes
  /** For a value of the variable. */
  outcomeOf(value: unknown): Outcomes
}

export const candidatesOfVariable = (variable: Variable): readonly Candidate[] =>
  candidatesOf(variable.domain, variable)

export class TruthParts<C> {
  readonly leaves: Leaf[] = []
  readonly #scope: Scope<C>
  readonly #names: ReadonlyMap<unknown, ScopeName<C>>
  readonly #variables = new Map<string, Variable>()
  readonly #ids = new Map<unknown, number>()

  constructor(scope: Scope<C>) {
    this.#scope = scope
    this.#names = new Map([...scope.names.values()].map((name) => [name.read, name]))
  }

  connected(tree: Tree<C>): Connected<Leaf> {
    switch (tree.kind) {
      case 'not':
        return { kind: 'not', part: this.connected(tree.operand) }
      case 'logic':
        return {
          kind: 'logic',
          operator: tree.operator,
          parts: tree.parts.map((part) => this.connected(part)),
        }
      case 'choice':
        return {
          kind: 'choice',
          test: this.connected(tree.test),
          consequent: tree.consequent && this.connected(tree.consequent),
          alternate: this.connected(tree.alternate),
        }
      default: {
        const leaf = this.#leaf(tree)
        this.leaves.push(leaf)
        return { kind: 'leaf', leaf }
      }
    }
  }

  #leaf(tree: Tree<C>): Leaf {
    const parts = [...partsIn(tree)]
    const outcomes = unknownOutcomes(tree, parts.length)
    const unknown = {
      text: undefined,
      variable: undefined,
      isComparison: false,
      outcomes,
      outcomeOf: () => outcomes,
    }
    if (parts.length > partsMax || !parts.every(isPlain)) return unknown
    const read = new Set(parts.flatMap((part) => this.#keyOf(part) ?? []))
    if (read.size === 0) {
      const outcome = outcomeIn(compileTree(tree), undefined as C)
      return { ...unknown, outcomes: outcome, outcomeOf: () => outcome }
    }
    const text = parts.map((part) => this.#keyOf(part) ?? shapeOf(part)).join(' ')
    const name = parts.find((part) => part.kind === 'name' || part.kind === 'entry')!
    const variable =
      read.size === 1 && parts.length <= partsRunMax ? this.#variable([...read][0]!, name) : undefined
    if (variable === undefined) return { ...unknown, text }
    const constants = comparedConstants(tree, variable.domain)
    if (constants !== undefined) variable.constants.push(...constants)
    variable.isOrdered ||= tree.kind === 'binary' && orders.has(tree.operator)
    variable.leaves += 1
    const run = compileTree(reading(tree))
    return {
      text,
      variable,
      isComparison: constants !== undefined,
      outcomes,
      outcomeOf: (value) => outcomeIn(run, value),
    }
  }

  /** A name by what reads it. */
  #keyOf(part: Tree<C>): string | undefined {
    if (part.kind === 'name') return `name ${this.#idOf(part.read)}`
    return part.kind === 'entry'
      ? `entry ${this.#idOf(part.map.read)} ${JSON.stringify(part.key)}`
      : undefined
  }

  #idOf(read: unknown): number {
    const id = this.#ids.get(read) ?? this.#ids.size
    this.#ids.set(read, id)
    return id
  }

  #variable(key: string, part: Tree<C>): Variable | undefined {
    const known = this.#variables.get(key)
    if (known !== undefined) return known
    const domain = this.#domainOf(part)
    if (domain === undefined) return undefined
    const variable = { domain, constants: [], isOrdered: false, leaves: 0 }
    this.#variables.set(key, variable)
    return variable
  }

  #domainOf(part: Tree<C>): Domain | undefined {
    if (part.kind === 'entry') return part.map === this.#scope.lists ? anyBoolean : anyText
    if (part.kind !== 'name') return undefined
    return this.#names.get(part.read)?.domain ?? ofTypes[part.type]
  }
}

const ofTypes: Partial<Record<NameType, Domain>> = { string: anyText, number: anyNumber, boolean: anyBoolean }

function outcomeIn<C>(run: Run<C>, context: C): Outcomes {
  try {
    return run(context, new StepBudget(stepsMax), undefined) ? isTrue : isFalse
  } catch (error) {
    if (error instanceof ExpressionFailure) return fails
    throw error
  }
}

/** The tree over the value of its only name. */
function reading<C>(tree: Tree<C>): Tree<unknown> {
  switch (tree.kind) {
    case 'constant':
      return tree
    case 'name':
      return { ...tree, read: (value: unknown) => value }
    case 'entry':
      return { kind: 'name', type: 'string', read: (value: unknown) => value }
    case 'binary':
      return { ...tree, left: reading(tree.left), right: reading(tree.right) }
    case 'call':
      return { ...tree, args: tree.args.map(reading) }
    case 'list':
      return { ...tree, items: tree.items.map(reading) }
    default:
      throw new Error(`A ${tree.kind} is not read without a record.`)
  }
}

const plain: ReadonlySet<Tree<never>['kind']> = new Set([
  'constant',
  'name',
  'entry',
  'binary',
  'call',
  'list',
])

const isPlain = <C>({ kind }: Tree<C>): boolean => plain.has(kind)

/** With the number of parts below it, so that the shapes of all parts in their order are those of one tree alone. */
function shapeOf<C>(part: Tree<C>): string {
  if (part.kind === 'constant') return `${typeof part.value} ${JSON.stringify(part.value)}`
  const what = part.kind === 'binary' ? part.operator : part.kind === 'call' ? part.callee.name : part.kind
  return `${what}/${partsOf(part).length}`
}

// --- comparisons ---

const orders: ReadonlySet<BinaryOperator> = new Set(['<', '<=', '>', '>='])
const equalities: ReadonlySet<BinaryOperator> = new Set(['==', '!='])

/** The values that the tree compares its only name with; undefined if it does anything else. */
function comparedConstants<C>(tree: Tree<C>, { kind }: Domain): readonly unknown[] | undefined {
  // Zero and the empty text count as false.
  if (isRead(tree)) return [0, '']
  if (tree.kind !== 'binary') return undefined
  const { left, operator, right } = tree
  const items = operator === 'in' && isRead(left) && right.kind === 'list' ? right.items : undefined
  if (items !== undefined) {
    const constants = items.flatMap((item) => (item.kind === 'constant' ? [item.value] : []))
    return constants.length === items.length ? constants : undefined
  }
  if (!orders.has(operator) && !equalities.has(operator)) return undefined
  const constants = [left, right].flatMap((side) => (side.kind === 'constant' ? [side.value] : []))
  if (constants.length + [left, right].filter(isRead).length !== 2) return undefined
  return constants.every((value) => comparesAlike(value, kind, operator)) ? constants : undefined
}

const isRead = <C>({ kind }: Tree<C>): boolean => kind === 'name' || kind === 'entry'

/** A text is compared with a number as a number: texts that are no numbers in common have nothing in common. */
const comparesAlike = (value: unknown, kind: Domain['kind'], operator: BinaryOperator): boolean =>
  kind === 'number' || typeof value === 'string' || (value === undefined && equalities.has(operator))

// --- what can be said without the values of names ---

function unknownOutcomes<C>(tree: Tree<C>, partsCount: number): Outcomes {
  const failing = partsCount <= partsRunMax && isSafe(tree) ? 0 : fails
  if (tree.kind === 'binary' && isNeverEqual(tree.left, tree.operator, tree.right))
    return failing | (tree.operator === '!=' ? isTrue : isFalse)
  return failing === 0 ? isTrue | isFalse : anyOutcome
}

/** Nothing is in an empty list, and `lower(…)` has no capital letters. */
function isNeverEqual<C>(left: Tree<C>, operator: BinaryOperator, right: Tree<C>): boolean {
  if (operator === 'in') return right.kind === 'list' && right.items.every((item) => isOtherCase(left, item))
  return equalities.has(operator) && (isOtherCase(left, right) || isOtherCase(right, left))
}

function isOtherCase<C>(tree: Tree<C>, other: Tree<C>): boolean {
  if (tree.kind !== 'call' || other.kind !== 'constant' || typeof other.value !== 'string') return false
  const { name } = tree.callee
  if (name !== 'lower' && name !== 'upper') return false
  return other.value !== (name === 'lower' ? other.value.toLowerCase() : other.value.toUpperCase())
}

const primitives: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])
/** Their steps grow with the product of two texts, or with a pattern. */
const costly: ReadonlySet<string> = new Set(['contains', 'matches'])

/** Whether it has a result for every record. */
function isSafe<C>(tree: Tree<C>): boolean {
  switch (tree.kind) {
    case 'constant':
    case 'entry':
      return true
    case 'name':
      return primitives.has(tree.type)
    case 'binary':
      if (tree.operator === '+' || !isSafe(tree.left)) return false
      return tree.operator === 'in' ? isSafeList(tree.right) : isSafe(tree.right)
    case 'call':
      if (tree.callee.name === 'contains' && isListName(tree.args[0]!)) return isSafe(tree.args[1]!)
      if (!isCondition(tree) || costly.has(tree.callee.name)) return false
      return tree.args.every((arg) => isSafe(arg) || isSafeList(arg))
    default:
      return false
  }
}

const isListName = <C>(tree: Tree<C>): boolean => tree.kind === 'name' && tree.type === 'list'

const isSafeList = <C>(tree: Tree<C>): boolean =>
  isListName(tree) || (tree.kind === 'list' && tree.items.every((item) => isSafe(item)))
