import t from 'tap'
import { isCondition } from '../../../src/ground/expr/tree.js'
import { treeOf } from './trees.js'

const cases: Readonly<Record<string, boolean>> = {
  true: true,
  1: false,
  flag: false,
  '!text': true,
  'number == 1': true,
  'text in any': true,
  'number + 1': false,
  "text|startsWith('a')": true,
  'lower(text)': false,
  'number == 1 && !text': true,
  'number == 1 && text': false,
  'flag ? true : false': true,
  'flag ? true : text': false,
  '(number == 1) ?: !text': true,
  'flag ?: true': false,
  'any.x': false,
  'any[.x == 1]': false,
}

t.test('Expressions whose value is true or false, and never another', async (t) => {
  for (const [text, want] of Object.entries(cases)) t.equal(isCondition(treeOf(text)), want, text)
})
