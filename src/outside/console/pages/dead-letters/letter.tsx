/** One dead letter: its bytes with the place that the reason names, and what can be done with it. */
import { useSignal } from '@preact/signals'
import type { DeadLetterGroups, WholeDeadLetter } from '../../../../words/shape/dead-letter.js'
import { act, useAnswer } from '../../data/asking/api.js'
import { bytes } from '../../data/texts/format.js'
import { Drawer } from '../../kit/drawer.js'
import { type Fact, Facts } from '../../kit/facts.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import { Bytes } from './bytes.js'
import { Mend } from './mend.js'

interface LetterDrawerProps {
  readonly id: string
  /** All letters that are selected, if they are of one kind. */
  readonly group: DeadLetterGroups | undefined
  readonly onClose: (isChanged: boolean) => void
}

export function LetterDrawer({ id, group, onClose }: LetterDrawerProps) {
  const answer = useAnswer([id], (client) => client.deadLetters.get(id))
  const isChanged = useSignal(false)
  return (
    <Drawer title={`Dead letter ${id}`} onClose={() => onClose(isChanged.value)}>
      <Answered answer={answer}>
        {(letter) => <Letter letter={letter} group={group} done={() => onClose(true)} />}
      </Answered>
    </Drawer>
  )
}

interface LetterProps {
  readonly letter: WholeDeadLetter
  readonly group: DeadLetterGroups | undefined
  readonly done: () => void
}

function Letter({ letter, group, done }: LetterProps) {
  const { id, type, is_truncated } = letter
  const resend = async (): Promise<void> => {
    if (await act('It is sent again.', (client) => client.deadLetters.resend(id))) done()
  }
  const drop = async (): Promise<void> => {
    if (await act('It is dropped.', (client) => client.deadLetters.drop(id))) done()
  }
  return (
    <>
      <p>{letter.reason}</p>
      <Facts entries={factsOf(letter)} />
      <div class="row">
        <EditButton onClick={resend} isDisabled={is_truncated}>
          Send again as it is
        </EditButton>
        <EditButton
          kind="danger"
          confirm="Drop this letter for good? It can't be brought back."
          onClick={drop}
        >
          Drop
        </EditButton>
      </div>
      <Bytes letter={letter} />
      {type === 'record' && <Mend letter={letter} group={group} done={done} />}
    </>
  )
}

const factsOf = (letter: WholeDeadLetter): Fact[] => {
  const {
    at,
    expires_at,
    type,
    sequence,
    line,
    subject,
    destination_id,
    event_id,
    size,
    is_truncated,
    place,
  } = letter
  const facts: (Fact | false)[] = [
    ['Type', type],
    ['Set aside', <Time key="at" at={at} />],
    ['Removed for its age', <Time key="expires" at={expires_at} isRelative />],
    ['Size', `${bytes(size)}${is_truncated ? ', of which only a part is stored' : ''}`],
    destination_id !== null && ['Destination', <Name key="destination" id={destination_id} />],
    event_id !== null && [
      'Event',
      <span key="event" class="mono">
        {event_id}
      </span>,
    ],
    subject !== null && [
      'Published to',
      <span key="subject" class="mono">
        {subject}
      </span>,
    ],
    sequence !== null && ['Message', `${sequence}${line === null ? '' : `, line ${line}`}`],
    place !== null && [
      'Place',
      `${place.member === null ? '' : `${place.member}, `}line ${place.line}, column ${place.column}, byte ${place.offset}`,
    ],
  ]
  return facts.filter((each) => each !== false)
}
