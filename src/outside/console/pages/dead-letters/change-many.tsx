/** All selected letters are sent again, or dropped: with the number before, progress, and what was refused after. */
import { type Signal, useSignal } from '@preact/signals'
import type { DeadLetterSelection, DeadLetterTotals } from '../../../../words/client/dead-letters.js'
import type { DeadLetterGroups } from '../../../../words/shape/dead-letter.js'
import { api, errorDetails, errorText } from '../../data/asking/api.js'
import { setParameters } from '../../data/location.js'
import { notify } from '../../data/notices.js'
import { number } from '../../data/texts/format.js'
import { Progress } from '../../kit/progress.js'
import { EditButton } from '../../parts/edit-button.js'
import { selected } from './selection.js'

interface ChangeManyProps {
  readonly groups: DeadLetterGroups
  readonly selection: DeadLetterSelection
  readonly done: () => void
}

export function ChangeMany({ groups, selection, done }: ChangeManyProps) {
  const work = useSignal<Work | undefined>(undefined)
  const count = groups.groups.reduce((sum, group) => sum + group.count, 0)
  const isPart = groups.groups_left_out > 0 || groups.complete_since !== null
  const many = `${isPart ? 'more than ' : ''}${number(count)}`
  const letters = count === 1 && !isPart ? '1 letter' : `${many} letters`
  const begin = (verb: Verb) => async (): Promise<void> => {
    await run(work, verb, selection, count)
    done()
  }
  return (
    <div class="row">
      <EditButton
        confirm={`Send ${letters} again? ${whatIsSelected(selected())}`}
        onClick={begin('resendAll')}
        isDisabled={work.value?.isRunning ?? false}
      >
        {count === 1 && !isPart ? 'Send it again' : `Send all ${many} again`}
      </EditButton>
      <EditButton
        kind="danger"
        confirm={`Drop ${letters} for good? ${whatIsSelected(selected())} They can't be brought back.`}
        onClick={begin('dropAll')}
        isDisabled={work.value?.isRunning ?? false}
      >
        {count === 1 && !isPart ? 'Drop it' : `Drop all ${many}`}
      </EditButton>
      {work.value && <WorkLine work={work.value} stop={() => stopWork(work)} />}
    </div>
  )
}

function whatIsSelected({ type, reason, destinationId }: DeadLetterSelection): string {
  const parts = [
    type && `of the type ${type}`,
    destinationId && `of ${destinationId}`,
    reason && `“${reason}”`,
  ]
  const text = parts.filter(Boolean).join(', ')
  return text === '' ? 'They are all dead letters of the account.' : `They are those ${text}.`
}

type Verb = 'resendAll' | 'dropAll'

interface Work {
  readonly verb: Verb
  readonly of: number
  readonly totals: DeadLetterTotals
  readonly isRunning: boolean
  readonly isStopped: boolean
}

/** Ends the requests that follow each other. */
class Stopped extends Error {}

function stopWork(work: Signal<Work | undefined>): void {
  if (work.value) work.value = { ...work.value, isStopped: true }
}

async function run(
  work: Signal<Work | undefined>,
  verb: Verb,
  selection: DeadLetterSelection,
  of: number,
): Promise<void> {
  const none = { done: 0, refused: 0, refusals: [] }
  work.value = { verb, of, totals: none, isRunning: true, isStopped: false }
  const progress = (totals: DeadLetterTotals): void => {
    work.value = { ...work.value!, totals: { ...totals } }
    if (work.value.isStopped) throw new Stopped()
  }
  try {
    await api.deadLetters[verb](selection, progress)
    // The line below the groups ends with them.
    notify({ kind: 'good', text: `${resultText(verb, work.value.totals)}.` })
  } catch (error) {
    if (!(error instanceof Stopped))
      notify({ kind: 'bad', text: errorText(error), details: errorDetails(error) })
  }
  work.value = { ...work.value, isRunning: false }
}

const resultText = (verb: Verb, { done, refused }: DeadLetterTotals): string =>
  `${number(done)} ${verb === 'dropAll' ? 'dropped' : 'sent again'}${refused > 0 ? `, ${number(refused)} refused` : ''}`

function WorkLine({ work, stop }: { readonly work: Work; readonly stop: () => void }) {
  const { verb, of, isRunning, totals } = work
  return (
    <div class="row" role="status">
      {isRunning && <Progress label="Letters" done={totals.done + totals.refused} of={of} />}
      <span>{resultText(verb, totals)}</span>
      {isRunning && (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
      {totals.refusals.map(({ id, reason }) => (
        <span key={id} class="fault">
          <button type="button" class="mono" onClick={() => setParameters({ open: id })}>
            {id}
          </button>{' '}
          {reason}
        </span>
      ))}
    </div>
  )
}
