/**
 * Runs of equality tests, as people write them for want of a list: `name == 'a' || name == 'b' || asn == 1 || …`, or the
 * same with `!=` and `&&`. One lookup per name replaces a comparison per test.
 */
import { internalized } from '../core/internalized.js'
import { type Code, weightOf } from './code.js'
import type { Writer } from './draft.js'
import type { Run } from './run.js'
import type { LogicTree, Tree } from './tree.js'
import { sieved, sieveOf } from './writers.js'

/** Fewer tests of one name are as fast one by one. */
const testsPerNameMin = 4

/** The compiled parts with each long run of equality tests as one part. */
export function mergeEqualities<C>(
  { operator, parts }: LogicTree<C>,
  compiled: readonly Code<C>[],
): Code<C>[] {
  const test = operator === '||' ? '==' : '!='
  const merged: Code<C>[] = []
  for (let start = 0, end = 0; start < parts.length; start = end) {
    const tests: EqualityTest<C>[] = []
    for (end = start; end < parts.length; end++) {
      const found = equalityTest(parts[end]!, test)
      if (found === undefined) break
      tests.push(found)
    }
    if (end === start) end += 1
    const each = compiled.slice(start, end)
    const groups = groupsOf(tests)
    merged.push(...(groups === undefined ? each : [mergedCode(groups, each, operator === '||')]))
  }
  return merged
}

/** `name == constant`. */
interface EqualityTest<C> {
  readonly read: (context: C) => unknown
  readonly constant: string | number
}

function equalityTest<C>(tree: Tree<C>, operator: '==' | '!='): EqualityTest<C> | undefined {
  if (tree.kind !== 'binary' || tree.operator !== operator) return undefined
  const { left, right } = tree
  if (left.kind !== 'name' || right.kind !== 'constant') return undefined
  const constant = right.value
  if (typeof constant !== 'string' && typeof constant !== 'number') return undefined
  return { read: left.read, constant: typeof constant === 'string' ? internalized(constant) : constant }
}

/** The constants that a name is compared with, all of one type. */
interface Group<C> {
  readonly read: (context: C) => unknown
  readonly type: 'string' | 'number'
  readonly constants: Set<string | number>
}

/** Undefined if merging these tests would not be faster, or if a name is compared with constants of both types. */
function groupsOf<C>(tests: readonly EqualityTest<C>[]): Group<C>[] | undefined {
  const groups = new Map<EqualityTest<C>['read'], Group<C>>()
  for (const { read, constant } of tests) {
    const type = typeof constant as Group<C>['type']
    const group = groups.get(read) ?? { read, type, constants: new Set() }
    if (group.type !== type) return undefined
    group.constants.add(constant)
    groups.set(read, group)
  }
  return tests.length >= testsPerNameMin * groups.size && groups.size > 0 ? [...groups.values()] : undefined
}

function mergedCode<C>(groups: readonly Group<C>[], each: readonly Code<C>[], whenEqual: boolean): Code<C> {
  const run = mergedRun(
    groups,
    each.map((part) => part.run),
    whenEqual,
  )
  return { run, write: mergedWriter(groups, run, whenEqual), weight: weightOf(each) }
}

/** The lookups, if all values have the types of the constants; `run` if not. */
const mergedWriter =
  <C>(groups: readonly Group<C>[], run: Run<C>, whenEqual: boolean): Writer =>
  (draft) => {
    const scripts = groups.map(({ read, type, constants }) => {
      const value = draft.variable()
      return {
        hasType: `typeof (${value} = ${draft.common(read)}(context)) === '${type}'`,
        isAmong: `${sieved(type, value, sieveOf(constants), draft)} && ${draft.value(constants)}.has(${value})`,
      }
    })
    const haveTypes = scripts.map(({ hasType }) => hasType).join(' && ')
    const isEqual = scripts.map(({ isAmong }) => isAmong).join(' || ')
    return `(${haveTypes} ? ${whenEqual ? '' : '!'}(${isEqual}) : ${draft.callOf(run)})`
  }

/**
 * Values of another type than the constants are converted, which takes steps and can fail: then, and only then, the
 * tests run one by one, in their order. So all groups are looked at before there is an answer.
 */
function mergedRun<C>(groups: readonly Group<C>[], each: readonly Run<C>[], whenEqual: boolean): Run<C> {
  return (context, budget, element) => {
    let isEqual = false
    for (let index = 0; index < groups.length; index++) {
      const { read, type, constants } = groups[index]!
      const value = read(context)
      if (typeof value === type) isEqual ||= constants.has(value as string | number)
      else if (value !== undefined && value !== null) {
        isEqual = each.some((run) => run(context, budget, element) === whenEqual)
        break
      }
    }
    return isEqual === whenEqual
  }
}
