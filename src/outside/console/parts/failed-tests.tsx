/** Policy tests that fail: what each expects, what it gets, and why. */
import { expectationOf, nameOfTest, outcomeOf, type TestRun } from '../data/asking/test-runs.js'
import { Link } from '../kit/link.js'
import { Chain } from './chain.js'
import { StateWord } from './words.js'

export const FailedTests = ({ tests }: { readonly tests: readonly TestRun[] }) => (
  <ul class="policies" aria-label="Policy tests that fail">
    {tests.map((run, index) => (
      <li key={run.policy_test_id ?? index}>
        <p>
          <StateWord tone="bad" text="fails" /> <TestName run={run} />
        </p>
        <Outcome run={run} />
        {run.explanation !== null && (
          <details>
            <summary>Why it would be {run.decision}</summary>
            <Chain explanation={run.explanation} />
          </details>
        )}
      </li>
    ))}
  </ul>
)

export const TestName = ({ run }: { readonly run: TestRun }) =>
  run.policy_test_id === null ? (
    <span>{nameOfTest(run)}</span>
  ) : (
    <Link to={['tests', run.policy_test_id]} title={run.policy_test_id}>
      {nameOfTest(run)}
    </Link>
  )

export const Outcome = ({ run }: { readonly run: TestRun }) => (
  <p>
    Expected <strong>{expectationOf(run)}</strong>, got <strong>{outcomeOf(run)}</strong>.
  </p>
)
