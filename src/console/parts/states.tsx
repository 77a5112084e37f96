/** What a view shows when it has nothing to show: it waits, it failed, it is empty. */
import type { ComponentChildren } from 'preact'
import { type Answer, errorDetails, errorText } from '../data/asking/api.js'
import { failedTestsIn } from '../data/drafts/test-runs.js'
import { FailedTests } from './failed-tests.js'

/** What the API said, and how to try again. */
export function Failure({ error, again }: { readonly error: unknown; readonly again?: () => void }) {
  const failed = failedTestsIn(error)
  return (
    <div class="failure" role="alert">
      <p>{errorText(error)}</p>
      {failed.length > 0 && <FailedTests tests={failed} />}
      {failed.length === 0 &&
        errorDetails(error).map((each) => (
          <p class="quiet" key={each}>
            {each}
          </p>
        ))}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Nothing is there: what it means, and what to do next. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="empty">{children}</div>
)

/** A command to copy. */
export const Command = ({ text }: { readonly text: string }) => <code class="command">{text}</code>

interface AnsweredProps<Data> {
  readonly answer: Answer<Data> & { again(): void }
  readonly children: (data: Data) => ComponentChildren
}

/** Shows an answer once it is here; while it is asked for again, the last one stays. */
export function Answered<Data>({ answer, children }: AnsweredProps<Data>) {
  const { data, error, again } = answer
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      {data === undefined && error === undefined && <div class="waits" role="status" aria-label="Loading" />}
      {data !== undefined && children(data)}
    </>
  )
}
