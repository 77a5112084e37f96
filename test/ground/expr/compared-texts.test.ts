import t from 'tap'
import { textsComparedWith } from '../../../src/ground/expr/expression.js'
import { defineScope } from '../../../src/ground/expr/scope.js'

const scope = defineScope<Readonly<Record<string, unknown>>>({
  names: {
    path: { type: 'string', read: (context) => context['path'] },
    other: { type: 'string', read: (context) => context['other'] },
    headers: { type: 'map', read: (context, key) => context[key!] },
  },
})

/** Undefined: the name is not used. */
const cases: Readonly<Record<string, readonly string[] | undefined>> = {
  "path == 'a'": ['a'],
  "'a' != path": ['a'],
  "path.startsWith('a')": ['a'],
  "path.matches('^/a\\\\S')": ['^/a\\S'],
  "path in ['a', 'b']": ['a', 'b'],
  "path + 'a' == 'b'": ['a', 'b'],
  "path == other + 'a'": ['a'],
  // Texts beside the comparison are no part of it.
  "path == 'a' && other == 'b'": ['a'],
  "!(path == 'a' || other == 'b') && other.contains('c')": ['a'],
  "other == 'b' ? path == 'a' : path == 'c'": ['a', 'c'],
  "path == 'a' && headers['Key'] == 'b'": ['a'],
  "path == headers['Key']": [],
  'path == other': [],
  "path && other == 'b'": [],
  "other == 'a'": undefined,
  "'path' == other": undefined,
  // Refused.
  "path == 'a": undefined,
  'unknown == path': undefined,
}

for (const [expression, want] of Object.entries(cases))
  t.test(expression, (t) => {
    const found = textsComparedWith('path', expression, scope)
    t.strictSame(found && [...found].sort(), want)
    t.end()
  })
