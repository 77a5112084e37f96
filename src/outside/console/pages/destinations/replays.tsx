/** Events that are sent to a destination again: begin, follow, cancel. */
import { useSignal } from '@preact/signals'
import type { Replay, ReplayRequest } from '../../../../words/shape/replay.js'
import { act, useAnswer } from '../../data/asking/api.js'
import { parameter, setParameters } from '../../data/location.js'
import { TextField } from '../../kit/forms/fields.js'
import { Progress } from '../../kit/progress.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { FilterInput } from '../../parts/editor/filter-input.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { Answered, Empty } from '../../parts/states.js'
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
  { title: 'State', isMain: true, cell: ({ state }) => <StateWord tone={tones[state]} text={state} /> },
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

interface BeginProps {
  readonly id: string
  readonly onClose: () => void
}

function Begin({ id, onClose }: BeginProps) {
  const draft = useSignal({ from: '1h', to: '', filter: '', types: '' })
  const set = (name: keyof typeof draft.value) => (text: string) => {
    draft.value = { ...draft.value, [name]: text }
  }
  const { from, to, filter, types } = draft.value
  return (
    <FormDrawer
      title="Send events again"
      submit="Begin"
      done="The replay has begun."
      work={(client) => client.replay(id, requestOf(draft.value))}
      onClose={onClose}
    >
      <p>
        Records of this time are evaluated again with the configuration in force, and their events are sent
        with the ids that they had before. Live traffic goes first.
      </p>
      <TextField
        name="from"
        label="From"
        value={from}
        onChange={set('from')}
        hint="A length of time before now, such as 4h or 90m, or a time such as 2026-11-20T08:00:00Z."
      />
      <TextField name="to" label="To" value={to} onChange={set('to')} hint="The same; empty: until now." />
      <FilterInput
        name="filter"
        label="Filter"
        about={typesIn(types)[0] ?? 'tcp_connection_closed.v0'}
        value={filter}
        onApply={set('filter')}
        onInput={set('filter')}
        placeholder="decision != 'allow'"
        hint="Only events for which it is true; empty: all."
      />
      <TextField
        name="types"
        label="Types of events"
        value={types}
        onChange={set('types')}
        hint="Separated by commas; empty: all that the destination gets."
      />
    </FormDrawer>
  )
}

const typesIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

function requestOf(draft: {
  readonly from: string
  readonly to: string
  readonly filter: string
  readonly types: string
}): ReplayRequest {
  const [to, filter, types] = [draft.to.trim(), draft.filter.trim(), typesIn(draft.types)]
  return {
    from: draft.from.trim(),
    ...(to !== '' && { to }),
    ...(filter !== '' && { filter }),
    ...(types.length > 0 && { types }),
  }
}
