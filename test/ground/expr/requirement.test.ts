import t from 'tap'
import { type Requirement, requirementOf } from '../../../src/ground/expr/requirement.js'
import { charsPerStep } from '../../../src/ground/expr/values.js'
import { type Context, nameOf, treeOf } from './trees.js'

/** `text equal x`, `any(…)`, `all(…)`; `-` if there is none. */
function shown(requirement: Requirement<Context> | undefined): string {
  if (requirement === undefined) return '-'
  if (requirement.kind === 'any' || requirement.kind === 'all')
    return `${requirement.kind}(${requirement.of.map(shown).join(', ')})`
  const { kind, name, value } = requirement
  return `${nameOf(name.read)} ${kind === 'order' ? requirement.operator : kind} ${value}`
}

const long = 'x'.repeat(charsPerStep)

const cases: Readonly<Record<string, string>> = {
  // Comparisons of a name with a literal of its type.
  "text == 'a'": 'text equal a',
  "'a' == text": 'text equal a',
  'number == 5': 'number equal 5',
  'flag == true': 'flag equal true',
  'number > 5': 'number > 5',
  '5 > number': 'number < 5',
  '5 <= number': 'number >= 5',
  "text in ['a', 'b']": 'any(text equal a, text equal b)',
  // Values of another type are converted, which may take steps or fail.
  'text == 5': '-',
  "number == '5'": '-',
  "text < 'b'": '-',
  "any == 'a'": '-',
  "text in ['a', 5]": '-',
  'text == other': '-',
  'text == null': '-',
  // A long text takes steps wherever it is compared.
  [`text == '${long.slice(1)}'`]: `text equal ${long.slice(1)}`,
  [`text == '${long}'`]: '-',
  // Most contexts meet these conditions.
  "text != 'a'": '-',
  "!(text == 'a')": '-',
  flag: '-',
  // Functions.
  "text|startsWith('a')": 'text beginning a',
  "endsWith(text, 'a')": 'text end a',
  "text|startsWith('')": '-',
  "text|contains('a')": '-',
  "text|matches('a')": '-',
  "text|inCidrRange('10.0.0.0/8')": 'text range 10.0.0.0/8',
  "inCidrRanges(text, ['10.0.0.0/8', '::1'])": 'any(text range 10.0.0.0/8, text range ::1)',
  'inCidrRanges(text, [])': 'any()',
  'text|inCidrRange(other)': '-',
  "lower(text)|startsWith('a')": '-',
  // Constants.
  false: 'any()',
  true: '-',
  // All parts of `||` must have one.
  "text == 'a' || number == 1": 'any(text equal a, number equal 1)',
  "text == 'a' || flag": '-',
  // Parts of `&&` count up to the first that may fail or take a step.
  "text == 'a' && number == 1": 'all(text equal a, number equal 1)',
  "flag && text == 'a'": 'all(text equal a)',
  "!flag && text == 'a'": 'all(text equal a)',
  "text != 'b' && text == 'a'": 'all(text equal a)',
  "text == 'a' && text|contains('b') && number == 1": 'all(text equal a)',
  "text|matches('b') && text == 'a'": '-',
  "any.x == 1 && text == 'a'": '-',
  "(text == 'a' || text == 'b') && number > 1": 'all(any(text equal a, text equal b), number > 1)',
  "number > 1 ? text == 'a' : false": '-',
}

t.test('What rules an expression out', async (t) => {
  for (const [text, want] of Object.entries(cases)) t.equal(shown(requirementOf(treeOf(text))), want, text)
})
