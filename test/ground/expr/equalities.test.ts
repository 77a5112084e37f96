import t from 'tap'
import { constant } from '../../../src/ground/expr/code.js'
import { mergeEqualities } from '../../../src/ground/expr/equalities.js'
import { type Context, treeOf } from './trees.js'

/** The number of parts that remain. */
function partsOf(text: string): number {
  const tree = treeOf(text)
  if (tree.kind !== 'logic') throw new Error(`${text} has no parts.`)
  return mergeEqualities(
    tree,
    tree.parts.map(() => constant<Context>(true)),
  ).length
}

const tests = (name: string, operator: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${operator} '${n}'`)

const cases: readonly { name: string; parts: readonly string[]; by: '||' | '&&'; want: number }[] = [
  { name: 'four of one name', parts: tests('text', '==', 4), by: '||', want: 1 },
  { name: 'three of one name', parts: tests('text', '==', 3), by: '||', want: 3 },
  { name: '!= and &&', parts: tests('text', '!=', 4), by: '&&', want: 1 },
  { name: '== and &&', parts: tests('text', '==', 4), by: '&&', want: 4 },
  { name: '!= and ||', parts: tests('text', '!=', 4), by: '||', want: 4 },
  {
    name: 'two names, four each',
    parts: [...tests('text', '==', 4), ...tests('other', '==', 4)],
    by: '||',
    want: 1,
  },
  { name: 'two names, too few each', parts: [...tests('text', '==', 4), 'other == 1'], by: '||', want: 5 },
  { name: 'constants of two types', parts: [...tests('text', '==', 4), 'text == 1'], by: '||', want: 5 },
  {
    name: 'another test before and behind',
    parts: ['flag', ...tests('text', '==', 4), 'flag'],
    by: '||',
    want: 3,
  },
  {
    name: 'another test in between',
    parts: [...tests('text', '==', 2), 'flag', ...tests('text', '==', 2)],
    by: '||',
    want: 5,
  },
  {
    name: 'two runs',
    parts: [...tests('text', '==', 4), 'flag', ...tests('text', '==', 4)],
    by: '||',
    want: 3,
  },
  { name: 'no constants', parts: Array(4).fill('text == other'), by: '||', want: 4 },
  { name: 'members of a name', parts: tests('any.x', '==', 4), by: '||', want: 4 },
]

t.test('Which equality tests become one lookup', async (t) => {
  for (const { name, parts, by, want } of cases) t.equal(partsOf(parts.join(` ${by} `)), want, name)
})
