/** The last requests to a destination, with the service's ids of them. */
import type { DeliveryAttempt } from '../../../../delivery/wire/delivery-attempts.js'
import { useAnswer } from '../../data/asking/api.js'
import { bytes, duration, number } from '../../data/texts/format.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Answered, Empty } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

const askEveryMs = 3_000

const tones = { delivered: 'good', partial: 'warning', failed: 'bad' } as const

const columns: readonly Column<DeliveryAttempt>[] = [
  { title: 'Answered', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Outcome',
    isMain: true,
    cell: ({ outcome }) => <StateWord tone={tones[outcome]} text={outcome} />,
  },
  {
    title: 'Accepted',
    cell: ({ accepted, events }) => `${number(accepted)} of ${number(events)}`,
    isNumber: true,
  },
  { title: 'Size', cell: (attempt) => bytes(attempt.bytes), isNumber: true },
  { title: 'Took', cell: ({ took_ms }) => duration(took_ms), isNumber: true },
  {
    title: 'Request id, or error',
    cell: ({ request_id, error }) => (
      <>
        {error !== null && (
          <p>
            <span class="mono">{error.code}</span> {error.msg}
          </p>
        )}
        <span class="mono">{request_id ?? ''}</span>
      </>
    ),
    isWide: true,
  },
]

export function Attempts({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.deliveryAttempts(id), { everyMs: askEveryMs })
  return (
    <Answered answer={answer}>
      {({ attempts }) => (
        <Table
          label="The last requests, newest first"
          rows={attempts}
          columns={columns}
          keyOf={({ at, request_id, took_ms, events }) => [at, request_id, took_ms, events].join(' ')}
          empty={
            <Empty>
              <p>No request since the deliverers have started. A test event makes one.</p>
            </Empty>
          }
        />
      )}
    </Answered>
  )
}
