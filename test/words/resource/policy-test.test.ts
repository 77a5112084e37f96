/** The rules of policy tests that a request can't show cheaply. */
import t from 'tap'
import { policyTestsPerAccountMax } from '../../../src/ground/core/limits.js'
import type { Lookups, Row } from '../../../src/words/resource/kind/define.js'
import { policyTest } from '../../../src/words/resource/policy-test.js'

const lookupsWith = (count: number) =>
  ({ all: () => Array.from({ length: count }, () => ({}) as Row) }) as unknown as Lookups

t.test('an account has at most a thousand policy tests', (t) => {
  const row = {} as never
  t.doesNotThrow(() => policyTest.check?.(row, undefined, lookupsWith(policyTestsPerAccountMax - 1)))
  t.throws(() => policyTest.check?.(row, undefined, lookupsWith(policyTestsPerAccountMax)), /at most 1000/)
  t.doesNotThrow(
    () => policyTest.check?.(row, row, lookupsWith(policyTestsPerAccountMax)),
    'one can be changed',
  )
  t.end()
})
