/**
 * A checked tree ▸ closures, or a function of its shape (`draft.ts`). Everything constant is computed here, once:
 * constants are folded, lists become sets, ranges become masks. Per record nothing is looked up by name.
 */
import { type Code, constant, folded, weightOf, written } from './code.js'
import { functionOf, instructionOf, type Writer } from './draft.js'
import { mergeEqualities } from './equalities.js'
import { elementReader, indexed, indexReader, memberReader } from './members.js'
import { operationOn, operations } from './operators.js'
import { Refusal } from './problem.js'
import type { Instruction, Operation, Run } from './run.js'
import type { BinaryTree, CallTree, ChoiceTree, LogicTree, Tree } from './tree.js'
import { elementWriter, firstPicked, indexWriter, memberWriter, operatorWriter } from './writers.js'

/** The closures of an expression. Throws a `Refusal` for literals that are not valid ranges, addresses or patterns. */
export const compileTree = <C>(tree: Tree<C>): Run<C> => compile(tree).run

/** More would nest too deep for a function. */
const shapePartsMax = 200

/** The function of an expression's shape, or its closures. Throws like `compileTree`. */
export function compileShape<C>(tree: Tree<C>): Run<C> {
  const code = compile(tree)
  return shapeWriter(code, functionOf<C>) ?? code.run
}

/** The expression as an instruction: that of its shape, or one that calls its closures. Throws like `compileTree`. */
export function compileInstruction<C>(tree: Tree<C>): Instruction<C> {
  const code = compile(tree)
  return shapeWriter(code, instructionOf<C>) ?? [callClosure, code.run]
}

const shapeWriter = <C, T>(
  { write, weight }: Code<C>,
  make: (write: Writer) => T | undefined,
): T | undefined => (write === undefined || weight > shapePartsMax ? undefined : make(write))

const callClosure: Operation<unknown> = (context, budget, instructions, at) =>
  (instructions[at + 1] as Run<unknown>)(context, budget)

/** Follows a chain in a loop, as the checker does: only nested brackets recurse. */
function compile<C>(tree: Tree<C>): Code<C> {
  const chain: Tree<C>[] = []
  let start = tree
  for (let next = subjectOf(start); next !== undefined; next = subjectOf(start)) {
    chain.push(start)
    start = next
  }
  let code = compileStart(start)
  for (let link = chain.pop(); link !== undefined; link = chain.pop()) code = compileLink(link, code)
  return code
}

/** The operand that is evaluated first: the next node of the chain. */
function subjectOf<C>(tree: Tree<C>): Tree<C> | undefined {
  switch (tree.kind) {
    case 'member':
    case 'pick':
    case 'index':
      return tree.subject
    case 'not':
      return tree.operand
    case 'binary':
      return tree.left
    case 'call':
      return tree.args[0]
    default:
      return undefined
  }
}

function compileStart<C>(tree: Tree<C>): Code<C> {
  switch (tree.kind) {
    case 'constant':
      return constant(tree.value)
    case 'name':
      return { run: tree.read, write: (draft) => `${draft.common(tree.read)}(context)`, weight: 1 }
    case 'entry': {
      const { map, key } = tree
      return {
        run: (context) => map.read(context, key),
        write: (draft) => `${draft.common(map.read)}(context, ${draft.value(key)})`,
        weight: 1,
      }
    }
    case 'element':
      return compileElement(tree.path, tree.outer)
    case 'logic':
      return compileLogic(tree)
    case 'choice':
      return compileChoice(tree)
    case 'list':
      return compileList(tree.items)
    case 'object':
      return compileObject(tree.entries)
    default:
      throw new Error(`A ${tree.kind} can't begin a chain.`)
  }
}

