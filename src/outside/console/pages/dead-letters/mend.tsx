/** A record is corrected and sent again; the same correction can be made to all of its kind. */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { DeadLetterGroups, WholeDeadLetter } from '../../../../words/shape/dead-letter.js'
import { act, api, errorText } from '../../data/asking/api.js'
import {
  changesBetween,
  changeText,
  type JsonChange,
  objectIn,
  withChanges,
} from '../../data/drafts/json-object.js'
import { number } from '../../data/texts/format.js'
import { Progress } from '../../kit/progress.js'
import { EditButton } from '../../parts/edit-button.js'
import { Editor } from '../../parts/editor/editor.js'
import type { EditorFault } from '../../parts/editor/editor-props.js'
import { untilNow } from './selection.js'

interface MendProps {
  readonly letter: WholeDeadLetter
  readonly group: DeadLetterGroups | undefined
  readonly done: () => void
}

export function Mend({ letter, group, done }: MendProps) {
  const { object: before } = objectIn(letter.text ?? '', 'A record')
  const draft = useSignal(before === undefined ? (letter.text ?? '') : JSON.stringify(before, null, 2))
  const first = useRef(draft.value)
  const refusal = useSignal<unknown>(undefined)
  const { object: record, fault } = objectIn(draft.value, 'A record')
  const reason = { text: letter.reason, place: letter.place?.member ?? undefined }
  const faults = fault === undefined ? placesOf(refusal.value) : [fault]
  const send = async (): Promise<void> => {
    if (record === undefined) return
    refusal.value = undefined
    try {
      await api.deadLetters.resend(letter.id, record)
    } catch (error) {
      refusal.value = error
      return
    }
    await act('The corrected record is sent.', async () => {})
    done()
  }
  const changes = before && record ? changesBetween(before, record) : []
  return (
    <section class="stack" aria-label="Mend it">
      <h3>Mend it</h3>
      <Editor
        label="The corrected record, as JSON"
        mode="json"
        value={draft.value}
        faults={draft.value === first.current && faults.length === 0 ? [reason] : faults}
        hint="Without record_id it keeps that of the letter."
        onChange={(text) => {
          draft.value = text
          refusal.value = undefined
        }}
      />
      <div class="row">
        <EditButton kind="main" isDisabled={record === undefined} onClick={send}>
          Send the corrected record
        </EditButton>
      </div>
      {group && changes.length > 0 && <MendAll group={group} changes={changes} done={done} />}
    </section>
  )
}

/** The API names the place in the record: `"record" is not valid: "conn.client_ip" is …`. */
function placesOf(error: unknown): EditorFault[] {
  if (error === undefined) return []
  const text = errorText(error)
  const place = /^"record" is not valid: "([^"]+)"/.exec(text)?.[1]
  return [{ text, ...(place !== undefined && { place }) }]
}

interface MendAllProps {
  readonly group: DeadLetterGroups
  readonly changes: readonly JsonChange[]
  readonly done: () => void
}

interface MendWork {
  readonly sent: number
  readonly refused: number
  readonly firstRefusal: string
  readonly isRunning: boolean
}

const doneText = ({ sent, refused }: MendWork): string =>
  `${number(sent)} corrected records were sent${refused > 0 ? `, ${number(refused)} were refused and stay` : ''}.`

function MendAll({ group, changes, done }: MendAllProps) {
  const count = group.groups.reduce((sum, each) => sum + each.count, 0)
  const work = useSignal<MendWork>({ sent: 0, refused: 0, firstRefusal: '', isRunning: false })
  const isStopped = useSignal(false)
  const what = changes.map(changeText).join(', ')
  const { sent, refused, firstRefusal, isRunning } = work.value
  const begin = async (): Promise<void> => {
    isStopped.value = false
    work.value = { sent: 0, refused: 0, firstRefusal: '', isRunning: true }
    await act(doneText, async (client) => {
      for await (const { id } of client.deadLetters.list(untilNow(group))) {
        if (isStopped.value) break
        const refusal = await mendOne(id, changes)
        const { sent, refused, firstRefusal } = work.value
        work.value =
          refusal === undefined
            ? { ...work.value, sent: sent + 1 }
            : { ...work.value, refused: refused + 1, firstRefusal: firstRefusal || `${id}: ${refusal}` }
      }
      return work.value
    })
    work.value = { ...work.value, isRunning: false }
    if (work.value.refused === 0 && !isStopped.value) done()
  }
  return (
    <div class="row">
      <EditButton
        confirm={`Make the same change to all ${number(count)} letters of this kind, and send them again? ${what}.`}
        isDisabled={isRunning}
        onClick={begin}
      >
        Mend all {number(count)} of this kind like this
      </EditButton>
      <span class="quiet mono">{what}</span>
      {(isRunning || sent + refused > 0) && (
        <span role="status">
          {isRunning && <Progress label="Letters" done={sent + refused} of={count} />} {number(sent)} sent
          {refused > 0 && `, ${number(refused)} refused`}
        </span>
      )}
      {isRunning && (
        <button
          type="button"
          onClick={() => {
            isStopped.value = true
          }}
        >
          Stop
        </button>
      )}
      {firstRefusal !== '' && <p class="fault">{firstRefusal}</p>}
    </div>
  )
}

/** The reason of a refusal, or undefined. */
async function mendOne(id: string, changes: readonly JsonChange[]): Promise<string | undefined> {
  try {
    const { text } = await api.deadLetters.get(id)
    const { object: record, fault } = objectIn(text ?? '', 'A record')
    if (record === undefined) return fault.text
    await api.deadLetters.resend(id, withChanges(record, changes))
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
