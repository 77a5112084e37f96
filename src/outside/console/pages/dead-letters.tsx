/** Dead letters, and why they were set aside: by reason, and one by one. They can be mended and sent again, or dropped. */
import { useSignal } from '@preact/signals'
import type { DeadLetter, DeadLetterGroups } from '../../../words/shape/dead-letter.js'
import { api, useAnswer, useStream } from '../data/asking/api.js'
import { useMore } from '../data/asking/more.js'
import { sleep } from '../data/clock.js'
import { openEntry, parameter, setParameters } from '../data/location.js'
import { bytes, number } from '../data/texts/format.js'
import { Choices } from '../kit/choices.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Listing } from '../parts/listing.js'
import { Name } from '../parts/name.js'
import { Answered, Empty } from '../parts/states.js'
import { ChangeMany } from './dead-letters/change-many.js'
import { LetterDrawer } from './dead-letters/letter.js'
import { isOneKind, selected, typeChoices, untilNow } from './dead-letters/selection.js'

const step = 100

export function DeadLetters() {
  const selection = selected()
  const key = JSON.stringify(selection)
  const groups = useAnswer([key], (client) => client.deadLetters.groups(selection))
  const letters = useMore([key], (client) => client.deadLetters.list(selection), step, { inUrl: 'count' })
  const again = (): void => {
    groups.again()
    letters.again()
  }
  const opened = parameter('open')
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Dead letters</h1>
        <Arrivals again={again} />
      </div>
      <div class="row">
        <Choices label="Type" name="type" choices={typeChoices} />
        <Chosen />
      </div>
      <Answered answer={groups}>
        {(found) => (
          <>
            <Groups groups={found} />
            {found.groups.length > 0 && (
              <ChangeMany groups={found} selection={untilNow(found)} done={again} />
            )}
          </>
        )}
      </Answered>
      <Listing answer={letters}>
        {(entries) =>
          entries.length > 0 && (
            <section class="stack" aria-label="Letters">
              <h2>{isOneKind(selection) ? 'Letters of this kind' : 'Letters, newest first'}</h2>
              <Table
                label="Dead letters, newest first"
                rows={entries}
                columns={columns}
                keyOf={({ id }) => id}
                opened={opened}
                onOpen={({ id }) => openEntry(id)}
              />
            </section>
          )
        }
      </Listing>
      {opened !== '' && (
        <LetterDrawer
          key={opened}
          id={opened}
          group={groups.data?.groups.length === 1 ? groups.data : undefined}
          onClose={(isChanged) => {
            setParameters({ open: '' })
            if (isChanged) again()
          }}
        />
      )}
    </div>
  )
}

/** Why letters were set aside, and what they were for. */
const causeColumns: readonly Column<Pick<DeadLetter, 'type' | 'reason' | 'destination_id'>>[] = [
  { title: 'Type', cell: ({ type }) => type },
  { title: 'Reason', isMain: true, cell: ({ reason }) => reason },
  {
    title: 'Destination',
    cell: ({ destination_id: id }) => (id === null ? '' : <Name id={id} />),
  },
]

const columns: readonly Column<DeadLetter>[] = [
  { title: 'Set aside', cell: ({ at }) => <Time at={at} /> },
  ...causeColumns,
  {
    title: 'Where',
    cell: ({ sequence, line, subject, event_id }) => (
      <span class="mono cut">
        {event_id ?? subject ?? (sequence === null ? '' : `message ${sequence}, line ${line ?? 1}`)}
      </span>
    ),
  },
  { title: 'Size', cell: ({ size }) => bytes(size), isNumber: true },
  { title: 'Removed', cell: ({ expires_at }) => <Time at={expires_at} isRelative />, isNumber: true },
]

type Group = DeadLetterGroups['groups'][number]

const groupColumns: readonly Column<Group>[] = [
  { title: 'Letters', cell: ({ count }) => number(count), isNumber: true },
  ...causeColumns,
  {
    title: 'First',
    cell: ({ first_at }) => <Time at={first_at} isRelative />,
    isNumber: true,
  },
  { title: 'Last', cell: ({ last_at }) => <Time at={last_at} isRelative />, isNumber: true },
  { title: 'First removed', cell: ({ expires_at }) => <Time at={expires_at} isRelative />, isNumber: true },
]

const groupKey = ({ type, reason, destination_id }: Group): string => `${type} ${destination_id} ${reason}`

function Groups({
  groups: { groups, groups_left_out, complete_since },
}: {
  readonly groups: DeadLetterGroups
}) {
  return (
    <section class="stack" aria-label="By reason">
      <Table
        label="Dead letters by reason, the most first"
        rows={groups}
        columns={groupColumns}
        keyOf={groupKey}
        onOpen={({ type, reason, destination_id }) =>
          setParameters({ type, reason, destination: destination_id ?? '', count: '' }, { replace: false })
        }
        empty={<None />}
      />
      {groups_left_out > 0 && <p class="quiet">{number(groups_left_out)} smaller groups are not listed.</p>}
      {complete_since !== null && (
        <p class="quiet">
          There are too many to count at once: those since <Time at={complete_since} /> are counted.{' '}
          <button type="button" onClick={() => setParameters({ until: complete_since })}>
            Count earlier ones
          </button>
        </p>
      )}
    </section>
  )
}

const None = () =>
  isOneKind(selected()) || parameter('type') !== '' || parameter('destination') !== '' ? (
    <Empty>
      <p>No dead letter is selected by this.</p>
      <ShowAll />
    </Empty>
  ) : (
    <Empty>
      <p>
        Nothing was set aside: every record could be read, and every destination has accepted its events or
        still may.
      </p>
    </Empty>
  )

const ShowAll = () => (
  <button
    type="button"
    onClick={() => setParameters({ type: '', reason: '', destination: '', since: '', until: '', count: '' })}
  >
    Show all dead letters
  </button>
)

/** The filters that are selected besides the type. */
function Chosen() {
  const [reason, destination, since, until] = ['reason', 'destination', 'since', 'until'].map(parameter)
  if (!reason && !destination && !since && !until) return null
  return (
    <p class="row">
      {reason && <span>Reason: “{reason}”</span>}
      {destination && (
        <span>
          Destination: <Name id={destination} />
        </span>
      )}
      {since && (
        <span>
          since <Time at={since} />
        </span>
      )}
      {until && (
        <span>
          until <Time at={until} />
        </span>
      )}
      <ShowAll />
    </p>
  )
}

const againAfterMs = 3_000

/** How many have come since: nothing is shown of them until someone asks. */
function Arrivals({ again }: { readonly again: () => void }) {
  const count = useSignal(0)
  useStream([], async (stop) => {
    while (!stop.aborted) {
      try {
        for await (const _ of api.watchDeadLetters({ signal: stop })) count.value += 1
      } catch {
        // The lists say what is wrong; a stream that is refused because there are too many may be let in later.
      }
      await sleep(againAfterMs)
    }
  })
  return (
    <button
      type="button"
      onClick={() => {
        count.value = 0
        again()
      }}
    >
      {count.value === 0 ? 'Look again' : `${number(count.value)} new`}
    </button>
  )
}
