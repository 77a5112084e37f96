import t from 'tap'
import { compareWithReference } from './compare.js'

/** `--full` compares more. */
const pairsMin = process.argv.includes('--full') ? 60_000 : 5_000

t.test('Random expressions have the value that jexl gives them', async (t) => {
  const { differences, pairs, equal, bothFailed, bothRefused, stricter, looser } = compareWithReference(
    pairsMin,
    20_261_120,
  )
  t.same(differences, [], 'no differences')
  t.ok(
    pairs >= pairsMin && equal > pairsMin / 2,
    `${pairs} pairs, ${equal} with equal values, ${bothFailed} without`,
  )
  t.ok(bothFailed > 100, 'failures are compared, too')
  t.ok(bothRefused > 100, `${bothRefused} texts that neither accepts`)
  t.comment('Refused when saved, where jexl fails later or never', stricter)
  t.comment('Accepted, where jexl asks for parentheses', looser)
  const known = [
    ...['unclosed_bracket', 'missing_operand', 'mixed_operators', 'forbidden_name', 'unknown_name'],
    ...['unknown_function', 'wrong_arguments', 'bad_literal', 'syntax'],
  ]
  t.same(
    Object.keys(stricter).filter((reason) => !known.includes(reason)),
    [],
    'every refusal is of a known kind',
  )
  t.ok((stricter.unknown_name ?? 0) > 0 && (stricter.wrong_arguments ?? 0) > 0, 'refusals do occur')
})
