/** The decision with its explanation, and how the tests of the file end. */

import { decisionInWords } from '../../ground/core/text/part-in-words.js'
import { number } from '../console/data/texts/format.js'
import { Chain } from '../console/parts/chain.js'
import { Decider, Readings, Shadow, Unserved } from '../console/parts/decider.js'
import { DecisionWord, StateWord } from '../console/parts/words.js'
import { connectionOf } from './asked-connection.js'
import { change, evaluated, isBehind, type TestRun } from './evaluation.js'

export function Answer() {
  const { decision, faults } = evaluated.value
  return (
    <section class="stack" aria-label="The decision" aria-busy={isBehind.value}>
      {decision === undefined ? (
        <p class="quiet">
          {faults.length > 0
            ? 'Nothing is decided while the policies have a fault.'
            : 'Nothing is decided while the connection lacks something.'}
        </p>
      ) : (
        <>
          <p class="verdict" aria-live="polite">
            <DecisionWord decision={decision.decision} />{' '}
            {decision.explanation && <Decider explanation={decision.explanation} />}
          </p>
          {decision.explanation && <Readings explanation={decision.explanation} />}
          {decision.explanation && <Shadow explanation={decision.explanation} />}
          <Unserved decision={decision} of="file" />
          {decision.warnings.map((warning) => (
            <p key={warning} class="warning-line">
              {warning}
            </p>
          ))}
          {decision.explanation && <Chain explanation={decision.explanation} />}
        </>
      )}
    </section>
  )
}

/** More are counted only: a page of thousands of rows is slow to draw while one types. */
const testsShownMax = 100

/** Those that failed come first. */
export function Tests() {
  const { tests, faults } = evaluated.value
  if (faults.length > 0) return null
  const failed = tests.filter(({ passed }) => !passed)
  const listed = [...failed, ...tests.filter(({ passed }) => passed)].slice(0, testsShownMax)
  return (
    <section class="stack" aria-labelledby="tests">
      <h2 id="tests">Tests of the file</h2>
      {tests.length === 0 ? (
        <p class="quiet">
          There are none. “Add as a test” makes one of the connection above and its decision.
        </p>
      ) : (
        <p>
          {number(tests.length - failed.length)} passed, {number(failed.length)} failed
        </p>
      )}
      <ul class="policies" aria-label="Tests">
        {listed.map((run, index) => (
          <TestEntry key={`${index} ${run.test.name}`} run={run} />
        ))}
      </ul>
      {tests.length > listed.length && (
        <p class="quiet">{number(tests.length - listed.length)} more are not listed.</p>
      )}
    </section>
  )
}

const TestEntry = ({
  run: { test, passed, decision, decidedBy, shadow, problem },
}: {
  readonly run: TestRun
}) => (
  <li>
    <p class="row apart">
      <span>
        <StateWord tone={passed ? 'good' : 'bad'} text={passed ? 'passed' : 'failed'} /> {test.name}
      </span>
      <button
        type="button"
        aria-label={`Show ${test.name}`}
        onClick={() => change({ connection: connectionOf(test.given) })}
      >
        Show
      </button>
    </p>
    {!passed && (
      <p class="fault">
        {problem === null
          ? `Expected ${decisionInWords(test.expect)}; it is ${decisionInWords({ decision, decided_by: decidedBy, shadow })}.`
          : `It can't be decided: ${problem}`}
      </p>
    )}
  </li>
)
