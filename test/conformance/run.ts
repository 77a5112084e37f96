/** Checks the contract against a deployment, clause by clause, and leaves nothing behind. */
import { Broken, NotChecked, shown } from './answer.js'
import { reasonOf } from './asker.js'
import { type Clause, type Need, needs } from './clause.js'
import { chapters } from './clauses.js'
import { type Target, Visit } from './visit.js'

interface Finding {
  readonly asked: string
  readonly should: string
  readonly came: string
}

export interface Result {
  readonly clause: Clause
  readonly state: 'held' | 'broken' | 'not_checked'
  /** Of one that is broken. */
  readonly finding?: Finding
  /** Of one that was not checked. */
  readonly why?: string
  readonly tookMs: number
}

export interface Outcome {
  /** What everything is called that the run made. */
  readonly label: string
  readonly results: readonly Result[]
  /** Resources that could not be removed. */
  readonly left: readonly string[]
}

interface RunOptions {
  /** Numbers of clauses; a whole hundred stands for its chapter. Default: all. */
  readonly only?: readonly number[]
  readonly interrupted?: AbortSignal
  readonly onResult?: (result: Result) => void
}

export const clauses: readonly Clause[] = chapters.flatMap(({ clauses }) => clauses)

const isWanted = (number: number, only: readonly number[] = []): boolean =>
  only.length === 0 || only.includes(number) || only.includes(number - (number % 100))

export async function runContract(
  target: Target,
  { only, interrupted, onResult }: RunOptions = {},
  visit = new Visit(target),
): Promise<Outcome> {
  const results: Result[] = []
  let left: string[] = []
  try {
    for (const clause of clauses.filter(({ number }) => isWanted(number, only))) {
      const begun = Date.now()
      const checked = await resultOf(clause, visit, interrupted)
      const result = { clause, ...withoutSecrets(visit, checked), tookMs: Date.now() - begun }
      results.push(result)
      onResult?.(result)
    }
  } finally {
    left = await visit.end()
  }
  return { label: visit.label, results, left }
}

type Checked = Pick<Result, 'state' | 'finding' | 'why'>

async function resultOf(clause: Clause, visit: Visit, interrupted?: AbortSignal): Promise<Checked> {
  if (interrupted?.aborted === true) return { state: 'not_checked', why: 'the run was interrupted' }
  const missing = clause.needs?.find((need) => !isGiven(need, visit.target))
  if (missing !== undefined) return { state: 'not_checked', why: needs[missing] }
  try {
    await untilInterrupted(clause.check(visit), interrupted)
    return { state: 'held' }
  } catch (error) {
    if (error instanceof NotChecked) return { state: 'not_checked', why: error.message }
    if (error instanceof Broken) {
      const { asked, should, came } = error
      return { state: 'broken', finding: { asked, should, came } }
    }
    // The check relied on a form that an answer does not have.
    const { asked = 'nothing yet', status = 0, text = '' } = visit.ask.last ?? {}
    const should = `the form that is documented (${reasonOf(error)})`
    return { state: 'broken', finding: { asked, should, came: `${status} ${shown(text)}` } }
  }
}

/** A check that waits for events must not hold up who wants to leave. */
function untilInterrupted(check: Promise<unknown>, interrupted?: AbortSignal): Promise<unknown> {
  if (interrupted === undefined) return check
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new NotChecked('the run was interrupted'))
    interrupted.addEventListener('abort', leave)
    check.then(resolve, reject).finally(() => interrupted.removeEventListener('abort', leave))
  })
}

function isGiven(need: Need, target: Target): boolean {
  const given: Readonly<Record<Need, boolean>> = {
    writes: target.isReadOnly !== true,
    listen: target.listen !== undefined,
    nats: target.natsUrl !== undefined,
    decide: target.decideUrl !== undefined,
    'other-key': target.otherKey !== undefined,
    limits: target.isWithLimits === true,
  }
  return given[need]
}

function withoutSecrets(visit: Visit, { state, finding, why }: Checked): Checked {
  return {
    state,
    ...(why === undefined ? {} : { why: visit.redacted(why) }),
    ...(finding === undefined
      ? {}
      : {
          finding: {
            asked: visit.redacted(finding.asked),
            should: visit.redacted(finding.should),
            came: visit.redacted(finding.came),
          },
        }),
  }
}
