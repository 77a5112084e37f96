/** Events as they are sent to a destination, with what became of each. */
import { useMemo } from 'preact/hooks'
import type { WatchOptions } from '../../../../words/client/client.js'
import type { LiveDelivery } from '../../../../words/shape/live.js'
import { api } from '../../data/asking/api.js'
import { LiveRows, useLive } from '../../data/asking/live-rows.js'
import { parameter, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { CopyText } from '../../kit/copy.js'
import { Drawer } from '../../kit/drawer.js'
import { Facts } from '../../kit/facts.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { FilterInput, isFilterFault } from '../../parts/editor/filter-input.js'
import { Empty, Failure, NoRows } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

const outcomes = {
  delivered: ['good', 'delivered'],
  failed: ['warning', 'failed'],
  dead_lettered: ['bad', 'dead letter'],
} as const

const Outcome = ({ outcome }: Pick<LiveDelivery, 'outcome'>) => {
  const [tone, text] = outcomes[outcome]
  return <StateWord tone={tone} text={text} />
}

const columns: readonly Column<LiveDelivery>[] = [
  { title: 'Answered', cell: ({ at }) => <Time at={at} /> },
  { title: 'Outcome', cell: ({ outcome }) => <Outcome outcome={outcome} /> },
  { title: 'Event', isMain: true, cell: ({ event_type }) => event_type },
  {
    title: 'Content',
    cell: ({ event }) => <span class="mono">{objectText(event)}</span>,
    isWide: true,
  },
  {
    title: 'Request id, or error',
    cell: ({ request_id, error }) => (
      <span class="mono">{error === null ? (request_id ?? '') : `${error.code}: ${error.msg}`}</span>
    ),
  },
]

/** The event's own part: its envelope is in other columns. */
const objectText = (event: unknown): string =>
  JSON.stringify((event as { readonly object?: unknown } | null)?.object ?? event)

export function Tail({ id }: { readonly id: string }) {
  const live = useMemo(() => new LiveRows<LiveDelivery>(keyOf), [])
  const filter = parameter('filter')
  useLive(live, [id, filter], {
    watch: (options: WatchOptions) => api.watchDeliveries(id, { filter: filter || undefined, ...options }),
  })
  const opened = live.known(parameter('event'))
  const { seen, sent } = live.rate.value
  const waiting = live.waiting.value
  const hold = (isPointedAt: boolean) => () => {
    live.isPointedAt.value = isPointedAt
  }
  return (
    <section class="stack" aria-label="Deliveries as they happen">
      <div class="row apart">
        <p class="quiet rate">
          {number(seen)} events/s{seen > sent && `, ${number(sent)} of them shown`}
          {waiting > 0 && ` · ${number(waiting)} new, held`}
        </p>
        <Button
          onClick={() => {
            live.isPaused.value = !live.isPaused.value
          }}
        >
          {live.isPaused.value ? 'Go on' : 'Pause the view'}
        </Button>
      </div>
      <FilterInput
        label="Filter"
        about="deliveries"
        value={filter}
        placeholder="outcome != 'delivered'"
        error={live.error.value}
        onApply={(text) => setParameters({ filter: text })}
      />
      {live.error.value !== undefined && !isFilterFault(live.error.value) && (
        <Failure error={live.error.value} again={() => live.again()} />
      )}
      <section class="live-tail" aria-label="Events" onMouseEnter={hold(true)} onMouseLeave={hold(false)}>
        <Table
          label="Events as they are sent, newest first"
          rows={live.rows.value}
          columns={columns}
          keyOf={keyOf}
          opened={parameter('event')}
          onOpen={(delivery) => setParameters({ event: keyOf(delivery) })}
          empty={
            <NoRows live={live}>
              <Empty>
                <p>Nothing was sent since this view was opened. A test event is, at once.</p>
              </Empty>
            </NoRows>
          }
        />
      </section>
      {opened && <EventDrawer delivery={opened} />}
    </section>
  )
}

const keyOf = ({ event_id, at, attempt, outcome }: LiveDelivery): string =>
  `${event_id} ${at} ${attempt} ${outcome}`

function EventDrawer({ delivery }: { readonly delivery: LiveDelivery }) {
  const { at, outcome, attempt, request_id, error, event_id, event_type, event } = delivery
  return (
    <Drawer title={event_type} onClose={() => setParameters({ event: '' })}>
      <Facts
        entries={[
          ['Outcome', <Outcome key="outcome" outcome={outcome} />],
          ['Answered', <Time key="at" at={at} />],
          ['Attempt', number(attempt)],
          [
            'Request id',
            <span key="id" class="mono">
              {request_id ?? '–'}
            </span>,
          ],
          ['Error', error === null ? '–' : `${error.code}: ${error.msg}`],
          [
            'Event id',
            <span key="event" class="mono">
              {event_id}
            </span>,
          ],
        ]}
      />
      <CopyText what="the event" text={JSON.stringify(event, null, 2)} />
    </Drawer>
  )
}
