import t from 'tap'
import { namesOf } from '../../../src/ground/expr/names.js'
import { scope, treeOf } from './trees.js'

const cases: Readonly<Record<string, string>> = {
  true: '',
  "text == 'a'": 'text',
  "Text == 'a' && text != 'b'": 'text',
  'flag ? number : other': 'flag number other',
  "lower(text)|startsWith('a')": 'text',
  'any.x[.y == number]': 'any number',
  'any[text]': 'any text',
  '[text, {a: number}]': 'number text',
  '!(flag || other)': 'flag other',
}

t.test('Every name of an expression, each once, by its own name', async (t) => {
  for (const [text, want] of Object.entries(cases)) {
    const found = namesOf(treeOf(text), scope).map(({ name }) => name)
    t.equal(found.toSorted().join(' '), want, text)
  }
})