function compileLink<C>(tree: Tree<C>, subject: Code<C>): Code<C> {
  const { run } = subject
  switch (tree.kind) {
    case 'member':
      return folded(memberReader(tree.key, run), [subject], memberWriter(tree.key, subject))
    case 'not':
      return folded(
        (context, budget, element) => !run(context, budget, element),
        [subject],
        (draft) => `!${written(subject, draft)}`,
      )
    case 'binary':
      return compileBinary(tree, subject)
    case 'pick':
      return compilePick(subject, compile(tree.test))
    case 'index':
      return compileIndex(subject, compile(tree.key))
    case 'call':
      return compileCall(tree, [subject, ...tree.args.slice(1).map((arg) => compile(arg))])
    default:
      throw new Error(`A ${tree.kind} can't be a link of a chain.`)
  }
}

function compileElement<C>(path: readonly string[], outer: Tree<C> | undefined): Code<C> {
  const outerCode = outer === undefined ? constant<C>(undefined) : compile(outer)
  return {
    run: elementReader(path, outerCode.run),
    write: elementWriter(path, outerCode),
    weight: path.length + outerCode.weight,
  }
}

function compileBinary<C>(tree: BinaryTree<C>, left: Code<C>): Code<C> {
  const right = compile(tree.right)
  const leftRun = left.run
  const rightRun = right.run
  const operation = operations[tree.operator]
  const onKnown = right.known && operationOn(tree.operator, right.known.value)
  if (onKnown !== undefined)
    return folded(onKnown(leftRun), [left, right], operatorWriter(tree.operator, left, right.known?.value))
  const run: Run<C> = (context, budget, element) =>
    operation(leftRun(context, budget, element), rightRun(context, budget, element), budget)
  return folded(
    run,
    [left, right],
    (draft) => `${draft.common(operation)}(${written(left, draft)}, ${written(right, draft)}, budget)`,
  )
}

function compileLogic<C>(tree: LogicTree<C>): Code<C> {
  const parts = tree.parts.map((part) => compile(part))
  const merged = mergeEqualities(tree, parts)
  const write: Writer = (draft) =>
    `(${merged.map((part) => written(part, draft)).join(tree.operator === '||' ? ' || ' : ' && ')})`
  const runs = merged.map((part) => part.run)
  const stopsAt = tree.operator === '||'
  const run: Run<C> = (context, budget, element) => {
    let value: unknown
    for (let index = 0; index < runs.length; index++) {
      value = runs[index]!(context, budget, element)
      if (value ? stopsAt : !stopsAt) return value
    }
    return value
  }
  return folded(run, parts, write)
}

function compileChoice<C>(tree: ChoiceTree<C>): Code<C> {
  const test = compile(tree.test)
  const alternate = compile(tree.alternate)
  const testRun = test.run
  const alternateRun = alternate.run
  if (tree.consequent === undefined) {
    const run: Run<C> = (context, budget, element) =>
      testRun(context, budget, element) || alternateRun(context, budget, element)
    return folded(
      run,
      [test, alternate],
      (draft) => `(${written(test, draft)} || ${written(alternate, draft)})`,
    )
  }
  const consequent = compile(tree.consequent)
  const consequentRun = consequent.run
  const run: Run<C> = (context, budget, element) =>
    testRun(context, budget, element)
      ? consequentRun(context, budget, element)
      : alternateRun(context, budget, element)
  const parts = [test, consequent, alternate]
  return folded(run, parts, (draft) => {
    const [testScript, consequentScript, alternateScript] = parts.map((part) => written(part, draft))
    return `(${testScript} ? ${consequentScript} : ${alternateScript})`
  })
}

function compileList<C>(items: readonly Tree<C>[]): Code<C> {
  const parts = items.map((item) => compile(item))
  const runs = parts.map((part) => part.run)
  return folded((context, budget, element) => runs.map((run) => run(context, budget, element)), parts)
}

