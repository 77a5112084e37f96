import t from 'tap'
import {
  elementReader,
  indexed,
  indexReader,
  isSometimesInherited,
  memberReader,
} from '../../../src/ground/expr/members.js'
import { ExpressionFailure, type Run, StepBudget } from '../../../src/ground/expr/run.js'

/** The value, or the message of the failure. */
function outcome(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ExpressionFailure)) throw error
    return error.message
  }
}

const context: Run<unknown> = (value) => value
const budget = new StepBudget()

const noFirst = (key: string) => `${key} can't be read: the list has no first item with a value.`

const members: readonly { name: string; of: unknown; key: string; want: unknown }[] = [
  { name: 'a member', of: { k: 1 }, key: 'k', want: 1 },
  { name: 'a missing member', of: { k: 1 }, key: 'l', want: undefined },
  { name: 'no value', of: undefined, key: 'k', want: undefined },
  { name: 'null', of: null, key: 'k', want: undefined },
  { name: 'a text', of: 'abc', key: 'k', want: undefined },
  { name: 'the first item of a list', of: [{ k: 1 }, { k: 2 }], key: 'k', want: 1 },
  { name: 'an empty list', of: [], key: 'k', want: noFirst('k') },
  { name: 'a list that begins with null', of: [null], key: 'k', want: noFirst('k') },
  { name: 'an own member with an inherited name', of: { length: 7 }, key: 'length', want: 7 },
  { name: 'an inherited member of an object', of: {}, key: 'toString', want: undefined },
  { name: 'the length of a text, which is its own', of: 'abc', key: 'length', want: 3 },
  { name: 'the length of the first item, not of the list', of: [{ length: 7 }], key: 'length', want: 7 },
]

t.test('Members are read from values and first items, and only own ones', async (t) => {
  for (const { name, of, key, want } of members)
    t.equal(
      outcome(() => memberReader(key, context)(of, budget)),
      want,
      name,
    )
})

t.test('Names that a value may inherit', async (t) => {
  for (const key of ['toString', 'length', 'constructor', '0', '42', 'map', 'toFixed'])
    t.ok(isSometimesInherited(key), key)
  for (const key of ['k', 'client_ip', '1a', '']) t.notOk(isSometimesInherited(key), key)
})

t.test('A path begins at the element itself, else at the outer value', async (t) => {
  const outer: Run<unknown> = () => 'outer'
  const read = (path: readonly string[], element: unknown) =>
    outcome(() => elementReader(path, outer)(undefined, budget, element))
  t.equal(read(['a'], { a: 1 }), 1)
  t.equal(read(['a', 'b'], { a: { b: 2 } }), 2)
  t.equal(
    read(['a', 'b'], { a: [{ b: 3 }] }),
    3,
    'behind the first key, a list has the members of its first item',
  )
  t.equal(read(['a'], [{ a: 1 }]), undefined, 'an element that is a list has none')
  t.equal(read(['length'], {}), undefined)
  t.equal(read(['a'], undefined), 'outer')
})

const indexes: readonly {
  name: string
  of: unknown
  key: unknown
  want: unknown
  /** If it is another one for a key that stands in the expression. */
  known?: unknown
}[] = [
  { name: 'a member', of: { k: 1 }, key: 'k', want: 1 },
  { name: 'an item', of: ['a', 'b'], key: 1, want: 'b' },
  { name: 'true keeps the value', of: 5, key: true, want: 5 },
  { name: 'false drops it', of: 5, key: false, want: undefined },
  { name: 'true keeps no value', of: undefined, key: true, want: undefined },
  { name: 'a list as a key', of: { 'a,b': 1 }, key: ['a', 'b'], want: 1 },
  {
    name: 'no value',
    of: undefined,
    key: 'k',
    want: "A member can't be read from no value; its name is a text of 1 characters.",
    known: "k can't be read from no value.",
  },
  { name: 'an inherited member', of: {}, key: 'toString', want: undefined },
  {
    name: 'a forbidden name, even an own member',
    of: JSON.parse('{"__proto__": 1}'),
    key: '__proto__',
    want: undefined,
  },
]

t.test('An index, also with a key that is known beforehand', async (t) => {
  for (const { name, of, key, want, known = want } of indexes) {
    t.equal(
      outcome(() => indexed(of, key, budget)),
      want,
      name,
    )
    const reader = indexReader(key, context)
    if (reader !== undefined)
      t.equal(
        outcome(() => reader(of, budget)),
        known,
        `${name}: known`,
      )
  }
  for (const key of [1, true, 'toString', '__proto__', 'length'])
    t.equal(indexReader(key, context), undefined, String(key))
})
