/**
 * A draft, tried on the traffic of the last hours: which hours, progress, cancel, result. The trial is in the URL, so a
 * reload finds it again.
 */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { timeSentences } from '../../../../words/shape/trial/time-sentences.js'
import type { Trial } from '../../../../words/shape/trial.js'
import { api, useAnswer } from '../../data/asking/api.js'
import type { Asked } from '../../data/asking/questions.js'
import { parameter, setParameters } from '../../data/location.js'
import { bytes, number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Time } from '../../kit/time.js'
import { FailedTests } from '../failed-tests.js'
import { onDemand } from '../on-demand.js'
import { Answered, Failure } from '../states.js'
import { StateWord } from '../words.js'

/** It has a chart, and some trials have other results. */
const TrialResult = onDemand(async () => (await import('./trial-result.js')).TrialResult)

interface TrialRunProps {
  /** Begins a trial of the draft; throws what the API said against it. */
  readonly begin: (client: Client, since: string) => Promise<Trial>
  /** The draft as text: a result says whether it is about this one. */
  readonly draft: string
  /** Why it can't be tried now. */
  readonly blocked?: string | undefined
  /** The first trial begins by itself. */
  readonly isBegunAtOnce?: boolean
  /** The result, if it is not about decisions. */
  readonly children?: (trial: Trial) => ComponentChildren
}

const ranges = [
  ['1h', 'last hour'],
  ['6h', '6 hours'],
  ['24h', '24 hours'],
] as const

const pollEveryMs = 600

const triedKey = (id: string): string => `weir-tried ${id}`

export function TrialRun({ begin, draft, blocked, isBegunAtOnce = false, children }: TrialRunProps) {
  const id = parameter('trial')
  const fault = useSignal<unknown>(undefined)
  const trial = useTrial(id)
  const isRunning = trial.data?.state === 'running'
  const start = async (): Promise<void> => {
    fault.value = undefined
    try {
      const begun = await begin(api, choiceIn('since', ranges))
      sessionStorage.setItem(triedKey(begun.id), draft)
      setParameters({ trial: begun.id })
    } catch (error) {
      fault.value = error
    }
  }
  useEffect(() => {
    if (isBegunAtOnce && id === '') void start()
  }, [])
  return (
    <section class="stack" aria-label="Try it">
      <div class="row">
        <Choices label="Traffic of" name="since" choices={ranges} />
        <Button onClick={start} isDisabled={blocked !== undefined || isRunning} title={blocked ?? ''}>
          Try on recorded traffic
        </Button>
        {isRunning && <Button onClick={() => api.cancelTrial(id).then(trial.again)}>Cancel</Button>}
      </div>
      {fault.value !== undefined && <Failure error={fault.value} />}
      {id !== '' && (
        <Answered answer={trial}>
          {(found) =>
            found !== undefined && (
              <TrialState trial={found} isOlder={sessionStorage.getItem(triedKey(id)) !== draft}>
                {children}
              </TrialState>
            )
          }
        </Answered>
      )}
    </section>
  )
}

/** Asks until the trial has ended. */
function useTrial(id: string): Asked<Trial | undefined> {
  const isRunning = useSignal(false)
  const ask = async (client: Client) => (id === '' ? undefined : client.trial(id))
  const answer = useAnswer([id], ask, isRunning.value ? { everyMs: pollEveryMs } : {})
  const found = answer.data?.id === id ? answer.data : undefined
  useEffect(() => {
    isRunning.value = found?.state === 'running'
  }, [found?.state])
  return { ...answer, data: found }
}

interface TrialStateProps {
  readonly trial: Trial
  readonly isOlder: boolean
  readonly children: TrialRunProps['children']
}

function TrialState({ trial, isOlder, children }: TrialStateProps) {
  const { state, error, removes, removes_left_out } = trial
  return (
    <div class="stack">
      {isOlder && <p class="warning-line">The draft has changed since this was tried: try it again.</p>}
      {state === 'running' && <TrialProgress trial={trial} />}
      {state === 'cancelled' && <p class="quiet">The trial was cancelled. Nothing was changed.</p>}
      {state === 'failed' && (
        <p class="fault" role="alert">
          The trial failed: {error}
        </p>
      )}
      {removes.length > 0 && (
        <details>
          <summary>
            The draft leaves out {number(removes.length + removes_left_out)} of what is there now
          </summary>
          <ul class="listed">
            {removes.map((each) => (
              <li key={each}>{each}</li>
            ))}
            {removes_left_out > 0 && <li class="quiet">and {number(removes_left_out)} more</li>}
          </ul>
        </details>
      )}
      {trial.tests !== null && <TrialTests tests={trial.tests} />}
      {state === 'done' && (
        <>
          {children === undefined ? <TrialResult trial={trial} /> : children(trial)}
          <TrialTime trial={trial} />
        </>
      )}
    </div>
  )
}

function TrialTime({
  trial: { since, until, time, times, stopped_by, progress },
}: {
  readonly trial: Trial
}) {
  return (
    <p class="quiet">
      Traffic {time === 'own' ? 'that began' : 'stored'} from <Time at={since} /> to{' '}
      <Time at={stopped_by === null ? until : progress.at} />
      {times !== null && times.first !== null && (
        <>
          : the first record is of <Time at={times.first} />, the last of <Time at={times.last} />
        </>
      )}
      {stopped_by !== null && `; the limit of ${stopped_by} ended the reading before the end`}.{' '}
      {times !== null && timeSentences(times).map((each) => `${each} `)}
      Judged by today’s configuration. Nothing was changed.
    </p>
  )
}

/** A save with the draft would be refused if one fails. */
function TrialTests({ tests: { passed, failed, tests } }: { readonly tests: NonNullable<Trial['tests']> }) {
  if (passed + failed === 0) return <p class="quiet">There are no policy tests.</p>
  return (
    <section class="stack" aria-label="Policy tests with the draft">
      <p>
        <StateWord
          tone={failed === 0 ? 'good' : 'bad'}
          text={
            failed === 0 ? `all ${number(passed)} policy tests pass` : `${number(failed)} policy tests fail`
          }
        />
        {failed > 0 && ' with the draft, so it can’t be saved like this.'}
      </p>
      {failed > 0 && <FailedTests tests={tests.filter((run) => !run.passed)} />}
    </section>
  )
}

function TrialProgress({ trial: { since, until, progress } }: { readonly trial: Trial }) {
  const [from, to] = [Date.parse(since), Date.parse(until)]
  const at = progress.at === null ? from : Date.parse(progress.at)
  return (
    <div class="row" role="status">
      <progress
        aria-label="Progress of the trial"
        max={1}
        value={to > from ? (at - from) / (to - from) : 0}
      />
      <span class="quiet">
        {number(progress.records)} records, {bytes(progress.bytes)}
      </span>
    </div>
  )
}
