/** The tests of the account, run against the present configuration when the page is opened, and whenever one asks. */
import { useSignal } from '@preact/signals'
import { policyTestsPerAccountMax } from '../../../../ground/core/limits.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { may } from '../../data/access/session.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { expectationOf, nameOfTest, outcomeOf, type TestRun } from '../../data/asking/test-runs.js'
import { isoSeconds, now } from '../../data/clock.js'
import { number, textOf } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Chain } from '../../parts/chain.js'
import { Outcome, TestName } from '../../parts/failed-tests.js'
import { HistoryLink } from '../../parts/history-link.js'
import { Answered, Empty } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

type PolicyTest = Resource<'policyTest'>

/** Rows that are drawn; more are shown on demand. Those that failed come first. */
const step = 100

interface ListedTest extends TestRun {
  readonly given: PolicyTest['given'] | undefined
}

const columns: readonly Column<ListedTest>[] = [
  {
    title: 'State',
    cell: ({ passed }) => <StateWord tone={passed ? 'good' : 'bad'} text={passed ? 'passes' : 'fails'} />,
  },
  {
    title: 'Test',
    isMain: true,
    cell: (run) => (
      <p class="name">
        <TestName run={run} />
      </p>
    ),
  },
  { title: 'Given', cell: ({ given }) => <span class="mono">{summaryOf(given)}</span> },
  { title: 'Expected', cell: expectationOf },
  { title: 'Got', cell: outcomeOf, isWide: true },
]

/** Who wants where, in a few words. */
function summaryOf(given: PolicyTest['given'] | undefined): string {
  if (given === undefined) return ''
  const conn = (given['conn'] ?? {}) as Readonly<Record<string, unknown>>
  const request = (given['http'] as { request?: { method?: unknown; url?: { path?: unknown } } } | undefined)
    ?.request
  const asked = [request?.method, request?.url?.path].filter((each) => each !== undefined).map(textOf)
  const place = [textOf(conn['server_name']), textOf(conn['server_port'])].filter(Boolean).join(':')
  return [textOf(conn['client_ip']), '→', place || textOf(given['edge_id']) || '?', ...asked].join(' ')
}

function stateOf(passed: number, failed: number): string {
  if (failed > 0) return failed === 1 ? '1 fails' : `${number(failed)} fail`
  return passed === 1 ? '1 passes' : `all ${number(passed)} pass`
}

export function TestList() {
  const count = useSignal(step)
  const opened = useSignal<ListedTest | undefined>(undefined)
  const answer = useAnswer([], async (client) => {
    const [{ passed, failed, tests }, { entries }] = await Promise.all([
      client.runPolicyTests(),
      firstOf(client.policyTest.list({ limit: 100 }), policyTestsPerAccountMax),
    ])
    const givens = new Map(entries.map(({ id, given }) => [id, given]))
    const rows = tests.map((run): ListedTest => ({ ...run, given: givens.get(run.policy_test_id ?? '') }))
    return { passed, failed, rows, at: isoSeconds(now()) }
  })
  return (
    <Answered answer={answer}>
      {({ passed, failed, rows, at }) =>
        rows.length === 0 ? (
          <None />
        ) : (
          <div class="stack" aria-busy={answer.isLoading}>
            <div class="row">
              <StateWord tone={failed === 0 ? 'good' : 'bad'} text={stateOf(passed, failed)} />
              {failed > 0 && <span>{number(passed)} pass</span>}
              <span class="quiet">
                run <Time at={at} />
              </span>
              <Button onClick={answer.again}>Run now</Button>
            </div>
            <Table
              label="Policy tests, those that fail first"
              rows={rows.slice(0, count.value)}
              columns={columns}
              keyOf={({ policy_test_id }) => policy_test_id ?? ''}
              onOpen={(run) => {
                opened.value = run
              }}
              opened={opened.value?.policy_test_id ?? undefined}
            />
            {rows.length > count.value && (
              <div class="row">
                <Button
                  onClick={() => {
                    count.value += step
                  }}
                >
                  Show more
                </Button>
              </div>
            )}
            {opened.value && (
              <TestDrawer
                run={opened.value}
                onClose={() => {
                  opened.value = undefined
                }}
              />
            )}
          </div>
        )
      }
    </Answered>
  )
}

function TestDrawer({ run, onClose }: { readonly run: ListedTest; readonly onClose: () => void }) {
  const { policy_test_id, given, passed, expect } = run
  // The list explains the first ones that fail only; alone, each is.
  const explained = useAnswer([policy_test_id], async (client) => {
    if (run.explanation !== null || passed || given === undefined) return run.explanation
    const { tests } = await client.runPolicyTests([{ given, expect }])
    return tests[0]?.explanation ?? null
  })
  return (
    <Drawer title={nameOfTest(run)} onClose={onClose}>
      <p class="verdict">
        <StateWord tone={passed ? 'good' : 'bad'} text={passed ? 'passes' : 'fails'} />
      </p>
      <Outcome run={run} />
      {policy_test_id !== null && (
        <p class="row">
          <Link to={['tests', policy_test_id]}>{may('write') ? 'Change the test' : 'Open the test'}</Link>
          <HistoryLink id={policy_test_id} />
        </p>
      )}
      {!passed && (
        <Answered answer={explained}>
          {(explanation) => explanation !== null && <Chain explanation={explanation} />}
        </Answered>
      )}
      <h3>Given</h3>
      <pre>{JSON.stringify(given, null, 2)}</pre>
    </Drawer>
  )
}

const None = () => (
  <Empty>
    <p>
      There is no policy test yet. A test is a connection or request, and the decision that it must get: a
      change after which it would get another one is refused.
    </p>
    {may('write') ? (
      <Link to={['tests', 'new']}>Create the first test</Link>
    ) : (
      <p>A key with the right “write” can create one.</p>
    )}
    <Link to={['explain']}>Or make one of a decision that was made</Link>
  </Empty>
)
