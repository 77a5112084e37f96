/** A view that has nothing to show: it waits, it failed, it is empty. */
import type { ComponentChildren } from 'preact'
import { ApiError } from '../../../words/client/api-error.js'
import { errorDetails, errorText } from '../data/asking/api.js'
import type { LiveRows } from '../data/asking/live-rows.js'
import { type Asked, isPageWaiting, unshownFailures, useShown } from '../data/asking/questions.js'
import { failedTestsIn } from '../data/asking/test-runs.js'
import { drawings } from '../data/drawings.js'
import { parameter, path, setParameters } from '../data/location.js'
import { Mark } from '../kit/mark.js'
import { FailedTests } from './failed-tests.js'

interface FailureProps {
  readonly error: unknown
  readonly again?: () => void
}

/** The message of the API, and how to try again. */
export function Failure({ error, again }: FailureProps) {
  if (isOverTime(error)) return <OverTime {...(again && { again })} />
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

/** Nothing is wrong: a shorter time has an answer, or the same one when the machine is less busy. */
function OverTime({ again }: Pick<FailureProps, 'again'>) {
  const isSearch = path.value[0] === 'search' && parameter('since') !== shortest
  return (
    <div class="failure" role="alert">
      <p>There is too much to look through in the time that an answer may take.</p>
      <div class="row">
        {isSearch && (
          <button type="button" onClick={() => setParameters({ since: shortest, until: '', open: '' })}>
            Look at the last hour
          </button>
        )}
        {again && (
          <button type="button" onClick={again}>
            Try again
          </button>
        )}
      </div>
    </div>
  )
}

const shortest = '1h'

const isOverTime = (error: unknown): boolean =>
  error instanceof ApiError && error.error_code === 'ERR_TIME_LIMIT'

/** Nothing is there: what it means, and what to do next, with the picture of its page if the page has nothing else. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="empty">
    <Mark path={drawings[path.value[0] ?? ''] ?? ''} />
    {children}
  </div>
)

/** A command to copy. */
export const Command = ({ text }: { readonly text: string }) => <code class="command">{text}</code>

/** In the place of what is not here yet. The frame of the page says it to those who can't see it. */
export const Waits = () => (
  <div class="waits">
    <span>Loading…</span>
  </div>
)

/** The same in a line or a cell. */
export const WaitsInLine = () => (
  <span class="waits-in-line" title="Loading">
    …
  </span>
)

interface AnsweredProps<Data> {
  readonly answer: Asked<Data>
  readonly children: (data: Data) => ComponentChildren
}

/** Shows an answer once it is here; while it is asked for again, the last one stays. */
export function Answered<Data>({ answer, children }: AnsweredProps<Data>) {
  const { data, error, again } = answer
  useShown(answer)
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      {data === undefined && error === undefined && <Waits />}
      {data !== undefined && children(data)}
    </>
  )
}

/** The same within a line: a failure is a few words. */
export function AnsweredInLine<Data>({ answer, children }: AnsweredProps<Data>) {
  const { data, error, again } = answer
  useShown(answer)
  if (data !== undefined) return <>{children(data)}</>
  if (error === undefined) return <WaitsInLine />
  return (
    <span class="quiet">
      not known: {isOverTime(error) ? 'it takes too long to count' : errorText(error)}{' '}
      <button type="button" class="as-link" onClick={again}>
        Try again
      </button>
    </span>
  )
}

interface NoRowsProps {
  readonly live: Pick<LiveRows<never>, 'isWaiting' | 'error'>
  /** The text if there are no rows, which says what that means. */
  readonly children: ComponentChildren
}

/** In place of a table of what happens that has no rows: they are not read yet, can't be, or there are none. */
export const NoRows = ({ live, children }: NoRowsProps) =>
  live.isWaiting.value ? <Waits /> : live.error.value === undefined ? <div>{children}</div> : null

/** The messages in the frame of a page: something is still loading, or failed and no part of the page says so. */
export function PageState() {
  const failures = unshownFailures.value
  const isLogOff = failures.some(({ error }) => isOfNoLog(error.value))
  const failing = failures.filter(({ error }) => !isOfNoLog(error.value))
  const texts = [...new Set(failing.map(({ error }) => errorText(error.value)))]
  const again = (): void => {
    for (const { again } of failing) again()
  }
  return (
    <>
      <p class="page-waits" role="status">
        {isPageWaiting.value && <span>Loading…</span>}
      </p>
      {isLogOff && <p class="quiet">Numbers are missing here: this deployment keeps no log of decisions.</p>}
      {failing.length > 0 && (
        <div class="failure" role="alert">
          <p>A part of this page was not loaded.</p>
          {texts.map((text) => (
            <p key={text}>{text}</p>
          ))}
          <button type="button" onClick={again}>
            Try again
          </button>
        </div>
      )}
    </>
  )
}

/** It does not fail: there is none. */
const isOfNoLog = (error: unknown): boolean => error instanceof ApiError && error.error_code === 'ERR_LOG_OFF'
