/** Events that are sent to a destination again: begin, follow, cancel. */
import { useSignal } from '@preact/signals'
import type { Replay, ReplayRequest } from '../../../shape/replay.js'
import { act, useAnswer } from '../../data/api.js'
import { parameter, setParameters } from '../../data/location.js'
import { EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { TextField } from '../../parts/fields.js'
import { Progress } from '../../parts/progress.js'
import { Answered, Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { StateWord } from '../../parts/words.js'

const askEveryMs = 2_000

const tones = { running: 'warning', done: 'good', cancelled: 'quiet', failed: 'bad' } as const

export function Replays({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.replays(), { everyMs: askEveryMs })
  const cancel = async (replay: Replay): Promise<void> => {
    await act('The replay is cancelled.', (client) => client.cancelReplay(replay.id))
    answer.again()
  }
  return (
    <>
      <Answered answer={answer}>
        {({ replays }) => (
          <Table
            label="Replays to this destination, newest first"
            rows={replays.filter(({ destination_id }) => destination_id === id)}
            columns={columnsWith(cancel)}
            keyOf={(replay) => replay.id}
            empty={
              <Empty>
                <p>
                  No events were sent again within the last days. “Replay” sends those of a past time, with
                  the ids that they had before.
                </p>
              </Empty>
            }
          />
        )}
      </Answered>
      {parameter('open') === 'replay' && (
        <Begin
          id={id}
          onClose={() => {
            setParameters({ open: '' })
            answer.again()
          }}
        />
      )}
    </>
  )
}

const columnsWith = (cancel: (replay: Replay) => Promise<void>): readonly Column<Replay>[] => [
  { title: 'Begun', cell: ({ created_at }) => <Time at={created_at} /> },
  { title: 'State', cell: ({ state }) => <StateWord tone={tones[state]} text={state} /> },
  {
    title: 'Progress',
    cell: ({ progress: { messages, of } }) => <Progress label="Progress" done={messages} of={of} />,
  },
  { title: 'From', cell: ({ from }) => <Time at={from} /> },
  { title: 'To', cell: ({ to }) => <Time at={to} /> },
  {
    title: 'Of',
    cell: ({ filter, types, types_left_out, error }) => (
      <>
        {types?.join(', ') ?? 'all types'}
        {filter !== null && <code> {filter}</code>}
        {types_left_out.length > 0 && <p class="quiet">not sent: {types_left_out.join(', ')}</p>}
        {error !== null && <p class="fault">{error}</p>}
      </>
    ),
    isWide: true,
  },
  {
    title: '',
    cell: (replay) =>
      replay.state === 'running' && <EditButton onClick={() => cancel(replay)}>Cancel</EditButton>,
  },
]

function Begin({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const from = useSignal('1h')
  const to = useSignal('')
  const filter = useSignal('')
  const types = useSignal('')
  const begin = async (): Promise<void> => {
    const request: ReplayRequest = {
      from: from.value.trim(),
      ...(to.value.trim() !== '' && { to: to.value.trim() }),
      ...(filter.value.trim() !== '' && { filter: filter.value.trim() }),
      ...(types.value.trim() !== '' && { types: types.value.split(/[\s,]+/).filter(Boolean) }),
    }
    if (await act('The replay has begun.', (client) => client.replay(id, request))) onClose()
  }
  const set = (field: typeof from) => (text: string) => {
    field.value = text
  }
  const when = 'A length of time before now, such as 4h or 90m, or a time such as 2026-11-20T08:00:00Z.'
  return (
    <Drawer title="Send events again" onClose={onClose}>
      <p>
        Records of this time are evaluated again with the configuration in force, and their events are sent
        with the ids that they had before. Live traffic goes first.
      </p>
      <TextField label="From" value={from.value} onChange={set(from)} hint={when} />
      <TextField label="To" value={to.value} onChange={set(to)} hint="The same; empty: until now." />
      <TextField
        label="Filter"
        value={filter.value}
        onChange={set(filter)}
        placeholder="decision != 'allow'"
        hint="Only events for which it is true; empty: all."
      />
      <TextField
        label="Types of events"
        value={types.value}
        onChange={set(types)}
        hint="Separated by commas; empty: all that the destination gets."
      />
      <div class="actions">
        <EditButton kind="main" onClick={begin}>
          Begin
        </EditButton>
      </div>
    </Drawer>
  )
}