function compileObject<C>(entries: readonly (readonly [string, Tree<C>])[]): Code<C> {
  const parts = entries.map(([, value]) => compile(value))
  const runs = parts.map((part) => part.run)
  const keys = entries.map(([key]) => key)
  const run: Run<C> = (context, budget, element) =>
    Object.fromEntries(runs.map((value, index) => [keys[index]!, value(context, budget, element)]))
  return folded(run, parts)
}

/** Keeps the elements for which the test is true; a single value counts as a list of one. */
function compilePick<C>(subject: Code<C>, test: Code<C>): Code<C> {
  const subjectRun = subject.run
  const testRun = test.run
  const stepsPerElement = test.weight
  const run: Run<C> = (context, budget, element) => {
    const value = subjectRun(context, budget, element)
    if (value === undefined) return []
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    const picked: unknown[] = []
    for (let index = 0; index < list.length; index++) {
      const item = list[index]
      budget.take(stepsPerElement)
      if (testRun(context, budget, item || undefined)) picked.push(item)
    }
    return picked
  }
  return { run, writeFirst: firstPicked(subject, test), weight: weightOf([subject, test]) }
}

function compileIndex<C>(subject: Code<C>, key: Code<C>): Code<C> {
  const subjectRun = subject.run
  const keyRun = key.run
  const read = key.known && indexReader(key.known.value, subjectRun)
  if (read !== undefined)
    return folded(read, [subject, key], indexWriter(key.known!.value as string, subject))
  const run: Run<C> = (context, budget, element) =>
    indexed(subjectRun(context, budget, element), keyRun(context, budget, element), budget)
  return folded(run, [subject, key])
}

function compileCall<C>(tree: CallTree<C>, args: readonly Code<C>[]): Code<C> {
  const { callee } = tree
  const [first, second] = args as [Code<C>, Code<C> | undefined]
  refuseBadArguments(tree, first)
  const firstRun = first.run
  let run: Run<C>
  let write: Writer
  if (second === undefined) {
    run = (context, budget, element) => callee.call(firstRun(context, budget, element), undefined, budget)
    write = (draft) => `${draft.common(callee.call)}(${written(first, draft)}, undefined, budget)`
  } else if (second.known !== undefined && callee.withSecond !== undefined) {
    const known = callee.withSecond(second.known.value)
    if (!known.ok) throw badArgument(tree, 1, known.problem.msg)
    const { value: call } = known
    run = (context, budget, element) => call(firstRun(context, budget, element), budget)
    write = (draft) => {
      // Ranges or patterns of one function share their code; those of two functions must not share a shape.
      draft.common(callee)
      return `${draft.value(call)}(${written(first, draft)}, budget)`
    }
  } else {
    if (callee.secondIsLiteral) throw badArgument(tree, 1, `${callee.parameters[1]} must be a literal`)
    const secondRun = second.run
    run = (context, budget, element) =>
      callee.call(firstRun(context, budget, element), secondRun(context, budget, element), budget)
    write = (draft) =>
      `${draft.common(callee.call)}(${written(first, draft)}, ${written(second, draft)}, budget)`
  }
  return callee.neverFolded ? { run, write, weight: weightOf(args) } : folded(run, args, write)
}

function refuseBadArguments<C>(tree: CallTree<C>, first: Code<C>): void {
  const { callee, args } = tree
  const problem = first.known && callee.checkFirst?.(first.known.value)
  if (problem !== undefined) throw badArgument(tree, 0, problem)
  const second = args[1]
  if (callee.checkItem === undefined || second?.kind !== 'list') return
  for (const item of second.items) {
    const itemProblem = item.kind === 'constant' ? callee.checkItem(item.value) : undefined
    if (itemProblem !== undefined) throw badArgument(tree, 1, itemProblem)
  }
}

function badArgument<C>(tree: CallTree<C>, index: number, problem: string): Refusal {
  const arg = tree.args[index]!
  const offset = arg.kind === 'constant' ? arg.offset : undefined
  return new Refusal('bad_literal', `${tree.callee.name}: ${problem}`, offset ?? tree.offset)
}
